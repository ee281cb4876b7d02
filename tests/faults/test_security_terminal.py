"""Nothing that a tool, an input or a document says can steer the terminal of the person who looks at it."""

from __future__ import annotations

import json
import re

import pytest
from gertproc import Gert

from gert_core.cli.render.terminal import escape, escape_output

# Clear the screen, set the title, move up, conceal, an 8-bit control sequence, turn the direction, and a forged line.
EVIL = "\x1b[2J\x1b]0;pwned\x07\x1b[1A\x1b[8m\x9b31m\u202e\rok\n✓ Outcome: resolved (forged)"
TOOL = """\
apiVersion: tool/v0
meta: {name: evil, transport: stdio, binary: printf}
contract: {inputs: {text: {type: string}}, outputs: {said: {type: string}}, effects: [network], writes: [x], idempotent: true}
actions:
  say: {argv: [printf, "%s", "{{ .text }}"], extract: {said: {from: stdout}}}
  fail: {argv: [printf, "%d", "{{ .text }}"], extract: {said: {from: stdout}}}
"""
HEAD = "apiVersion: kernel/v0\nmeta: {name: terminal, inputs: {evil: {type: string}}, GOVERN}\ntools: [evil]\nsteps:\n"
END = '  - {type: end, outcome: {category: resolved, code: "{{ .evil }}", meta: {"note": "{{ .evil }}"}}}\n'
SAY = '  - {id: say, type: tool, tool: evil, action: say, inputs: {text: "{{ .evil }}"}}\n'
FAIL = '  - {id: fail, type: tool, tool: evil, action: fail, inputs: {text: "{{ .evil }}"}}\n'
ASSERT = '  - {id: check, type: assert, assert: [{type: equals, value: "{{ .evil }}", expected: other}]}\n'
MANUAL = '  - {id: look, type: manual, instructions: "Look at {{ .evil }}"}\n'
APPROVE = "governance: {rules: [{effects: [network], action: require-approval}]}"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_evil=TOOL)
    return made


def book(*steps: str, govern: str = "description: plain") -> str:
    return HEAD.replace("GOVERN", govern) + "".join(steps) + END


def assert_tame(text: str, *, colour: bool = False) -> None:
    """Only text, line ends and (on a terminal) gert's own styles and its own erasing of the live line."""
    if colour:
        text = re.sub(r"\x1b\[(?:0|1|2|31|32|33|36)(?:;(?:1|2))*m|\r\x1b\[K|\r\n", "", text)
    bad = [c for c in text if not c.isprintable() and c not in "\n"]
    assert not bad, f"{bad} in {text!r}"
    assert not re.search(r"^✓ Outcome: resolved \(forged\)", text, re.MULTILINE)


def evil(*argv: str) -> list[str]:
    return [*argv, "--var", f"evil={EVIL}"]


@pytest.mark.parametrize(
    ("steps", "govern", "answers"),
    [
        ((SAY,), "description: plain", ""),
        ((FAIL,), "description: plain", ""),
        ((ASSERT,), "description: plain", ""),
        ((SAY,), APPROVE, "y ann\n"),
        ((SAY,), APPROVE, f"n eve: {EVIL.partition(chr(10))[0]}\n"),
    ],
)
def test_progress_prompts_and_results_are_tame(gert, steps, govern, answers):
    """Progress lines, approval prompts and the result spell control characters out."""
    gert.write(book=book(*steps, govern=govern))
    said = gert(*evil("exec", "book.yaml"), answers=answers)
    assert said.code in (0, 1), said.err
    assert_tame(said.all)
    if "fail" in steps[0] or "check" in steps[0] or said.code == 0:
        assert "\\u001b" in said.all


def test_manual_instructions_are_tame(gert):
    """Instructions may have several lines, and nothing else that is not text."""
    gert.write(book=book(MANUAL))
    said = gert(*evil("exec", "book.yaml"), answers="\n")
    assert said.code == 0, said.err
    assert "\\u001b[2J" in said.err
    assert not [c for c in said.err if not c.isprintable() and c != "\n"]


def test_on_a_real_terminal_only_gerts_own_styles_appear(gert):
    """The same with colour: the styles are gert's, the data has none."""
    gert.write(book=book(FAIL))
    seen = gert.on_terminal(*evil("exec", "book.yaml"), NO_COLOR="")
    assert "\x1b[31m✗" in seen
    assert_tame(seen, colour=True)


def test_a_trace_that_is_exported_to_a_terminal_is_tame(gert):
    """Elsewhere it is given out byte for byte."""
    end = "outcome: {category: resolved, code: done, meta: {it: '{{ .it }}'}}"
    gert.write(
        book=f"apiVersion: kernel/v0\nmeta: {{name: it, inputs: {{it: {{type: string}}}}}}\nsteps: [{{type: end, {end}}}]\n"
    )
    assert gert("exec", "book.yaml", "--var", "it=a\u009b31m\u202eevil\x7f").code == 0
    whole = (gert.run() / "trace.jsonl").read_text()
    assert "\u009b31m\u202eevil\x7f" in whole
    assert gert("runs", "export", "latest").out == whole
    seen = gert.on_terminal("runs", "export", "latest")
    assert_tame(seen.replace("\r\n", "\n"))
    assert [json.loads(line) for line in seen.splitlines()] == [json.loads(line) for line in whole.splitlines()]


def test_what_is_read_later_is_tame_too(gert):
    """``trace show``, ``runs show``, ``runs list``, ``approvals show`` and a second ``resume`` spell it out as well."""
    gert.write(book=book(FAIL, govern=APPROVE))
    pending = gert(*evil("exec", "book.yaml", "--approval", "inbox"))
    assert "Approval pending" in pending.out
    run = gert.run()
    ticket = next((run / "tickets").glob("*.json")).stem
    for argv in (
        ("approvals", "list"),
        ("approvals", "show", ticket),
        ("approve", ticket, "--as", "ann", "--reason", EVIL),
    ):
        said = gert(*argv)
        assert said.code == 0, said.err
        assert_tame(said.all)
    said = gert("resume", "--run", run.name)
    assert said.code == 1
    assert_tame(said.all)
    trace = str(run / "trace.jsonl")
    again = ("resume", "--run", run.name)
    for argv in (
        ("trace", "show", trace),
        ("trace", "verify", trace),
        ("runs", "show", run.name),
        ("runs", "list"),
        again,
    ):
        said = gert(*argv)
        assert_tame(said.all)
        assert said.out or said.err
    assert "\\u001b" in gert("trace", "show", trace).out


def test_errors_about_documents_and_flags_are_tame(gert):
    """File names, flags and documents are data as well."""
    gert.write(book=f'apiVersion: kernel/v0\nmeta: {{name: x}}\nsteps: [{{type: "no\\e[2Jpe"}}]\n# {EVIL}\n')
    for argv in (
        ("validate", "book.yaml"),
        ("exec", "book.yaml"),
        ("exec", f"no{EVIL}.yaml"),
        ("runs", "show", EVIL),
        (f"verb{EVIL}",),
        ("exec", "book.yaml", "--var", EVIL),
    ):
        said = gert(*argv)
        assert said.code in (1, 2), argv
        assert "\x1b" not in said.all
        assert "\x9b" not in said.all


def test_json_stays_the_same_document(gert):
    """The last look at what is printed changes how JSON is spelled, never what it says."""
    gert.write(book=book(SAY))
    said = gert(*evil("exec", "book.yaml", "--json"))
    assert said.document["outcome"]["meta"]["note"] == EVIL
    assert not [c for c in said.out if not c.isprintable() and c != "\n"]


def test_plain_and_safe():
    """Astral and unpaired characters are spelled in a way every JSON reader understands."""
    assert escape("a\x1b\u202e\U000e0001\ud800b") == "a\\u001b\\u202e\\udb40\\udc01\\ud800b"
    assert escape("a\nb", keep="\n") == "a\nb"
    assert escape_output("\x1b[32m✓\x1b[0m\x1b[8m", colour=True) == "\x1b[32m✓\x1b[0m\\u001b[8m"
    assert escape_output("\x1b[32m✓", colour=False) == "\\u001b[32m✓"
