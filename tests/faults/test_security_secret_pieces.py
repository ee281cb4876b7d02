"""No piece of a secret shows, however it is quoted, represented, joined or cut: in messages, traces, screens and tickets."""

from __future__ import annotations

import json
import random
import re

import pytest
from gertproc import Gert

from gert_core.template.filters import FILTERS
from gert_core.template.functions import FUNCTIONS, SPECIAL

SIZE = 4
"""From how many characters on a piece of a secret must not show."""
CHANGED = {
    "upper",
    "lower",
    "capitalize",
    "title",
    "split",
    "list",
    "reverse",
    "truncate",
    "first",
    "last",
    "slice",
    "lines",
    "regexReplace",
}
"""What makes another text of the value. That is recorded as what it is: masking finds a value, not what is made of it."""
ALPHABETS = ("abcXYZ0189", "'\"\\ ${}<>&%", "äßñ漢😀\u00a0", "kQ7-_.'\"\n\\", "(?[*+\\{1001}")
TOOL = """\
apiVersion: tool/v0
meta: {name: say, transport: stdio, binary: sh}
contract:
  inputs: {how: {type: string, default: "exit 3"}, value: {type: any, required: false}, number: {type: int, required: false}}
  outputs: {out: {type: string, required: false}, n: {type: int, required: false}}
  effects: [host]
  writes: []
actions:
  run: {argv: [sh, -c, "{{ .how }}", "{{ .value }}"], extract: {out: {from: stdout}}}
  number: {argv: [sh, -c, "{{ .how }}", "{{ .value }}"], extract: {n: {from: stdout}}}
  json: {argv: [sh, -c, "{{ .how }}", "{{ .value }}"], extract: {out: {path: a.b}}}
  pattern: {argv: [sh, -c, "{{ .how }}", "{{ .value }}"], extract: {out: {from: stdout, pattern: "zz(.*)zz"}}}
"""
LENGTHS = (0, 37, 57, 76, 117, 197)
"""How much stands before the secret: around the places where messages are cut."""


def secret(rng: random.Random) -> str:
    letters = rng.choice(ALPHABETS) + rng.choice(ALPHABETS)
    value = "".join(rng.choice(letters) for _ in range(rng.choice((8, 12, 30, 70, 200))))
    return value.strip() + "-s3" if len(value.strip()) < 8 or value.strip() != value else value


def templates() -> list[str]:
    """Every function and filter with the secret in each place, most of which are errors."""
    found = []
    for name in sorted({*FUNCTIONS, *SPECIAL} - CHANGED):
        least = FUNCTIONS[name].least if name in FUNCTIONS else SPECIAL[name][0]
        for filler in (".pw", ".deep", "7"):
            for place in range(least):
                args = [".pw" if place == number else filler for number in range(least)]
                found.append(f"{{{{ {name} {' '.join(args)} }}}}")
    for name in sorted({*FILTERS} - CHANGED):
        found += [f"{{{{ pw | {name} }}}}", f"{{{{ deep | {name} }}}}"]
        found += [f"{{{{ deep | {name}(pw) }}}}", f"{{{{ 7 | {name}(pw) }}}}"]
    found += [f"{{{{ pw {sign} 3 }}}}" for sign in ("+", "-", "*", "/", "//", "%", "**", "<")]
    found += ["{{ .pw.field }}", "{{ .deep.list.key }}", "{{ index .deep .pw }}", "{{ -pw }}", "{{ pw is even }}"]
    found += [f"{{{{ int (printf `%{size}s%s` `` .pw) }}}}" for size in LENGTHS if size]
    found += ["{{ printf `%.5d` .pw }}", "{{ printf `%q %d` .pw .pw }}", "{{ float .pw }}"]
    return found


def valid(found: list[str]) -> list[str]:
    """Those that a runbook may contain."""
    from gert_core.template import TemplateError, compile_value

    kept = []
    for one in found:
        try:
            compile_value(one)
        except TemplateError:
            continue
        kept.append(one)
    return kept


def book(found: list[str]) -> str:
    steps: list[dict[str, object]] = []
    for number, one in enumerate(found):
        steps.append({"id": f"t{number}", "type": "tool", "tool": "say", "action": "run", "inputs": {"value": one}})
    for size in LENGTHS:
        padded = f"{'x' * size}{{{{ .pw }}}}"
        for action in ("run", "number", "json", "pattern"):
            for how in ("printf '%s' \"$0\"", "printf '%s' \"$0\" >&2; exit 3", 'printf \'{"a": "%s"}\' "$0"'):
                inputs = {"how": how, "value": padded}
                steps.append(
                    {
                        "id": f"c{size}{action}{len(steps)}",
                        "type": "tool",
                        "tool": "say",
                        "action": action,
                        "inputs": inputs,
                    }
                )
        for kind in ("equals", "in", "gt"):
            check = {"type": kind, "value": padded, "expected": ["{{ .pw }}", padded] if kind == "in" else "other"}
            steps.append({"id": f"a{size}{kind}", "type": "assert", "assert": [check]})
        steps.append(
            {
                "id": f"r{size}",
                "type": "assert",
                "assert": [{"type": "matches", "value": "x", "pattern": f"{'x' * size}({{{{ .pw }}}}"}],
            }
        )
        number = {"number": f"{'5' * size}{{{{ .pw }}}}"}
        steps.append({"id": f"n{size}", "type": "tool", "tool": "say", "action": "run", "inputs": number})
        loop = {"over": f"{{{{ fromJson (toJson (printf `{'x' * size}%s` .pw)) }}}}", "as": "one"}
        steps.append({"id": f"l{size}", "type": "tool", "tool": "say", "action": "run", "for_each": loop})
    for step in steps:
        step["continue_on_fail"] = True
    steps.append({"type": "end", "outcome": {"category": "resolved", "code": "done"}})
    meta = {
        "name": "pieces",
        "inputs": {"secret": {"type": "string", "secret": True}, "plain": {"type": "int", "default": 1}},
        "constants": {
            "nest": {"list": ["{{ .secret }}"], "map": {"key": "{{ .secret }}"}},
            # Of no known type, so that a mistake is not found before the run.
            "deep": "{{ fromJson (toJson .nest) }}",
            "pw": "{{ fromJson (toJson .secret) }}",
        },
        "secrets": [{"env": "PW", "required": False}],
    }
    return json.dumps({"apiVersion": "kernel/v0", "meta": meta, "tools": ["say"], "steps": steps})


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts(one)]
    return [text for one in value for text in texts(one)] if isinstance(value, list) else []


def everything(gert: Gert, *said) -> str:
    """What was written and said, as it is and with JSON decoded."""
    lines = [line for one in said for line in one.all.splitlines()]
    for path in [*gert.root.rglob("runs/**/*"), *gert.root.rglob("*.jsonl")]:
        if path.is_file():
            lines += path.read_text(errors="replace").splitlines()
    decoded = []
    for line in lines:
        try:
            decoded += texts(json.loads(line))
        except ValueError:
            continue
    return "\n".join((*lines, *decoded))


def pieces(value: str) -> set[str]:
    """Pieces of lines: what is said consists of lines, too."""
    lines = value.splitlines()
    return {line[start : start + SIZE] for line in lines for start in range(len(line) - SIZE + 1)}


def shown(root, value: str) -> str:
    gert = Gert(root)
    root.mkdir()
    gert.write(tool_say=TOOL, book=book(valid(templates())))
    said = [gert("exec", "book.yaml", "--var", f"secret={value}", "--no-preflight")]
    said.append(gert("exec", "book.yaml", "--var", f"secret={value}", "--mode", "dry-run"))
    said.append(gert("exec", "book.yaml", "--var", f"plain={'1' * 55}{value}", "--var", "secret=12345678", PW=value))
    assert [one.code for one in said] == [0, 0, 2], [one.err[-2000:] for one in said]
    # Moments and durations are numbers of their own, and may have four characters in common with a secret.
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\.\d+s", "", everything(gert, *said))


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> str:
    """What is shown whatever the secret is."""
    return shown(tmp_path_factory.mktemp("usual") / "run", "pqrstuvwvu")


@pytest.mark.parametrize("seed", [0, 3, 5, 11])
def test_no_piece_of_a_secret_shows(tmp_path, seed, usual):
    value = secret(random.Random(seed))
    seen = shown(tmp_path / "run", value)
    found = sorted(one for one in pieces(value) if one in seen and one not in usual)
    where = [line for one in found[:3] for line in seen.splitlines() if one in line]
    assert not found, (value, found, where[:3])


def test_no_piece_of_a_secret_stands_in_the_detail_of_a_failed_assertion(tmp_path):
    gert = Gert(tmp_path)
    value = "'{{ split \"-\" .pin }}'"
    gert.write(
        book="apiVersion: kernel/v0\nmeta: {name: pieces, inputs: {pin: {type: string, secret: true}}}\nsteps:\n"
        f"  - {{id: see, type: assert, assert: [{{type: contains, value: {value}, expected: other}}]}}\n"
        "  - {type: end, outcome: {category: resolved}}\n"
    )
    assert gert("exec", "book.yaml", "--var", "pin=abcdefghij-klmnopqrst").code == 1
    (over,) = [event["data"] for event in gert.events() if event["type"] == "step_complete"]
    (told,) = over["detail"]["assertions"]
    assert told["actual"] == ["<REDACTED>", "<REDACTED>"]
    assert "abcdefghij" not in json.dumps(over)
