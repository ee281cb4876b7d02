"""Names that end with a loop: what ``gert validate`` says to export is written into the runbook, which then runs."""

from __future__ import annotations

import json
import re

import pytest

TOOL = """\
apiVersion: tool/v0
meta: {name: echo}
contract: {effects: [], writes: [], outputs: {out: {type: string}}}
actions: {do: {argv: [echo, hi], extract: {out: {from: stdout}}}}
"""
CHILD = """\
apiVersion: kernel/v0
meta: {name: child}
steps: [{type: end, outcome: {category: resolved, code: grown, meta: {volume: v1}}}]
"""
BOOK = """\
apiVersion: kernel/v0
meta: {name: book}
tools: [echo]
steps:
  - id: loop
    LOOP
    steps:
      - {id: call, type: tool, tool: echo}
      - {id: check, type: assert, assert: [{type: equals, value: a, expected: a}]}
      - id: tidy
        type: block
        steps: [{id: bad, type: assert, assert: [{type: equals, value: a, expected: b}]}]
        on_failure: [{id: fine, type: assert, assert: [{type: equals, value: a, expected: a}]}]
      - {id: sub, type: runbook, runbook: child.yaml}
      - {id: many, type: tool, tool: echo, scope: many, for_each: {as: n, over: [1, 2]}}
  - {type: end, outcome: {category: resolved, meta: {found: "{{ NAME }}"}}}
"""
LOOPS = {"repeat": "type: repeat\n    repeat: {max: 1}", "items": "type: block\n    for_each: {as: h, over: [a]}"}
FOUND = {
    ".call.out": "hi",
    ".step.call.exit_code": 0,
    ".check.passed": True,
    ".tidy.handled": True,
    ".sub.outcome.code": "grown",
    ".sub.outcome.meta.volume": "v1",
}
LOST = [".call.attempts", ".step.call.retry_count", ".step.many.failed", ".many.0.status"]


@pytest.fixture
def hint_for(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/echo.tool.yaml").write_text(TOOL)
    (tmp_path / "child.yaml").write_text(CHILD)

    def ask(text):
        (tmp_path / "book.yaml").write_text(text)
        (found,) = json.loads(gert("validate", "book.yaml", "--json")[1])["diagnostics"]
        assert found["rule"] == "unresolved-variable"
        return found["hint"]

    return ask


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", FOUND)
def test_what_a_step_in_a_loop_has_is_exported_as_the_hint_says(hint_for, gert, tmp_path, loop, name):
    text = BOOK.replace("LOOP", LOOPS[loop])
    said = re.fullmatch(r"add `(export: .*)` to `(\w+)` and read `(\..*)`", hint_for(text.replace("NAME", name)))
    export, step, instead = said.groups()
    begin = f"id: {step}"
    added = text.replace(f"{{{begin}, ", f"{{{begin}, {export}, ").replace(
        f"- {begin}\n", f"- {begin}\n        {export}\n"
    )
    (tmp_path / "book.yaml").write_text(added.replace("NAME", instead))
    code, out, err = gert("exec", "book.yaml", "--json")
    assert (code, json.loads(out)["outcome"]["meta"]["found"]) == (0, FOUND[name]), out + err


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", LOST)
def test_what_cannot_be_exported_is_not_said_to_be(hint_for, loop, name):
    of_items = ", or read it of its items" if loop == "items" else ""
    assert hint_for(BOOK.replace("LOOP", LOOPS[loop]).replace("NAME", name)) == f"use it inside the loop{of_items}"
