"""The hint of ``maybe-undefined``, followed to the letter: the run works where the step that sets the output is skipped."""

from __future__ import annotations

import json
import re

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: t, transport: stdio }
contract: { effects: [network], writes: [], idempotent: true }
actions:
  all:
    argv: ["true"]
    contract:
      outputs: { n: { type: int }, f: { type: float }, b: { type: bool }, l: { type: list }, o: { type: object }, s: { type: string } }
  count: { argv: [echo, "{{ .n }}"], contract: { inputs: { n: { type: int, required: true } } } }
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: b, inputs: { go: { type: bool, default: false } } }
tools: [t]
steps:
  - { id: a, type: tool, tool: t, action: all, when: "{{ .go }}" }
%s
  - { id: done, type: end, outcome: { category: resolved } }
"""
CHECK = "  - { id: use, type: assert, assert: [ { type: equals, value: '%s', expected: %s } ] }"


@pytest.mark.parametrize(
    ("step", "read"),
    [
        (CHECK % ("{{ gt .a.n 3 }}", "false"), ".a.n"),
        (CHECK % ("{{ a.n + 1 }}", "1"), "a.n"),
        (CHECK % ("{{ gt .a.f 3.5 }}", "false"), ".a.f"),
        (CHECK % ("{{ .a.b }}", "false"), ".a.b"),
        (CHECK % ("{{ sum .a.l }}", "0"), ".a.l"),
        (CHECK % ("{{ a.l | length }}", "0"), "a.l"),
        (CHECK % ("{{ len .a.o }}", "0"), ".a.o"),
        (CHECK % ("{{ a.o }}", "{}"), "a.o"),
        (CHECK % ("{{ upper .a.s }}", '""'), ".a.s"),
        ("  - { id: use, type: tool, tool: t, action: count, inputs: { n: '{{ .a.n }}' } }", ".a.n"),
        ("  - { id: use, type: tool, tool: t, action: count, when: '{{ gt .a.n 3 }}', inputs: { n: 1 } }", ".a.n"),
        (
            "  - { id: use, type: tool, tool: t, action: count, for_each: { as: i, over: '{{ .a.l }}' }, inputs: { n: 1 } }",
            ".a.l",
        ),
    ],
)
def test_the_default_of_the_hint_has_the_type_of_the_output(gert, tmp_path, monkeypatch, step, read):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "t.tool.yaml").write_text(TOOL)
    book = tmp_path / "book.yaml"
    book.write_text(BOOK % step)
    _, text, _ = gert("validate", "book.yaml", "--json")
    (found,) = json.loads(text)["diagnostics"]
    assert found["rule"] == "maybe-undefined"
    written = re.search(r"write `(.*?)`,", found["hint"])[1].replace("'", '"')
    book.write_text(BOOK % step.replace(read, written))
    assert gert("validate", "book.yaml", "--strict")[0] == 0
    code, text, err = gert("exec", "book.yaml", "--json")
    assert (code, json.loads(text)["status"]) == (0, "completed"), err
