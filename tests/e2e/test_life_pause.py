"""Runs that wait to be unblocked: a step pauses, or an operator blocks the run; ``gert runs unblock`` and resume."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess

import pytest
from crash import SITE
from gates import effects, install
from shell import Shell, chain_is_whole, wait_for

import gert_core
from gert_core.api import RunError
from gert_core.keys import TRACE
from gert_core.runs.fold import fold
from gert_core.trace.reader import read

ONE = "- { id: hold, type: gate, keys: [window], reason: the change window, act: after }"
MANY = bool(os.environ.get("GERT_FUZZ"))


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    install(made)
    return made


def paused(shell: Shell, steps: str = ONE, **more: str) -> str:
    """Start a run that a step of it pauses; return its id."""
    shell.book(steps, tools="box", **more)
    return str(shell.json("exec", "book.yaml")["run_id"])


def failure(shell: Shell, *args: str, code: int = 1, **environ: str) -> dict[str, str]:
    error: dict[str, str] = shell.json(*args, code=code, **environ)["error"]
    return error


def test_life_block_unblock_a_step_pauses_until_it_is_unblocked(shell):
    shell.book(ONE, tools="box")
    said = shell.gert("exec", "book.yaml", "--pending-exit-code", "75", code=75)
    run = shell.trace().parent.name
    assert "waits to be unblocked (window)" in said.stderr
    lines = said.stdout.splitlines()
    assert lines[:2] == ["  step hold waits for window: the change window", "Blocked [real]"]
    assert lines[-2:] == [
        f"  next: gert runs unblock {run} --key window  # unblock the run: the change window",
        f"  then: gert resume --run {run}  # resume the run when it is unblocked",
    ]
    (asked,) = shell.events("pause_requested")
    assert asked["step_key"] == "hold"
    assert asked["data"] == {
        "step_id": "hold",
        "unblock_key": "window",
        "reason": "the change window",
        "metadata": {"step": "hold"},
    }
    last = shell.events()[-1]
    assert (last["type"], last["data"]["status"], last["data"]["unblock_key"]) == ("run_suspended", "blocked", "window")
    (listed,) = shell.json("runs", "list")["runs"]
    assert (listed["status"], listed["blocked_on"]) == ("blocked", [{"kind": "unblock", "key": "window"}])
    shown = shell.json("runs", "show", run)
    assert shown["resume_point"] == {"needs": "unblock", "steps": ["hold"]}
    assert [step["status"] for step in shown["steps"]] == ["blocked"]
    assert shown["progress"]["interrupted"] == []
    assert shown["blocked"][0]["unblock_key"] == "window"
    assert f"next: gert runs unblock {run} --key window" in shell.gert("runs", "show", run).stderr
    stands = gert_core.status(run, root=shell.root / "runs")
    assert (stands.lifecycle, [str(one) for one in stands.blocked_on]) == ("paused", ["unblock:window"])
    refused = failure(shell, "resume", run)
    assert (refused["kind"], refused["message"]) == (
        "run_blocked", f"run {run} is blocked on window: the change window",
    )  # fmt: skip
    assert refused["hint"] == f"gert runs unblock {run} --key window, then resume it"
    assert effects(shell) == 0
    freed = shell.gert("runs", "unblock", run, "--key", "window", "--as", "alice")
    assert freed.stdout == f"Unblocked window.\n  next: gert resume --run {run}\n"
    resumed, queued = shell.events()[-2:]
    assert (resumed["type"], resumed["data"]["reason"], resumed["data"]["actor"]) == ("run_resumed", "unblock", "alice")
    assert (queued["type"], queued["data"]["status"]) == ("run_suspended", "queued")
    stands = gert_core.status(run, root=shell.root / "runs")
    assert (stands.status, stands.lifecycle, stands.blocked_on) == ("queued", "active", ())
    assert gert_core.progress(run, root=shell.root / "runs").status == "queued"
    assert [one.run_id for one in gert_core.active(root=shell.root / "runs")] == [run]
    done = shell.json("resume", run)
    assert (done["outcome"]["code"], effects(shell)) == ("ok", 1)
    assert "blocked" not in done
    (complete,) = [event for event in shell.events("step_complete") if event["step_key"] == "hold"]
    assert complete["data"]["detail"] == {"attempt": 1}, "a pause is not another attempt"
    assert shell.json("runs", "show", run)["resumed"] == 1, "unblocking executes nothing"
    assert chain_is_whole(shell.trace())
    assert shell.gert("trace", "verify", str(shell.trace())).returncode == 0
    assert failure(shell, "runs", "unblock", run, "--key", "window")["kind"] == "not_blocked"


def test_life_wrong_key_is_refused_and_nothing_is_written(shell):
    run = paused(shell)
    before = shell.trace().read_bytes()
    wrong = failure(shell, "runs", "unblock", run, "--key", "windows")
    assert (wrong["kind"], wrong["message"]) == ("unblock_key", f"run {run} is blocked on window, not on windows")
    for key in ("", " window", "a\nb", "x" * 201):
        assert failure(shell, "runs", "unblock", run, "--key", key, code=2)["kind"] == "usage"
    assert failure(shell, "runs", "unblock", "nope", "--key", "window", code=2)["kind"] == "run_not_found"
    assert shell.trace().read_bytes() == before
    assert shell.gert("runs", "unblock", run, code=2).stderr.startswith("error: ")


def test_life_block_an_operator_keeps_a_run_from_going_on(shell):
    shell.book("- { id: gate, type: approval, message: May it go on? }")
    run = shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"]
    idle = failure(shell, "runs", "unblock", run, "--key", "freeze")
    assert (idle["kind"], idle["message"]) == ("not_blocked", f"run {run} is not blocked: it is approval_pending")
    blocked = shell.json("runs", "block", run, "--key", "freeze", "--reason", "until Monday", "--as", "bob")
    assert (blocked["status"], blocked["lifecycle"], blocked["last_event_type"]) == (
        "blocked",
        "paused",
        "run_suspended",
    )
    assert blocked["blocked_on"] == [{"kind": "approval", "key": "gate"}, {"kind": "unblock", "key": "freeze"}]
    resumed, suspended = shell.events()[-2:]
    assert {name: resumed["data"][name] for name in ("reason", "unblock_key", "message", "actor")} == {
        "reason": "block", "unblock_key": "freeze", "message": "until Monday", "actor": "bob",
    }  # fmt: skip
    assert (suspended["data"]["status"], suspended["data"]["unblock_key"]) == ("blocked", "freeze")
    (ticket,) = shell.json("approvals", "list")["approvals"]
    shell.gert("approve", ticket["ticket_id"], "--as", "carol")
    refused = failure(shell, "resume", run)
    assert (refused["kind"], refused["message"]) == ("run_blocked", f"run {run} is blocked on freeze: until Monday")
    assert failure(shell, "resume", run, "--abort")["kind"] == "run_blocked"
    assert failure(shell, "runs", "block", run, "--key", "freeze")["kind"] == "run_blocked"
    shell.gert("runs", "block", run, "--key", "audit")
    first = shell.json("runs", "unblock", run, "--key", "freeze")
    assert (first["status"], first["blocked_on"][-1]) == ("blocked", {"kind": "unblock", "key": "audit"})
    assert failure(shell, "resume", run)["kind"] == "run_blocked"
    assert shell.json("runs", "unblock", run, "--key", "audit")["status"] == "approval_pending"
    done = shell.json("resume", run)
    assert done["outcome"]["code"] == "ok"
    over = failure(shell, "runs", "block", run, "--key", "freeze")
    assert (over["kind"], over["message"].partition(" is ")[2]) == (
        "not_resumable", "over (completed), so that nothing of it can be blocked",
    )  # fmt: skip
    assert chain_is_whole(shell.trace())


def test_life_unblock_of_a_run_that_is_executed_is_refused(shell):
    shell.program("slow", "while [ ! -e go ]; do sleep 0.02; done")
    shell.tool("slow", '["slow"]')
    shell.book("- { id: slow, type: tool, tool: slow, inputs: {} }", tools="slow")
    process = shell.start("exec", "book.yaml")
    wait_for(lambda: shell.runs() and shell.trace().exists() and shell.events("step_start"))
    run = shell.trace().parent.name
    assert failure(shell, "runs", "unblock", run, "--key", "x")["kind"] == "run_locked"
    (shell.root / "go").touch()
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_an_interrupted_run_can_be_blocked_and_goes_on_after_it(shell):
    shell.program("slow", "while [ ! -e go ]; do sleep 0.02; done")
    shell.tool("slow", '["slow"]')
    shell.book("- { id: slow, type: tool, tool: slow, inputs: {} }", tools="slow")
    process = shell.start("exec", "book.yaml")
    wait_for(lambda: shell.runs() and shell.trace().exists() and shell.events("step_start"))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    (shell.root / "go").touch()
    run = shell.trace().parent.name
    wait_for(lambda: gert_core.status(run, root=shell.root / "runs").status == "interrupted")
    shell.gert("runs", "block", run, "--key", "look")
    assert failure(shell, "resume", run)["kind"] == "run_blocked"
    assert shell.json("runs", "unblock", run, "--key", "look")["status"] == "queued"
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


def test_a_step_may_pause_several_times_also_with_one_key(shell):
    run = paused(shell, "- { id: hold, type: gate, keys: [a, b, a], act: after }")
    for key in ("a", "b", "a"):
        assert [one.key for one in gert_core.status(run, root=shell.root / "runs").blocked_on] == [key]
        shell.gert("runs", "unblock", run, "--key", key)
        done = shell.json("resume", run)
    assert (done["outcome"]["code"], effects(shell)) == ("ok", 1)
    assert [event["data"]["unblock_key"] for event in shell.events("pause_requested")] == ["a", "b", "a"]


def test_branches_pause_apart_and_what_one_key_unblocks_goes_on_together(shell):
    shell.book(
        """
        - id: both
          type: parallel
          branches:
            - { label: one, steps: [{ id: one, type: gate, free: true, keys: [shared] }] }
            - { label: two, steps: [{ id: two, type: gate, free: true, keys: [shared, own] }] }
            - { label: three, steps: [{ id: ask, type: approval, message: May it go on? }] }
        """
    )
    document = shell.json("exec", "book.yaml", "--approval", "inbox")
    run = document["run_id"]
    assert (document["status"], [one["unblock_key"] for one in document["blocked"]]) == (
        "approval_pending", ["shared", "shared"],
    )  # fmt: skip
    (ticket,) = shell.json("approvals", "list")["approvals"]
    shell.gert("approve", ticket["ticket_id"], "--as", "carol")
    assert shell.json("resume", run)["status"] == "blocked", "what is not paused goes on"
    assert len(shell.events("pause_requested")) == 2, "a pause is requested once"
    assert failure(shell, "resume", run)["kind"] == "run_blocked"
    assert shell.json("runs", "unblock", run, "--key", "shared")["status"] == "queued"
    assert shell.json("resume", run)["status"] == "blocked"
    assert shell.json("runs", "unblock", run, "--key", "own")["status"] == "queued"
    assert shell.json("resume", run)["outcome"]["code"] == "ok"


def test_a_step_that_acted_is_paused_only_if_it_may_act_again(shell):
    shell.book("- { id: hold, type: gate, keys: [window], act: before }", tools="box")
    done = shell.json("exec", "book.yaml", code=1)
    assert done["failure"]["kind"] == "pause_refused"
    assert "the step acted before it paused" in done["failure"]["message"]
    shell.tool("box", '["box"]', contract="{ effects: [x], writes: [x], idempotent: true }")
    run = paused(shell, "- { id: hold, type: gate, keys: [window], act: before, safe: true }")
    shell.gert("runs", "unblock", run, "--key", "window")
    assert shell.json("resume", run)["outcome"]["code"] == "ok"
    assert effects(shell) == 3, "it acts again"


@pytest.mark.parametrize("mode", ["replay", "dry-run", "probe"])
def test_nothing_waits_where_nothing_is_real(shell, mode):
    shell.book("- { id: hold, type: gate, keys: [window], safe: true }", tools="box")
    shell.write("scenarios/book/s/scenario.yaml", "description: nothing is needed\n")
    options = ["--scenario", "s"] if mode == "replay" else []
    done = shell.json("exec", "book.yaml", "--mode", mode, "--keep", *options)
    assert done["status"] == "completed"
    assert shell.events("pause_requested") == []


def test_the_secrets_of_a_run_are_not_in_what_blocks_it(shell):
    shell.environ["TOKEN"] = "s3cr3t-word-1"
    secret = "secrets: [{ env: TOKEN }]\ninputs: { token: { from: env/TOKEN, secret: true } }"
    shell.book("- { id: hold, type: gate, keys: [window], reason: 'with {{ .token }}' }", meta=secret)
    run = shell.json("exec", "book.yaml")["run_id"]
    shell.gert("runs", "block", run, "--key", "x", "--reason", "not s3cr3t-word-1")
    assert "s3cr3t-word-1" not in shell.trace().read_text()
    assert failure(shell, "runs", "block", run, "--key", "s3cr3t-word-1", code=2)["kind"] == "usage"
    shell.book("- { id: hold, type: gate, keys: ['k-{{ .token }}'] }", meta=secret)
    done = shell.json("exec", "book.yaml", code=1)
    assert "the key of a pause has a secret in it" in done["failure"]["message"]
    assert "s3cr3t-word-1" not in shell.trace().read_text()


def test_a_signed_run_is_blocked_only_with_its_key(shell):
    signed = {TRACE.signing_key: "hmac-sha256:" + "a2V5" * 10}
    shell.book(ONE, tools="box")
    run = shell.json("exec", "book.yaml", **signed)["run_id"]
    for verb, key in (("block", "x"), ("unblock", "window")):
        assert failure(shell, "runs", verb, run, "--key", key)["kind"] == "signing_key_missing"
    shell.gert("runs", "unblock", run, "--key", "window", **signed)
    assert shell.json("resume", run, **signed)["outcome"]["code"] == "ok"


def test_the_functions_do_what_the_commands_do(shell, monkeypatch):
    monkeypatch.chdir(shell.root)
    run, root = paused(shell), shell.root / "runs"
    with pytest.raises(RunError, match="not on other"):
        gert_core.unblock(run, root=root, key="other")
    blocked = gert_core.block("latest", root=root, key="other", reason="why", by="bob", environ={})
    assert [str(one) for one in blocked.blocked_on] == ["unblock:window", "unblock:other"]
    assert gert_core.unblock(run, root=root, key="window", environ={}).status == "blocked"
    assert gert_core.unblock(run, root=root, key="other", environ={}).status == "queued"
    assert gert_core.resume_point(run, root=root).needs == "resume"


def test_the_commands_on_the_screen_work_as_they_are(shell):
    shell.book("- { id: hold, type: gate, keys: ['it''s time; go'] }", tools="box")
    shell.program("gert", f'exec {shlex.join(shell.command())} "$@"')
    said = shell.gert("exec", "book.yaml").stdout
    for lead in ("  next: ", "  then: "):
        (line,) = [line.removeprefix(lead) for line in said.splitlines() if line.startswith(lead)]
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, check=False, cwd=shell.root, env=shell.environ
        )
        assert done.returncode == 0, done.stderr
    assert "resolved (ok)" in done.stdout


# -- crashes -----------------------------------------------------------------------------------------------------------

POINTS = [(part, line) for part, lines in enumerate((6, 2, 10)) for line in range(1, lines + 1)]
SAMPLE = [(0, 4), (0, 5), (0, 6), (1, 1), (1, 2), (2, 2), (2, 3)]


def drive(shell: Shell, part: int | None = None, line: int = 0) -> list[int]:
    """Start, unblock and resume the run to its end, as a person would; one process of it dies after a line."""
    kills = {part: {"KILL_LINE": str(line)}} if part is not None else {}
    shell.book(ONE, tools="box")
    codes = [shell.gert("exec", "book.yaml", code=None, **kills.pop(0, {})).returncode]
    for _ in range(12):
        state = fold(read(shell.trace()))
        run = state.run_id
        if state.over:
            return codes
        if state.holds:
            codes.append(
                shell.gert("runs", "unblock", run, "--key", "window", code=None, **kills.pop(1, {})).returncode
            )
            continue
        more = []
        for record in state.unknown_outcomes:
            more += ["--reconcile", f"{record.key}={'done' if effects(shell) else 'redo'}"]
        codes.append(shell.gert("resume", run, *more, code=None, **kills.pop(2, {})).returncode)
    raise AssertionError(codes)


def test_the_run_writes_as_many_lines_as_the_kills_below_count_on(shell):
    assert drive(shell) == [0, 0, 0]
    ends = [event["seq"] for event in shell.events("run_suspended", "run_complete")]
    assert ends == [6, 8, 18], json.dumps([event["type"] for event in shell.events()])


@pytest.mark.parametrize(("part", "line"), POINTS if MANY else SAMPLE)
def test_killed_after_any_line_it_is_requested_once_and_acts_once(shell, part, line):
    shell.write("site/sitecustomize.py", SITE)
    codes = drive(shell, part, line)
    assert -signal.SIGKILL in codes
    assert codes[-1] == (0 if (part, line) != POINTS[-1] else -signal.SIGKILL), codes
    state = fold(read(shell.trace()))
    assert (state.status, (state.outcome or {}).get("code")) == ("completed", "ok")
    assert effects(shell) == 1
    assert len(shell.events("pause_requested")) == 1
    keys = [event["step_key"] for event in shell.events("step_complete")]
    assert sorted(keys) == ["done", "hold"]
    assert chain_is_whole(shell.trace())
