"""Before a real run: an approval that is certainly needed and that cannot be asked for."""

from __future__ import annotations

import pytest
from shell import Shell

LOOK = "{ id: look, type: tool, tool: look }"
DROP = "{ id: drop, type: tool, tool: drop }"
BLOCK = ("-p", "no:approval-stdin")
WHY = "an approval is needed, and there is no provider to ask for it here"


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.program("look", "touch looked\n")
    made.tool("look", "[look]", contract="{ effects: [network], writes: [] }")
    made.tool("drop", "[look]", contract="{ effects: [db], writes: [db] }")
    return made


def book(shell, *steps):
    rules = "governance: { rules: [{ writes: [db], action: require-approval }] }"
    shell.book("\n".join(f"- {step}" for step in steps), tools="look, drop", meta=rules)


def test_a_step_that_certainly_needs_an_approval(shell):
    book(shell, LOOK, DROP)
    error = shell.json("exec", "book.yaml", *BLOCK, code=2)["error"]
    assert error["kind"] == "preflight"
    assert [(one["rule"], one["message"]) for one in error["diagnostics"]] == [
        ("approval_provider", f"step drop: {WHY}")
    ]
    assert not (shell.root / "looked").exists()
    assert shell.runs() == []
    assert shell.json("exec", "book.yaml", *BLOCK, "--approval", "inbox")["status"] == "approval_pending"


def test_a_step_that_demands_its_approval_by_itself(shell):
    shell.book(f"- {LOOK}\n- {{ id: ask, type: approval, message: May it? }}", tools="look")
    (found,) = shell.json("exec", "book.yaml", *BLOCK, code=2)["error"]["diagnostics"]
    assert found["message"] == f"step ask: {WHY}"


@pytest.mark.parametrize("more", ['when: "{{ false }}"', "continue_on_fail: true"], ids=["guarded", "caught"])
def test_what_does_not_certainly_end_the_run_is_a_warning(shell, more):
    book(shell, LOOK, f"{{ id: drop, type: tool, tool: drop, {more} }}")
    done = shell.gert("exec", "book.yaml", *BLOCK)
    assert f"warning: step drop may fail if it is reached: {WHY}" in done.stderr


def test_without_preflight_the_run_goes_as_far_as_it_can(shell):
    book(shell, LOOK, DROP)
    result = shell.json("exec", "book.yaml", *BLOCK, "--no-preflight", code=1)
    assert (result["failure"]["kind"], (shell.root / "looked").exists()) == ("approval_provider", True)


def test_nobody_can_answer_at_the_terminal_without_input(shell):
    book(shell, LOOK, DROP)
    why = "an approval is needed, and provider 'stdin' asks at the terminal, where it cannot be answered"
    error = shell.json("exec", "book.yaml", "--no-input", code=2)["error"]
    assert [(one["rule"], one["message"]) for one in error["diagnostics"]] == [
        ("approval_provider", f"step drop: {why}")
    ]
    assert not (shell.root / "looked").exists()
    assert shell.runs() == []
    assert shell.json("exec", "book.yaml", "--no-input", "--approval", "inbox")["status"] == "approval_pending"
    assert shell.json("exec", "book.yaml", "--no-input", "--mode", "dry-run")["status"] == "completed"
    book(shell, LOOK, DROP.replace("drop }", 'drop, when: "{{ false }}" }'))
    done = shell.gert("exec", "book.yaml", "--no-input")
    assert f"warning: step drop may fail if it is reached: {why}" in done.stderr
