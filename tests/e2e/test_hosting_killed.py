"""A host that is killed leaves runs that go on anywhere; and what can be done about a run does what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from hosting import APPROVE, Lab, Told, result, takes
from shell import wait_for

from gert_core.hosting import RunView, next_steps

PROGRAM = """
import sys
from gert_core.hosting import Host

run = Host(sys.argv[1]).start("book.yaml", on_notice=lambda notice: print(notice.kind, flush=True))
run.wait()
"""


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    made.close()


def killed(lab: Lab, kind: str) -> str:
    """Start a host in a process of its own and kill it at the first notice of a kind; return the run's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(lab.root)], env=lab.environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == kind:
            break
    if kind == "command":
        wait_for(lambda: lab.path("go.pid").exists())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return lab.gert("runs", "list", "--ids").stdout.strip()


def test_killed_while_it_waits_for_an_approval(lab):
    lab.policy(APPROVE)
    lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
    run_id = killed(lab, "approval")
    (ticket,) = [view.ticket_id for view in lab.host().tickets()]
    lab.gert("approve", ticket, "--as", "alice")
    assert lab.json("resume", "--run", run_id)["status"] == "completed"
    assert lab.path("changed").read_text() == "x\n"


def test_killed_while_it_asks(lab):
    lab.book("- { id: look, type: manual, instructions: Look. }")
    run_id = killed(lab, "question")
    told = Told()
    run = lab.host().resume(run_id, on_notice=told)
    assert run.answer(told.wait("question").data["question_id"], True, by="alice")
    assert result(run)["status"] == "completed"


def test_killed_in_a_tool(lab):
    lab.book("- { id: a, type: tool, tool: hold, inputs: { until: go } }", tools="hold")
    run_id = killed(lab, "command")
    lab.path("go").touch()
    assert result(lab.host().resume(run_id))["status"] == "completed"


# -- what can be done next -------------------------------------------------------------------------------------------


def commands(view: RunView) -> dict[str, list[str]]:
    """By why, each command without the program."""
    assert view.to_json()["next"] == next_steps(view)
    assert all(step["command"][0] == "gert" for step in next_steps(view))
    return {step["why"]: step["command"][1:] for step in next_steps(view)}


def test_a_completed_run_and_a_plan_have_nothing_next(lab):
    host = lab.host()
    lab.book('- { id: a, type: tool, tool: say, inputs: { text: "x" } }', tools="say")
    result(host.start("book.yaml"))
    assert next_steps(host.run("latest")) == []
    lab.policy(APPROVE)
    lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
    lab.write("scenarios/book/s/scenario.yaml", "tool_responses: {}\n")
    assert lab.json("exec", "book.yaml", "--mode", "dry-run")["next"] == []


def test_a_failed_step_is_run_again(lab):
    lab.program("test-it", "[ -e well ]")
    lab.tool("check", '["test-it"]')
    lab.book("- { id: a, type: tool, tool: check, inputs: {} }", tools="check")
    host = lab.host()
    found = result(host.start("book.yaml"))
    assert [step["why"] for step in found["next"]] == ["run a again"]
    lab.path("well").touch()
    assert lab.json(*found["next"][0]["command"][1:])["status"] == "completed"


@pytest.mark.parametrize(
    ("why", "status", "changes"),
    [("run act again", "completed", 2), ("act took effect all the same: go on", "completed", 1),
     ("act did not take effect: let it fail", "failed", 1)],
)  # fmt: skip
def test_a_write_that_failed_or_was_interrupted_is_decided(lab, why, status, changes):
    lab.program("change", "echo x >> changed; [ -e well ]")
    lab.tool("change", '["change"]', contract=takes("what", "writes: [service]"))
    lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
    host = lab.host()
    result(host.start("book.yaml"))
    lab.path("well").touch()
    chosen = commands(host.run("latest"))[why]
    assert lab.json(*chosen, code=None)["status"] == status
    assert len(lab.path("changed").read_text().splitlines()) == changes


def test_a_pending_approval_is_given_and_the_run_resumed(lab):
    lab.policy(APPROVE)
    lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
    host = lab.host()
    result(host.start("book.yaml", approval="inbox"))
    steps = commands(host.run("latest"))
    assert list(steps) == ["approve step act", "reject step act", "resume the run when that is done"]
    lab.gert(*steps["approve step act"], GERT_ACTOR="alice")
    steps = commands(host.run("latest"))
    assert list(steps) == ["resume the run where it stopped"]
    assert lab.json(*steps["resume the run where it stopped"])["status"] == "completed"


def test_a_rejection_ends_a_run_for_good(lab):
    lab.policy(APPROVE)
    lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
    host = lab.host()
    result(host.start("book.yaml", approval="inbox"))
    lab.gert(*commands(host.run("latest"))["reject step act"], GERT_ACTOR="alice")
    assert result(host.resume("latest"))["next"] == []


def test_a_denial_is_explained(lab):
    lab.policy(APPROVE.replace("require-approval, exclude_actor: true", "deny"))
    lab.book("- { id: act, type: tool, tool: change, inputs: { what: x } }", tools="change")
    found = result(lab.host().start("book.yaml"))
    (step,) = found["next"]
    assert "deny" in lab.gert(*step["command"][1:]).stdout


def test_questions_are_answered_and_the_run_resumed(lab):
    lab.book("- { id: look, type: manual, instructions: Look. }")
    host = lab.host()
    result(host.start("book.yaml"))
    steps = commands(host.run("latest"))
    lab.gert(*steps["answer what step look asks"])
    steps = commands(host.run("latest"))
    assert lab.json(*steps["resume the run where it stopped"])["status"] == "completed"


def test_a_cancelled_run_is_resumed_or_ended(lab):
    lab.book("- { id: a, type: tool, tool: hold, inputs: { until: go } }", tools="hold")
    host = lab.host()
    for why, status in (
        ("end the run for good, after its open cleanup", "cancelled"),
        ("resume the run where it stopped", "completed"),
    ):
        lab.path("go").unlink(missing_ok=True)
        lab.path("go.pid").unlink(missing_ok=True)
        run = host.start("book.yaml")
        wait_for(lambda: lab.path("go.pid").exists())
        run.cancel("enough")
        result(run)
        lab.path("go").touch()
        assert lab.json(*commands(run.view)[why], code=None)["status"] == status
        assert commands(run.view) == {}


def test_a_blocked_run_is_unblocked_and_resumed(lab):
    lab.book("- { id: look, type: manual, instructions: Look. }")
    host = lab.host()
    run_id = result(host.start("book.yaml"))["run_id"]
    lab.gert("runs", "block", run_id, "--key", "change window", "--reason", "later")
    steps = commands(host.run(run_id))
    assert list(steps) == ["unblock the run: later", "resume the run when it is unblocked"]
    lab.gert(*steps["unblock the run: later"])
    assert "unblock the run: later" not in commands(host.run(run_id))
