"""Before a recorded run goes on: what is still to run is looked at as before a fresh one, and what is over is not."""

from __future__ import annotations

import pytest
from shell import Shell

LOOK = "{ id: look, type: tool, tool: look }"
FAIL = "{ id: fail, type: tool, tool: fail }"
DROP = "{ id: drop, type: tool, tool: drop }"
ASK = "{ id: ask, type: tool, tool: ask }"
DENY = "apiVersion: policy/v0\nmeta: { name: no }\nrules: [{ writes: [db], action: deny }]\n"
ALLOW = "apiVersion: policy/v0\nmeta: { name: no }\nrules: [{ default: allow }]\n"
SECRET = ("secret_missing", "step ask: tool `ask` requires secret `ASK_TOKEN`, which is not set")


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.program("look", "echo look >> log\n")
    made.program("fail", "echo fail >> log\ntest -e ready\n")
    made.tool("look", "[look]", contract="{ effects: [network], writes: [] }")
    made.tool("fail", "[fail]", contract="{ effects: [network], writes: [] }")
    made.tool("drop", "[look]", contract="{ effects: [db], writes: [db], idempotent: true }")
    made.tool("ask", "[look]", contract="{ effects: [network], writes: [] }")
    path = made.root / "tools" / "ask.tool.yaml"
    path.write_text(path.read_text() + "secrets: [{ env: ASK_TOKEN }]\n")
    made.write("no.yaml", ALLOW)
    return made


def book(shell, *steps, more="", meta=""):
    path = shell.book("\n".join(f"- {step}" for step in steps), tools="look, fail, drop, ask", meta=meta)
    path.write_text(path.read_text() + more)


def log(shell):
    path = shell.root / "log"
    return path.read_text().split() if path.exists() else []


def refused(shell, *args, **environ):
    """Resume it and return the findings; nothing was executed, and the trace has not grown."""
    before, done = shell.trace().read_bytes(), log(shell)
    error = shell.json("resume", "latest", *args, code=2, **environ)["error"]
    assert error["kind"] == "preflight"
    assert (shell.trace().read_bytes(), log(shell)) == (before, done)
    return [(finding["rule"], finding["message"]) for finding in error["diagnostics"]]


def cut(shell, key):
    """Leave of the trace what a process leaves that was killed before the first event of this step."""
    lines = shell.trace().read_bytes().splitlines(keepends=True)
    kept = next(number for number, event in enumerate(shell.events()) if event.get("step_key") == key)
    shell.trace().write_bytes(b"".join(lines[:kept]))


def denied_at_once(shell, *args):
    """Resume it: the denied step is all that follows ``run_resumed``, and no program was started."""
    done = log(shell)
    result = shell.json("resume", "latest", *args, code=1)
    assert (result["status"], result["failure"]["kind"]) == ("failed", "governance_denied")
    assert result["failure"]["step_key"] == "drop"
    assert log(shell) == done
    shell.gert("trace", "verify", str(shell.trace()))
    types = [event["type"] for event in shell.events()]
    resumed = len(types) - types[::-1].index("run_resumed")
    return types[resumed:]


def test_a_secret_that_is_missing_now(shell):
    book(shell, LOOK, FAIL, ASK)
    shell.json("exec", "book.yaml", code=1, ASK_TOKEN="long-enough")
    assert refused(shell, "--retry-failed") == [SECRET]
    said = shell.gert("resume", "latest", "--retry-failed", code=2).stderr
    assert said.startswith(f"error: run {shell.runs()[0].name} cannot be resumed here, so nothing was run\n")
    assert "--no-preflight" in said
    assert shell.json("resume", "latest", "--retry-failed", "--no-preflight", code=1)["failure"]["step_id"] == "fail"
    shell.write("ready", "")
    assert shell.json("resume", "latest", "--retry-failed", ASK_TOKEN="long-enough")["status"] == "completed"


def test_what_is_over_is_not_needed_again(shell):
    shell.program("mine", "echo mine >> log\n")
    shell.tool("look", "[mine]", contract="{ effects: [network], writes: [] }")
    inner = f"{{ id: both, type: block, steps: [{ASK}, {LOOK}] }}"
    book(shell, inner, FAIL)
    shell.json("exec", "book.yaml", code=1, ASK_TOKEN="long-enough")
    (shell.root / "bin" / "mine").unlink()
    shell.write("ready", "")
    assert shell.json("resume", "latest", "--retry-failed")["status"] == "completed"
    assert log(shell) == ["look", "mine", "fail", "fail"]


def test_a_program_that_has_gone(shell):
    """Also behind a step that may install it, when that one is over."""
    shell.program("mine", "echo mine >> log\n")
    shell.tool("look", "[mine]", contract="{ effects: [network], writes: [] }")
    book(shell, DROP, FAIL, LOOK)
    shell.json("exec", "book.yaml", code=1)
    (shell.root / "bin" / "mine").unlink()
    message = "step look: tool 'look' needs program 'mine', which is not on PATH"
    assert refused(shell, "--retry-failed") == [("not_found", message)]


def test_a_provider_that_is_not_there(shell):
    meta = "governance: { rules: [{ writes: [db], action: require-approval }] }"
    book(shell, LOOK, FAIL, DROP, meta=meta)
    shell.json("exec", "book.yaml", code=1)
    why = "an approval is needed, and there is no provider to ask for it here"
    assert refused(shell, "--retry-failed", "-p", "no:approval-stdin") == [("approval_provider", f"step drop: {why}")]
    ((rule, message),) = refused(shell, "--retry-failed", "--approval", "pigeon")
    assert (rule, "approval provider 'pigeon'" in message) == ("unknown_name", True)


def test_what_only_some_paths_need_is_a_warning(shell):
    book(shell, LOOK, FAIL, ASK.replace("{ id", '{ when: "{{ false }}", id'))
    shell.json("exec", "book.yaml", code=1)
    shell.write("ready", "")
    said = shell.gert("resume", "latest", "--retry-failed").stderr
    assert f"warning: step ask may fail if it is reached: {SECRET[1].partition(': ')[2]}" in said


def test_a_run_that_only_has_cleanup_left_is_not_refused(shell):
    book(shell, FAIL, ASK, more=f"finally: [{LOOK.replace('id: look', 'id: tidy')}]\n")
    shell.json("exec", "book.yaml", code=1, ASK_TOKEN="long-enough")
    cut(shell, "@finally/tidy")
    assert shell.json("resume", "latest", code=1)["failure"]["step_id"] == "fail"
    assert log(shell) == ["fail", "look", "look"]


def test_cleanup_that_is_over_is_not_looked_at_again(shell):
    book(shell, LOOK, more=f"finally: [{ASK}, {LOOK.replace('id: look', 'id: tidy')}]\n")
    shell.json("exec", "book.yaml", ASK_TOKEN="long-enough")
    cut(shell, "@finally/tidy")
    assert shell.json("resume", "latest")["status"] == "completed"


def test_an_abort_needs_nothing_of_the_steps_that_it_leaves_out(shell):
    book(shell, LOOK, ASK)
    shell.json("exec", "book.yaml", ASK_TOKEN="long-enough")
    cut(shell, "ask")
    assert refused(shell) == [SECRET]
    assert shell.json("resume", "latest", "--abort", code=1)["status"] == "cancelled"


def test_a_denied_run_that_is_retried_runs_nothing(shell):
    shell.write("no.yaml", DENY)
    book(shell, LOOK, DROP)
    shell.json("exec", "book.yaml", "--policy", "no.yaml", code=1)
    expected = ["contract_evaluated", "governance_decision", "step_complete", "run_complete"]
    assert denied_at_once(shell, "--retry-failed") == expected
    assert log(shell) == []
    said = shell.gert("resume", "latest", "--retry-failed", code=1).stderr
    assert "warning: step drop is certainly denied, so no step is run" in said
    shell.gert("resume", "latest", "--retry-failed", "--no-preflight", code=1)
    assert log(shell) == ["look"]


@pytest.mark.parametrize("kept", range(1, 5))
def test_killed_while_it_was_denied(shell, kept):
    shell.write("no.yaml", DENY)
    book(shell, LOOK, DROP)
    shell.json("exec", "book.yaml", "--policy", "no.yaml", code=1)
    lines = shell.trace().read_bytes().splitlines(keepends=True)
    shell.trace().write_bytes(b"".join(lines[:kept]))
    denied_at_once(shell)
    assert log(shell) == []


def test_a_policy_that_denies_what_is_still_to_come(shell):
    book(shell, LOOK, FAIL, DROP)
    shell.json("exec", "book.yaml", "--policy", "no.yaml", code=1)
    shell.write("no.yaml", DENY)
    denied_at_once(shell, "--retry-failed", "--on-drift", "allow")
    assert log(shell) == ["look", "fail"]


def test_what_is_over_is_not_denied_again(shell):
    book(shell, DROP, FAIL)
    shell.json("exec", "book.yaml", "--policy", "no.yaml", code=1)
    shell.write("no.yaml", DENY)
    shell.write("ready", "")
    result = shell.json("resume", "latest", "--retry-failed", "--on-drift", "allow")
    assert (result["status"], log(shell)) == ("completed", ["look", "fail", "fail"])


def test_cleanup_that_is_open_runs_before_the_run_ends(shell):
    tidy = LOOK.replace("id: look", "id: tidy")
    block = f"{{ id: work, type: block, steps: [{LOOK}, {ASK}, {DROP}], finally: [{tidy}] }}"
    book(shell, block)
    shell.json("exec", "book.yaml", "--policy", "no.yaml", ASK_TOKEN="long-enough")
    cut(shell, "work/0/ask")
    shell.write("no.yaml", DENY)
    (shell.root / "log").unlink()
    result = shell.json("resume", "latest", "--on-drift", "allow", code=1, ASK_TOKEN="long-enough")
    assert (result["failure"]["kind"], log(shell)) == ("governance_denied", ["look", "look"])
