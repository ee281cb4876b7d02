"""An approval serves one execution of a step that was left open: paused, asked, killed or tried again."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING

import pytest
from binding import killed_at
from gates import effects, install
from shell import Shell, wait_for

if TYPE_CHECKING:
    from pathlib import Path

RULES = "governance: {rules: [{effects: [x], action: require-approval, exclude_actor: false}]}"
SAFE = "{ effects: [x], writes: [x], idempotent: true }"
PAUSED = "- { id: hold, type: gate, keys: [window], act: after }"
TWICE = "- { id: hold, type: gate, keys: [first, second], act: between, safe: true }"


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    install(made)
    return made


def approved(shell: Shell, steps: str = PAUSED, *, more: tuple[str, ...] = ()) -> str:
    """Start a run, approve its step and resume it until it is paused; return its id."""
    if "safe: true" in steps:
        shell.tool("box", '["box"]', contract=SAFE)
    shell.book(steps, tools="box", meta=RULES)
    run = str(shell.json("exec", "book.yaml", "--approval", "inbox", *more)["run_id"])
    answer(shell, run)
    return run


def answer(shell: Shell, run: str) -> None:
    """Approve what the run waits for, and resume it."""
    (ticket,) = shell.json("runs", "show", run)["pending"]
    shell.gert("approve", ticket["ticket_id"], "--as", "ann")
    shell.gert("resume", run)


def unblock(shell: Shell, run: str, key: str = "window") -> str:
    """Unblock a run and resume it; return its status."""
    shell.gert("runs", "unblock", run, "--key", key)
    return str(shell.json("resume", run)["status"])


def kept(shell: Shell, run: str, name: str = "copy") -> Path:
    """Copy the directory of the run as it is now."""
    return shutil.copytree(shell.root / "runs" / run, shell.root / name)


def restored(shell: Shell, run: str, copy: Path) -> None:
    shutil.rmtree(shell.root / "runs" / run)
    shutil.copytree(copy, shell.root / "runs" / run)


def test_a_restored_paused_step_does_not_act_again_under_its_approval(shell):
    run = approved(shell)
    assert effects(shell) == 0
    copy = kept(shell, run)
    assert unblock(shell, run) == "completed"
    for _ in range(2):
        restored(shell, run, copy)
        assert unblock(shell, run) == "approval_pending"
        assert effects(shell) == 1
    (void,) = shell.events("approval_void")
    assert void["data"]["changed"] == ["execution"]
    answer(shell, run)
    assert effects(shell) == 2, "under an approval of its own"


def test_a_paused_step_that_is_blocked_in_between_keeps_its_approval(shell):
    """Processes that find the step paused use nothing up."""
    run = approved(shell, PAUSED.replace("keys: [window]", "keys: [window, hatch]"))
    for _ in range(3):
        shell.gert("resume", run, code=1)
    shell.gert("runs", "unblock", run, "--key", "window")
    for _ in range(2):
        shell.json("resume", run, code=None)
    assert unblock(shell, run, "hatch") == "completed"
    assert effects(shell) == 1
    assert len(shell.events("approval_submitted")) == 1


def test_a_step_restored_to_an_earlier_pause_does_not_act_again(shell):
    """The first pause was over and the run waits at the second one: it has not used up its approval otherwise."""
    run = approved(shell, TWICE)
    copy = kept(shell, run)
    assert unblock(shell, run, "first") == "blocked"
    assert effects(shell) == 1
    restored(shell, run, copy)
    assert unblock(shell, run, "first") == "approval_pending"
    assert effects(shell) == 1


def test_a_restored_question_of_an_approved_step_is_not_acted_on_twice(shell):
    """A step that asks, is left with its question open, and acts once it is answered."""
    run = approved(shell, "- { id: hold, type: gate, ask: sure, act: after }", more=("--questions", "suspend"))
    copy = kept(shell, run)
    for expected, status in ((1, "completed"), (1, "approval_pending")):
        shell.gert("answer", run, "hold", "sure=yes")
        assert shell.json("resume", run)["status"] == status
        assert effects(shell) == expected
        restored(shell, run, copy)


def test_a_repeatable_execution_copied_while_it_ran_is_over_when_it_ended(shell):
    """The copy looks like that of a process that was killed; the ledger knows that the execution came to its end."""
    shell.program("box", "echo acted >> effects; while [ ! -e go ]; do sleep 0.05; done")
    shell.tool("box", '["box"]', contract=SAFE)
    shell.book("- { id: hold, type: gate, act: after, safe: true }", tools="box", meta=RULES)
    run = str(shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"])
    (ticket,) = shell.json("runs", "show", run)["pending"]
    shell.gert("approve", ticket["ticket_id"], "--as", "ann")
    first = shell.start("resume", run)
    wait_for(lambda: effects(shell), 60)
    copy = kept(shell, run)
    (shell.root / "go").touch()
    first.communicate(timeout=30)
    restored(shell, run, copy)
    assert shell.json("resume", run)["status"] == "approval_pending"
    assert effects(shell) == 1


def test_attempts_of_a_retry_are_not_repeated_from_a_copy(shell):
    """Copied at its second attempt: the third one was begun by the process that went on, and was killed in it."""
    shell.program("box", "echo acted >> effects; [ $(wc -l < effects) -lt 3 ] || sleep 20; exit 1")
    retry = "retry: { max: 3, delay: 2s }"
    shell.book(f"- {{ id: hold, type: tool, tool: box, {retry} }}", tools="box", meta=RULES)
    shell.tool("box", '["box"]', contract=SAFE)
    run = str(shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"])
    (ticket,) = shell.json("runs", "show", run)["pending"]
    shell.gert("approve", ticket["ticket_id"], "--as", "ann")
    first = shell.start("resume", run)
    wait_for(lambda: shell.events("step_attempt"), 60)
    copy = kept(shell, run)
    wait_for(lambda: effects(shell) == 3, 60)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=30)
    restored(shell, run, copy)
    assert shell.json("resume", run)["status"] == "approval_pending"
    assert effects(shell) == 3


@pytest.mark.parametrize("at", ["step_attempt", "step_complete"])
def test_a_paused_step_whose_process_was_killed_keeps_its_approval(shell, at):
    run = approved(shell, PAUSED.replace("act: after", "act: after, safe: true"))
    shell.gert("runs", "unblock", run, "--key", "window")
    killed_at(at, root=shell.root, run=run, environ=shell.environ)
    assert shell.json("resume", run)["status"] == "completed"
    assert len(shell.events("approval_submitted")) == 1


@pytest.mark.parametrize("change", ["content", "place", "tool", "later"])
def test_a_program_that_a_step_type_calls_is_bound_by_the_approval_of_the_step(shell, change):
    """The step names no tool: its type calls one, whose program is exchanged after the approval."""
    shell.book("- { id: hold, type: gate, act: after, keys: KEYS }".replace("KEYS", str(["window"] * (change == "later"))),
               tools="box", meta=RULES)  # fmt: skip
    run = str(shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"])
    (submitted,) = shell.events("approval_submitted")
    (bound,) = submitted["data"]["request"]["tools"].values()
    assert bound["program"] == str(shell.root / "bin" / "box")
    (ticket,) = shell.json("runs", "show", run)["pending"]
    shown = shell.gert("approvals", "show", ticket["ticket_id"], COLUMNS="300").stdout
    assert f"box do: {shell.root / 'bin' / 'box'}" in shown
    shell.gert("approve", ticket["ticket_id"], "--as", "ann")
    more: tuple[str, ...] = ()
    if change == "place":
        (shell.root / "first").mkdir()
        shutil.copy(shell.root / "bin" / "box", shell.root / "first" / "box")
        shell.environ["PATH"] = f"{shell.root / 'first'}:{shell.environ['PATH']}"
    elif change == "tool":
        shell.tool("box", '["sh", "-c", "echo evil >> effects"]', contract="{ effects: [x], writes: [x] }")
        more = ("--on-drift", "allow")
    elif change == "content":
        shell.program("box", "echo evil >> effects")
    else:  # while the step is paused
        shell.gert("resume", run)
        shell.gert("runs", "unblock", run, "--key", "window")
        shell.program("box", "echo evil >> effects")
    assert shell.json("resume", run, *more)["status"] == "approval_pending"
    assert effects(shell) == 0
    (void,) = shell.events("approval_void")
    assert void["data"]["changed"] == [*["documents"] * (change == "tool"), "tools"]


def test_a_program_exchanged_while_the_step_that_calls_it_runs_is_not_started(shell):
    """The step itself waits for a question at the terminal; the call is compared directly before it is made."""
    shell.program("swap", "echo '#!/bin/sh' > bin/box; echo 'echo evil >> effects' >> bin/box")
    shell.tool("swap", '["swap"]', contract="{ effects: [x], writes: [x] }")
    shell.book("- { id: hold, type: gate, first: swap, act: after }", tools="box, swap", meta=RULES)
    run = str(shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"])
    (ticket,) = shell.json("runs", "show", run)["pending"]
    shell.gert("approve", ticket["ticket_id"], "--as", "ann")
    done = shell.json("resume", run, code=1)
    assert (done["failure"]["kind"], effects(shell)) == ("approval_void", 0)
    assert (
        "box do is not what was approved with the step: its program was exchanged after that"
        in (done["failure"]["message"])
    )


def test_a_tool_whose_program_depends_on_inputs_is_not_called_under_an_approval(shell):
    text = "apiVersion: tool/v0\nmeta: { name: box, transport: stdio }\n"
    text += "contract: { effects: [x], writes: [x], inputs: { p: { type: string } } }\n"
    text += 'actions: { do: { argv: ["{{ .p }}"] } }\n'
    (shell.root / "tools" / "box.tool.yaml").write_text(text)
    shell.book("- { id: hold, type: gate, act: after, given: { p: box } }", tools="box", meta=RULES)
    run = str(shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"])
    (ticket,) = shell.json("runs", "show", run)["pending"]
    shell.gert("approve", ticket["ticket_id"], "--as", "ann")
    done = shell.json("resume", run, code=1)
    assert (done["failure"]["kind"], effects(shell)) == ("approval_void", 0)
