"""Whatever a file holds, validation answers with findings: no traceback, no hang, no flood of memory.

`GERT_FUZZ=1` makes it run for minutes, with another seed each time.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import sys
import time
from pathlib import Path

import pytest

from gert_core.api import Diagnostic
from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file

DATA = Path(__file__).parents[1] / "data"
LONG = bool(os.environ.get("GERT_FUZZ"))
SECONDS = 180.0 if LONG else 3.0
WORDS_TEXT = """
steps meta tools inputs inputs_from when next max step for_each as over key parallel scope export visibility allow deny
contract effects writes reads side_effects repeat until branches condition default label outcome category resolved
type tool manual assert branch parallel end extension repeat instructions required_evidence kind text name items
apiVersion kernel/v0 tool/v0 governance rules risk action secrets env required constants null true false ~ [] {} - : |
> & * ! % @ ` "{{ .x }}" "{{" "}}" 0 -1 1e999 .nan ? <<
"""
EXPRESSION_TEXT = """
.a .b.c .step.x .scope.a/b .run.id .repeat.index eq ne lt and or not len index contains matches default upper split join
printf toJson int ( ) | , " ' [ ] { } . + * ** % ~ if else is in for "a" 'b' 1 -2 3.5 true none __class__ .mro range x
"""
WORDS, EXPRESSION = WORDS_TEXT.split(), EXPRESSION_TEXT.split()


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


@pytest.fixture(scope="module")
def corpus():
    files = [*DATA.glob("*/runbook.yaml"), *DATA.glob("*/tools/*.yaml")]
    return [file.read_bytes() for file in sorted(files)]


def mutated(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(lines))
        match rng.randrange(9):
            case 0:
                del lines[at : at + rng.randint(1, 3)]
            case 1:
                lines.insert(at, rng.choice(lines) if lines else b"")
            case 2:
                lines[at : at + 1] = [b" " * rng.randint(0, 8) + lines[at].lstrip()] if lines else []
            case 3:
                word = rng.choice(WORDS).encode()
                key, colon, _ = lines[at].partition(b":")
                lines[at] = key + colon + b" " + word
            case 4:
                lines[at] = lines[at].replace(b"{{", rng.choice((b"{", b"{{{", b"{%", b"{{ (", b"")))
            case 5:
                cut = rng.randint(0, len(lines[at]))
                lines[at] = lines[at][:cut] + bytes([rng.randrange(256)]) + lines[at][cut:]
            case 6:
                lines.insert(
                    at, b" " * rng.randint(0, 10) + rng.choice(WORDS).encode() + b": " + rng.choice(WORDS).encode()
                )
            case 7:
                text = " ".join(rng.choices(EXPRESSION, k=rng.randint(1, 12)))
                key, colon, _ = lines[at].partition(b":")
                lines[at] = key + colon + b" '{{ " + text.replace("'", "''").encode() + b" }}'"
            case _:
                block = lines[at : at + rng.randint(1, 20)]
                lines[at:at] = block * rng.randint(1, 3)
        lines = lines or [b""]
    return b"\n".join(lines)


def judge(file: Path, data: bytes, registry: Registry) -> None:
    file.write_bytes(data)
    start = time.process_time()
    try:
        verdict = validate_file(file, registry=registry, environ={})
    except Exception as error:
        raise AssertionError(f"validation raised {error!r} for {data!r}") from error
    assert time.process_time() - start < 5
    for found in verdict.diagnostics:
        assert isinstance(found, Diagnostic)
        assert found.message
        assert found.line is not None
        assert found.line >= 1
    verdict.to_json()


def run(seconds: float, seed: int, one) -> None:
    """Do it until the time is up; at least a few times on a slow machine."""
    rng = random.Random(time.time_ns() if LONG else seed)
    end = time.monotonic() + seconds
    count = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while count < 20 or time.monotonic() < end:
        one(rng)
        count += 1
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 500 * 1024 * 1024


def test_mutated_documents(registry, corpus, tmp_path):
    shutil.copytree(DATA / "k16" / "tools", tmp_path / "tools")
    run(SECONDS / 2, 11, lambda rng: judge(tmp_path / "x.yaml", mutated(rng, rng.choice(corpus)), registry))


def test_random_bytes(registry, tmp_path):
    def one(rng: random.Random) -> None:
        size = rng.randint(0, 300)
        alphabet = b" \n\t:-[]{}#&*!|>'\"%@`,?abc.0123456789\x00\x80\xff\xc3"
        data = bytes(rng.choices(alphabet, k=size)) if rng.random() < 0.7 else rng.randbytes(size)
        prefix = b"apiVersion: kernel/v0\nmeta: {name: x}\nsteps:\n  " if rng.random() < 0.5 else b""
        judge(tmp_path / "x.yaml", prefix + data, registry)

    run(SECONDS / 6, 12, one)


def test_random_templates(registry, tmp_path):
    def one(rng: random.Random) -> None:
        values = []
        for _ in range(10):
            text = " ".join(rng.choices(EXPRESSION, k=rng.randint(1, 14)))
            if rng.random() < 0.2:
                text = "(" * rng.randint(1, 400) + text
            values.append("'{{ " + text.replace("'", "''") + " }}'")
        fields = "".join(f"        k{n}: {value}\n" for n, value in enumerate(values))
        document = (
            "apiVersion: kernel/v0\nmeta: {name: x, inputs: {a: {type: list}, b: {type: object}}}\nsteps:\n"
            f"  - type: manual\n    instructions: x\n    when: {values[0]}\n"
            f"  - type: end\n    outcome:\n      category: resolved\n      meta:\n{fields}"
        )
        judge(tmp_path / "x.yaml", document.encode(), registry)

    run(SECONDS / 6, 13, one)


def test_random_trees_of_steps(registry, tmp_path):
    """Well-formed steps in every combination: nested blocks, jumps, loops, scopes, exports."""
    shutil.copytree(DATA / "rules" / "tools", tmp_path / "tools")

    def step(rng: random.Random, depth: int, ids: list[str]) -> dict:
        kinds = ["tool", "tool", "manual", "assert", "end"] + ["branch", "parallel", "repeat"] * (depth > 0)
        kind = rng.choice(kinds)
        node: dict = {"type": kind}
        if rng.random() < 0.8:
            ids.append(f"s{len(ids)}")
            node["id"] = ids[-1] if rng.random() < 0.97 else rng.choice(ids)
        name = rng.choice(ids) if ids else "s0"
        ref = (
            "{{ "
            + rng.choice(
                [f".{name}.latency", ".latency", f".{name}.0.state", ".item", ".scope.a/b.latency", ".repeat.index"]
            )
            + " }}"
        )
        if kind == "tool":
            node |= {"tool": "ping", "inputs": {"host": ref}}
        elif kind == "manual":
            node |= {"instructions": ref}
        elif kind == "assert":
            node |= {"assert": [{"type": "equals", "value": ref, "expected": 1}]}
        elif kind == "end":
            node |= {"outcome": {"category": "resolved", "meta": {"x": ref}}}
        elif kind == "branch":
            node |= {
                "branches": [{"condition": ref, "steps": steps(rng, depth - 1, ids)} for _ in range(rng.randint(1, 3))]
            }
            if rng.random() < 0.3:
                node["branches"][0]["next"] = name
        elif kind == "parallel":
            node |= {"branches": [{"steps": steps(rng, depth - 1, ids)} for _ in range(rng.randint(1, 3))]}
        else:
            node |= {"repeat": {"max": 2, "until": ref}, "steps": steps(rng, depth - 1, ids)}
        if rng.random() < 0.25:
            node["when"] = ref
        if rng.random() < 0.25:
            node["next"] = name if rng.random() < 0.4 else {"step": name, "max": 2}
        if rng.random() < 0.2:
            node["for_each"] = {"as": "item", "over": rng.choice([ref, [1, 2], {"a": 1}])}
        if rng.random() < 0.2:
            node["scope"] = rng.choice(["a/b", "a/{{ .item }}", "x"])
        if rng.random() < 0.2:
            node["export"] = ["latency"]
        if rng.random() < 0.1:
            node["continue_on_fail"] = True
        return node

    def steps(rng: random.Random, depth: int, ids: list[str]) -> list:
        return [step(rng, depth, ids) for _ in range(rng.randint(0, 5))]

    def one(rng: random.Random) -> None:
        import json

        document = {"apiVersion": "kernel/v0", "meta": {"name": "x"}, "tools": ["ping"], "steps": steps(rng, 4, [])}
        judge(tmp_path / "x.yaml", json.dumps(document).encode(), registry)

    run(SECONDS / 6, 14, one)
