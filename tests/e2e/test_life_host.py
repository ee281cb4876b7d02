"""Where runs stand, as programs and people ask for it: every answer is one of the trace alone."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from shell import Shell, wait_for

import gert_core
from gert_core.api import GertError

SLOW = """
- { id: first, type: tool, tool: mark, inputs: {} }
- { id: slow, type: tool, tool: hold, inputs: {} }
- { id: last, type: tool, tool: mark, inputs: {} }
"""


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.program("mark", "true")
    made.program("hold", "while [ ! -e go ]; do sleep 0.02; done")
    made.tool("mark", '["mark"]')
    made.tool("hold", '["hold"]')
    return made


def begun(shell: Shell) -> tuple[subprocess.Popen[bytes], str]:
    """Start a run that stays in its second step until the file ``go`` is there."""
    shell.book(SLOW, tools="mark, hold")
    command = shell.command("exec", "book.yaml")
    process = subprocess.Popen(
        command, cwd=shell.root, env=shell.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: [*shell.root.glob("runs/*/trace.jsonl")])
    wait_for(lambda: any(event["step_key"] == "slow" for event in shell.events("step_start")))
    return process, shell.trace().parent.name


def test_every_reader_agrees_while_a_run_is_executed_and_when_it_is_over(shell):
    process, run = begun(shell)
    root = shell.root / "runs"
    now = gert_core.status(run, root=root)
    assert (now.status, now.lifecycle, now.last_event_type, now.blocked_on) == ("running", "active", "step_start", ())
    assert gert_core.progress(run, root=root).to_json() == {
        "status": "running",
        "percent": 25,
        "current_stage": "slow",
        "completed_stages": ["first"],
        "eta_seconds": None,
    }
    assert gert_core.resume_point(run, root=root).needs is None, "it is being executed"
    (shell.root / "go").touch()
    followed = list(gert_core.stream(run[:20], root=root, follow=True))
    assert process.wait(10) == 0
    assert [event.seq for event in followed] == list(range(1, len(followed) + 1))
    assert followed[-1].type == "run_complete"
    over = gert_core.status("latest", root=root).to_json()
    assert over == {
        "run_id": run,
        "status": "completed",
        "lifecycle": "completed",
        "last_event_seq": len(followed),
        "last_event_type": "run_complete",
        "updated_at": followed[-1].timestamp,
        "blocked_on": [],
        "failure_reason": None,
        "cost": None,
        "lease": None,
    }
    values = list(gert_core.stream_progress(run, root=root))
    assert [(one.percent, one.current_stage) for one in values] == [
        (0, None), (0, "first"), (25, "first"), (25, "slow"), (50, "slow"), (50, "last"), (75, "last"),
        (75, "done"), (99, "done"), (100, None),
    ]  # fmt: skip
    assert values[-1] == gert_core.progress(run, root=root)
    tail = list(gert_core.stream(run, root=root, since_seq=len(followed) - 2))
    assert [event.seq for event in tail] == [len(followed) - 1, len(followed)]


def test_an_event_is_followed_within_a_tenth_of_a_second(shell):
    process, run = begun(shell)
    events = gert_core.stream(run, root=shell.root / "runs", follow=True)
    assert next(event for event in events if event.step_key == "slow").type == "contract_evaluated"
    assert [next(events).type for _ in range(2)] == ["governance_decision", "step_start"]
    (shell.root / "go").touch()
    next(events)
    seen = time.time()
    written = shell.trace().stat().st_mtime
    assert process.wait(10) == 0
    assert seen - written < 0.1 or seen < shell.trace().stat().st_mtime, "it was seen while the run went on"
    assert [event.type for event in events][-1] == "run_complete"


def test_life_active_list_has_what_runs_or_was_interrupted_and_nothing_else(shell):
    root = shell.root / "runs"
    assert gert_core.active(root=root) == []
    process, run = begun(shell)
    assert [(one.run_id, one.status) for one in gert_core.active(root=root)] == [(run, "running")]
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    (shell.root / "go").touch()
    wait_for(lambda: [(one.run_id, one.status) for one in gert_core.active(root=root)] == [(run, "interrupted")])
    began = time.monotonic()
    assert [event.type for event in gert_core.stream(run, root=root, follow=True)][-1] == "step_start"
    assert 1.9 < time.monotonic() - began < 8, "nobody executes it, so that nothing more is waited for"
    shell.json("resume", run)
    shell.tool("no", '["false"]')
    shell.book("- { id: bad, type: tool, tool: no, inputs: {} }", tools="no")
    failed = shell.json("exec", "book.yaml", code=1)["run_id"]
    assert gert_core.active(root=root) == []
    stands = gert_core.status(failed, root=root)
    assert (stands.status, stands.lifecycle) == ("failed", "failed")
    assert str(stands.failure_reason).startswith("step bad: ")


def test_a_pending_approval_pauses_the_run(shell):
    shell.book("- { id: gate, type: approval, message: May it go on? }")
    run = shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"]
    root = shell.root / "runs"
    stands = gert_core.status(run, root=root).to_json()
    assert (stands["status"], stands["lifecycle"]) == ("approval_pending", "paused")
    assert stands["blocked_on"] == [{"kind": "approval", "key": "gate"}]
    point = gert_core.resume_point(run, root=root).to_json()
    assert point == {
        "last_seq": stands["last_event_seq"],
        "last_step_key": "gate",
        "needs": "approval",
        "steps": ["gate"],
        "blocked_on": [{"kind": "approval", "key": "gate"}],
    }
    assert gert_core.active(root=root) == []
    assert [event.type for event in gert_core.stream(run, root=root, follow=True)][-1] == "run_suspended"


def test_a_run_that_cannot_be_read_is_said(shell):
    shell.book("")
    run = shell.json("exec", "book.yaml")["run_id"]
    shell.trace().write_text("what is this\n")
    root = shell.root / "runs"
    stands = gert_core.status(run, root=root)
    assert (stands.status, stands.lifecycle) == ("unreadable", None)
    assert "line 1" in str(stands.failure_reason)
    for ask in (gert_core.progress, gert_core.resume_point, gert_core.artifacts):
        with pytest.raises(GertError, match="line 1"):
            ask(run, root=root)
    with pytest.raises(GertError, match="was altered"):
        list(gert_core.stream(run, root=root))
    with pytest.raises(GertError, match="there is no run nope"):
        gert_core.status("nope", root=root)
