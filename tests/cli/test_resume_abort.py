"""Cleanup at the command line: an interrupted deployment is resumed or aborted, a failed one retried, each with its words."""

from __future__ import annotations

import re
import shlex
import signal

import pytest
from shell import Shell, chain_is_whole, wait_for

BLOCK = """
- id: deploy
  type: block
  steps:
    - { id: lock, type: tool, tool: note, inputs: { what: lock } }
    - { id: push, type: tool, tool: slow }
  on_failure:
    - { id: undo, type: tool, tool: note, inputs: { what: "undo {{ .failure.step }}" } }
  finally:
    - { id: unlock, type: tool, tool: note, inputs: { what: unlock } }
- { id: after, type: tool, tool: note, inputs: { what: after } }
"""
NOTE = "{ effects: [filesystem], writes: [notes], idempotent: false, inputs: { what: { type: string } } }"


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.program("note", 'echo "$1" >> notes')
    made.program("slow", "touch pushing; [ -e fast ] && exit ${CODE:-0}; exec sleep 60")
    made.tool("note", '[note, "{{ .what }}"]', contract=NOTE)
    made.tool("slow", "[slow]", contract="{ effects: [pushes], writes: [registry], idempotent: false }")
    made.book(BLOCK, tools="note, slow")
    return made


def notes(shell: Shell) -> list[str]:
    return (shell.root / "notes").read_text().splitlines()


@pytest.fixture
def interrupted(shell) -> tuple[Shell, str, str]:
    """A deployment that Ctrl-C ended while it pushed: the shell, the run's id and what gert said."""
    running = shell.start("exec", "book.yaml")
    wait_for((shell.root / "pushing").exists)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=30)
    assert running.returncode == 130
    return shell, shell.runs()[0].name, said


def test_an_interrupt_cleans_nothing_up_and_names_the_abort(interrupted):
    shell, run, said = interrupted
    assert notes(shell) == ["lock"]
    unknown = "it writes, is not idempotent and was interrupted"
    assert f"  cannot determine whether deploy/0/push took effect: {unknown}\n" in said
    lines = said.splitlines()
    look = "first find out whether deploy/0/push took effect: it was interrupted"
    at = lines.index(f"  next: gert runs show {run} --step deploy/0/push  # {look}")
    assert lines[at + 1 :] == [
        f"  then: gert resume --run {run} --reconcile deploy/0/push=done  # deploy/0/push took effect: go on",
        "    or: …=redo  # deploy/0/push did not take effect: run it again",
        "    or: …=failed  # deploy/0/push did not take effect: let it fail",
        f"    or: gert resume --run {run} --abort  # end the run for good, after its open cleanup",
    ]


def test_an_interrupted_run_without_a_failed_step_is_to_be_resumed(shell):
    shell.tool("slow", "[slow]", contract="{ effects: [pushes], reads: [registry], idempotent: true }")
    running = shell.start("exec", "book.yaml")
    wait_for((shell.root / "pushing").exists)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    run = shell.runs()[0].name
    refused = shell.gert("resume", run, "--retry-failed", code=1).stderr
    told = f"error: run {run} has no failed step to run again: no step failed"
    command = f"gert resume --run {run}"
    assert refused == f"{told}\n  hint: resume it where it stopped: {command}\n"
    (shell.root / "fast").touch()
    shell.gert(*shlex.split(command)[1:])
    assert notes(shell) == ["lock", "unlock", "after"]


def test_the_command_after_an_interrupt_works_with_one_of_its_choices(interrupted):
    shell, _, said = interrupted
    command = re.search(r"then: gert (.*)  # deploy/0/push took effect", said)[1]
    shell.gert(*shlex.split(command))
    assert notes(shell) == ["lock", "unlock", "after"]


def test_an_abort_takes_no_decision_about_a_step_that_it_leaves_as_it_is(interrupted):
    shell, run, _ = interrupted
    refused = shell.gert("resume", "--run", run, "--abort", "--reconcile", "deploy/0/push=done", code=2)
    told = "a run that is aborted leaves deploy/0/push as it is, so --reconcile has no effect on it"
    assert told in refused.stderr
    assert "hint: leave --reconcile out: it is for interrupted steps of cleanup" in refused.stderr
    assert notes(shell) == ["lock"]


def test_an_abort_runs_the_cleanup_and_nothing_else(interrupted):
    shell, run, _ = interrupted
    done = shell.gert("resume", "--run", run, "--abort", code=1)
    assert notes(shell) == ["lock", "undo push", "unlock"]
    assert "✗ Run cancelled [real]\n  it was aborted, after its cleanup; nothing is left to resume\n" in done.stdout
    assert chain_is_whole(shell.trace())
    again = shell.gert("resume", "--run", run, code=1)
    assert "nothing was executed" in again.stdout
    assert notes(shell) == ["lock", "undo push", "unlock"]
    assert shell.json("runs", "show", run)["status"] == "cancelled"


CALLER = """
- { id: before, type: tool, tool: note, inputs: { what: "before" } }
- { id: deployment, type: runbook, runbook: child.yaml }
- { id: after, type: tool, tool: note, inputs: { what: "after" } }
"""


def test_an_abort_runs_the_cleanup_of_an_included_runbook_too(shell):
    shell.book(BLOCK, tools="note, slow")
    (shell.root / "book.yaml").rename(shell.root / "child.yaml")
    shell.book(CALLER, tools="note")
    running = shell.start("exec", "book.yaml")
    wait_for((shell.root / "pushing").exists)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert notes(shell) == ["before", "lock"]
    shell.gert("resume", "--run", "latest", "--abort", code=1)
    assert notes(shell) == ["before", "lock", "undo push", "unlock"]
    assert shell.json("runs", "show", "latest")["status"] == "cancelled"
    assert chain_is_whole(shell.trace())


def test_a_failed_deployment_is_retried_as_a_whole_and_says_so(shell):
    (shell.root / "fast").touch()
    undo = 'tool: note, inputs: { what: "undo {{ .failure.step }}" }'
    shell.book(BLOCK.replace(undo, "tool: slow"), tools="note, slow")
    failed = shell.gert("exec", "book.yaml", code=1, CODE="1")
    run = shell.trace().parent.name
    whole = f"  next: gert resume --run {run} --retry-failed --yes  # "
    (told,) = [line for line in failed.stdout.splitlines() if line.startswith(whole)]
    assert told.endswith(
        "run deploy/0/lock, deploy/0/push, deploy/1/undo, deploy/2/unlock again, which may have taken effect before"
    )
    refused = shell.gert("resume", "--run", run, "--retry-failed", code=1)
    assert (
        "deploy/0/lock, deploy/2/unlock would run again: they write, are not idempotent and succeeded" in refused.stderr
    )
    assert f"gert resume --run {run} --retry-failed --yes;" in refused.stderr
    assert notes(shell) == ["lock", "unlock"]
    shell.gert("resume", "--run", run, "--retry-failed", "--yes")
    assert notes(shell) == ["lock", "unlock", "lock", "unlock", "after"]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ("--abort", "--retry-failed"),
            "error: --abort runs no failed step again\n  hint: use either --abort or --retry-failed\n",
        ),
        (("--yes",), "error: --yes is for --retry-failed\n  hint: add --retry-failed, or leave --yes out\n"),
    ],
)
def test_flags_that_do_not_fit_together(shell, flags, told):
    assert shell.gert("resume", "--run", "x", *flags, code=2).stderr == told


def test_the_screen_shows_cleanup_and_a_dry_run_shows_it_as_maybe(shell):
    (shell.root / "fast").touch()
    seen = shell.gert("exec", "book.yaml", CODE="1").stderr
    assert "  ! push  tool" in seen, "it is handled, so the run goes on"
    assert "  ✓ undo  tool" in seen
    dry = shell.gert("exec", "book.yaml", "--mode", "dry-run")
    assert "? on_failure: whether steps fails is known only in a real run" in dry.stdout + dry.stderr


def test_cleanup_of_an_abort_reads_what_came_of_each_step(interrupted):
    """The step that was interrupted has started, and it is not known to have ended: it is not one that did not run."""
    shell, run, _ = interrupted
    words = "{{ .lock.status }} {{ .push.status }} {{ .step.push.status }} {{ .never.status }} {{ .deploy.status }}"
    book = (shell.root / "book.yaml").read_text()
    book = book.replace('"undo {{ .failure.step }}"', f'"{words}"')
    book = book.replace("  on_failure:", "    - { id: never, type: tool, tool: slow }\n    on_failure:")
    (shell.root / "book.yaml").write_text(book)
    shell.gert("resume", "--run", run, "--abort", "--on-drift", "allow", code=1)
    assert notes(shell) == ["lock", "success running running not_run running", "unlock"]


def test_an_abort_says_that_the_effect_of_an_interrupted_step_is_unknown(interrupted):
    shell, run, _ = interrupted
    unknown = "cannot determine whether deploy/0/push took effect: it writes, is not idempotent and was interrupted\n"
    assert f"nothing is left to resume\n  {unknown}" in shell.gert("resume", run, "--abort", code=None).stdout


GATE = """
- id: both
  type: parallel
  branches:
    - steps: [ { id: gate, type: approval, message: Go on? } ]
    - steps: [ { id: look, type: manual, instructions: Look. } ]
"""


def test_nobody_can_answer_what_an_aborted_run_asked(shell):
    shell.book(GATE)
    shell.gert("exec", "book.yaml", "--approval", "inbox", "--questions", "suspend", code=None)
    run = shell.runs()[0].name
    (ticket,) = [one["ticket_id"] for one in shell.json("approvals", "list")["approvals"]]
    ended = shell.json("resume", run, "--abort", code=None)
    assert (ended["status"], ended["pending"], ended["questions"]) == ("cancelled", [], [])
    refused = shell.gert("approve", ticket, "--as", "alice", code=1)
    assert refused.stderr.startswith(f"error: run {run} was aborted, and ticket {ticket} with it\n")
    assert shell.gert("reject", ticket, "--as", "alice", code=1).stderr == refused.stderr
    refused = shell.gert("answer", run, "look", "confirm=yes", code=1)
    assert refused.stderr.startswith(f"error: run {run} was aborted, and asks nothing any more\n")
    assert shell.json("approvals", "list")["approvals"] == []
    assert [one["status"] for one in shell.json("approvals", "list", "--all")["approvals"]] == ["aborted"]
    shown = shell.json("runs", "show", run)
    assert (shown["pending"], shown["questions"]) == ([], [])
    assert "answer with" not in shell.gert("runs", "show", run).stdout


def test_json_has_the_later_failures_behind_the_first(shell):
    failing = BLOCK.replace("tool: slow", "tool: broken").replace('"undo {{ .failure.step }}"', "undo")
    failing = failing.replace(
        "id: undo, type: tool, tool: note, inputs: { what: undo }", "id: undo, type: tool, tool: broken"
    )
    shell.program("broken", "exit 4")
    shell.tool("broken", "[broken]", contract="{ effects: [], idempotent: true }")
    shell.book(failing, tools="note, broken")
    ended = shell.json("exec", "book.yaml", code=1)
    assert [(one["step_key"], one["kind"]) for one in ended["failures"]] == [
        ("deploy/0/push", "exit_code"),
        ("deploy/1/undo", "exit_code"),
    ]
    assert ended["failure"] == ended["failures"][0]
    assert shell.json("resume", ended["run_id"], code=1)["failures"] == ended["failures"], "read from the trace"


@pytest.mark.parametrize(
    "asks", ["{ id: wanted, type: approval, message: go on? }", "{ id: wanted, type: manual, instructions: do }"]
)
def test_cleanup_that_asks_waits_for_nothing_that_the_abort_gave_up(shell, asks):
    """Only what the cleanup waits for is advised, and what nobody waits for is not pending."""
    shell.book(
        f"""
- id: deploy
  type: block
  steps: [ {asks}, {{ id: push, type: tool, tool: note, inputs: {{ what: push }} }} ]
  finally: [ {{ id: told, type: manual, instructions: tell the others }} ]
""",
        tools="note",
    )
    shell.gert("exec", "book.yaml", "--approval", "inbox", "--questions", "suspend", code=None)
    run = shell.runs()[0].name
    asked = shell.gert("resume", run, "--abort", "--questions", "suspend", code=None)
    assert f"gert answer {run} deploy/2/told" in asked.stdout
    assert "deploy/0/wanted" not in re.sub(r"  approvals: .*\n", "", asked.stdout)
    assert "gert approve" not in asked.stdout
    assert shell.json("approvals", "list")["approvals"] == [], "nobody is asked for what is not waited for"
    for one in shell.json("approvals", "list", "--all")["approvals"]:
        assert one["status"] == "withdrawn"
        refused = shell.gert("approve", one["ticket_id"], "--as", "alice", code=1).stderr
        told = f"error: run {run} is being aborted, and does not wait for ticket {one['ticket_id']} any more\n"
        assert refused.startswith(told)
    shell.gert("answer", run, "deploy/2/told", "confirm=yes", code=None)
    ended = shell.gert("resume", run, code=None).stdout
    assert "it was aborted, after its cleanup" in ended
    withdrawn = "  approvals: deploy/0/wanted withdrawn\n" in ended
    assert withdrawn == ("approval" in asks)
    assert "pending" not in asked.stdout.replace("Answer pending", "") + ended
