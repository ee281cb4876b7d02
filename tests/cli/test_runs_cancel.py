"""``gert runs cancel``, and ``block`` of a run that is being executed: it is asked to stop, wherever it is executed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time

import pytest
from executing import executing
from gertproc import COMMAND, Gert
from many_runs import write_run

from gert_core import host
from gert_core.engine.cancelling import cancel
from gert_core.stores.directory import DirectoryStore

BOOK = """\
apiVersion: kernel/v0
meta: { name: held }
tools: [slow]
steps:
  - { id: held, type: tool, tool: slow, action: held }
  - { type: end, outcome: { category: resolved } }
"""
SLOW = """\
apiVersion: tool/v0
meta: { name: slow }
contract: { effects: [host], idempotent: true }
actions:
  held: { argv: [sh, -c, "touch began; while [ ! -e go ]; do sleep 0.02; done"] }
"""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(book=BOOK, tool_slow=SLOW)
    return made


@pytest.mark.parametrize("store", ["file:runs", "sqlite:runs.db"])
def test_a_run_is_cancelled_and_goes_on_when_it_is_resumed(gert, tmp_path, store):
    at = ("--store", store)
    with executing(gert, *at) as process:
        said = gert("runs", "cancel", "latest", "--as", "alice", "--reason", "wrong server", *at)
        assert said.code == 0, said.all
        assert process.wait(30) == 1
        run = gert("runs", "list", "--ids", *at).out.strip()
        option = f" --store {store}"
        first, second, third = said.out.splitlines()
        assert first == f"Run {run} has stopped: it is cancelled."
        assert second == f"  next: gert resume --run {run}{option}  # resume the run where it stopped"
        assert third.startswith(f"    or: gert resume --run {run} --abort{option}  # ")
    lines = [json.loads(line) for line in gert("runs", "tail", run, "--json", *at).out.splitlines()]
    assert (lines[-1]["type"], lines[-1]["data"]["reason"]) == ("run_complete", "alice: wrong server")
    stands = gert("runs", "status", run, "--json", *at).document
    assert (stands["status"], stands["failure_reason"]) == ("cancelled", "alice: wrong server")
    assert gert("runs", "verify-ledger", run, *at).out == "valid\n"
    assert gert("resume", run, *at).code == 0, "the request is not left for the next process"


def test_what_is_not_executed_has_its_sentence(gert, tmp_path):
    over = write_run(tmp_path / "runs", "20260101T000000Z-many-1").name
    left = write_run(tmp_path / "runs", "20260102T000000Z-many-2", ending=None).name
    said = gert("runs", "cancel", over)
    assert (said.code, said.out, said.err) == (1, "", f"error: run {over} is over (completed)\n")
    said = gert("runs", "cancel", left)
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"error: run {left} is not being executed: it is interrupted\n"
        f"  hint: to end it for good: gert resume {left} --abort\n"
    )
    assert gert("runs", "cancel", left, "--json").document["error"]["kind"] == "not_running"
    assert gert("runs", "cancel", "nope").code == 2
    assert gert("runs", "cancel", left, "--as", "").code == 2


def test_a_command_that_does_not_look_gets_a_signal(gert, tmp_path):
    with executing(gert) as process:
        os.kill(process.pid, signal.SIGSTOP)
        threading.Timer(4, os.kill, (process.pid, signal.SIGCONT)).start()
        began = time.monotonic()
        said = gert("runs", "cancel", "latest")
        assert said.code == 0, said.all
        assert time.monotonic() - began >= 3
        assert process.wait(30) in (143, 1)
    assert gert.events()[-1]["data"]["status"] == "cancelled"


def test_a_host_gets_no_signal_and_only_that_run_stops(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.yaml").write_text(BOOK.replace("name: held", "name: other"))
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("a host was sent a signal"))
    results = {}

    def run(name):
        results[name] = host.run(f"{name}.yaml")

    threads = [threading.Thread(target=run, args=(name,)) for name in ("book", "other")]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 30
    while (
        len([path for path in gert.runs() if (path / "trace.jsonl").exists()]) < 2 or not (tmp_path / "began").exists()
    ):
        assert time.monotonic() < until
        time.sleep(0.02)
    (held,) = [path.name for path in gert.runs() if "-held-" in path.name]
    stands = cancel(held, store=DirectoryStore(tmp_path / "runs"), by="alice", environ={})
    assert (stands.status, stands.failure_reason) == ("cancelled", "alice")
    threads[0].join(20)
    assert str(results["book"].status) == "cancelled"
    (tmp_path / "go").touch()
    threads[1].join(20)
    assert str(results["other"].status) == "completed"


def test_a_request_for_a_process_that_is_gone_is_dropped(gert, tmp_path):
    with executing(gert) as process:
        folder = gert.run() / "control"
        folder.mkdir()
        request = {"by": "bob", "reason": "", "worker": "elsewhere:1:exec", "fence": 0}
        (folder / "cancel.json").write_text(json.dumps(request))
        until = time.monotonic() + 10
        while (folder / "cancel.json").exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        (tmp_path / "go").touch()
        assert process.wait(30) == 0


def test_a_plain_request_of_another_program_is_obeyed(gert, tmp_path):
    with executing(gert) as process:
        (gert.run() / "control").mkdir()
        (gert.run() / "control" / "cancel.json").write_text('{"by": "bob", "reason": "stop"}')
        assert process.wait(30) == 1
    assert gert.events()[-1]["data"]["reason"] == "bob: stop"


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{"])
def test_what_is_not_a_request_stops_nothing(gert, tmp_path, content):
    with executing(gert) as process:
        (gert.run() / "control").mkdir()
        (gert.run() / "control" / "cancel.json").write_bytes(content)
        time.sleep(1.5)
        (tmp_path / "go").touch()
        assert process.wait(30) == 0


@pytest.mark.parametrize("store", ["file:runs", "sqlite:runs.db"])
def test_life_block_of_a_run_that_is_executed_stops_it_before_its_next_step(gert, tmp_path, store):
    at = ("--store", store)
    with executing(gert, *at) as process:
        said = gert("runs", "block", "latest", "--key", "k", "--as", "alice", "--reason", "freeze", *at)
        run = gert("runs", "list", "--ids", *at).out.strip()
        assert said.code == 0, said.all
        assert said.out == f"Run {run} is being executed, and will be blocked on k before its next step.\n"
        assert process.poll() is None, "the step goes on"
        (tmp_path / "go").touch()
        assert process.wait(30) == 0
    lines = [json.loads(line) for line in gert("runs", "tail", run, "--json", *at).out.splitlines()]
    (held,) = [line for line in lines if line["type"] == "step_complete"]
    assert (held["step_key"], held["data"]["status"]) == ("held", "success")
    last = lines[-1]
    assert (last["type"], last["data"]["status"], last["data"]["unblock_key"]) == ("run_suspended", "blocked", "k")
    assert last["data"]["block"] == {"key": "k", "actor": "alice", "message": "freeze"}
    stands = gert("runs", "status", run, "--json", *at).document
    assert (stands["status"], stands["blocked_on"]) == ("blocked", [{"kind": "unblock", "key": "k"}])
    error = gert("resume", run, "--json", *at).document["error"]
    assert (error["kind"], error["message"]) == ("run_blocked", f"run {run} is blocked on k: freeze")
    assert gert("runs", "unblock", run, "--key", "k", *at).code == 0
    assert gert("resume", run, "--json", *at).document["status"] == "completed"
    assert gert("runs", "verify-ledger", run, *at).out == "valid\n"
    assert gert("runs", "tail", run, *at).out.count("step_start\theld") == 1


def test_life_block_is_not_lost_when_the_process_is_killed_before_its_next_step(gert, tmp_path):
    with executing(gert) as process:
        assert gert("runs", "block", "latest", "--key", "k", "--as", "alice").code == 0
        process.kill()
        process.wait(30)
        (tmp_path / "go").touch()
    run = gert.run().name
    said = gert("resume", run, "--json")
    assert (said.code, said.document["status"]) == (0, "blocked"), said.all
    assert gert("resume", run, "--json").document["error"]["kind"] == "run_blocked"
    assert gert("runs", "unblock", run, "--key", "k").code == 0
    assert gert("resume", run, "--json").document["status"] == "completed"


def test_a_run_that_is_to_be_blocked_can_still_be_cancelled(gert, tmp_path):
    with executing(gert) as process:
        assert gert("runs", "block", "latest", "--key", "k", "--as", "alice").code == 0
        assert gert("runs", "cancel", "latest", "--as", "bob").code == 0
        assert process.wait(30) == 1
    assert gert.events()[-1]["data"]["reason"] == "bob"


def test_a_run_that_ends_before_it_is_blocked_is_over(gert, tmp_path):
    with executing(gert) as process:
        os.kill(process.pid, signal.SIGSTOP)
        (tmp_path / "go").touch()
        threading.Timer(0.5, os.kill, (process.pid, signal.SIGCONT)).start()
        said = gert("runs", "block", "latest", "--key", "k", "--json")
        process.wait(30)
    error = said.document.get("error")
    if error is None:  # it looked before its last step
        assert gert.events()[-1]["data"]["status"] == "blocked"
    else:
        assert (said.code, error["kind"]) == (1, "not_resumable"), said.all
        assert "is over (completed)" in error["message"]


def test_a_cancelled_command_says_who_cancelled_it(gert, tmp_path):
    with subprocess.Popen(
        [*COMMAND, "exec", "book.yaml"], cwd=tmp_path, stdout=subprocess.PIPE, env=gert.environ
    ) as process:
        until = time.monotonic() + 30
        while not (tmp_path / "began").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        assert gert("runs", "cancel", "latest", "--as", "alice").code == 0
        told = process.communicate(timeout=30)[0].decode()
    assert "cancelled by alice" in told
