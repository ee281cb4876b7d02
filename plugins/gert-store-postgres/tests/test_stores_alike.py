"""The same runs through the command line on a directory, a SQLite file and a PostgreSQL database: the same traces."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal

import pytest
from shell import alive, wait_for
from store_shells import (
    CRASH,
    DATABASES,
    REPEATABLE,
    RISKY,
    SHORT,
    alike,
    change,
    each,
    executing,
    killed,
    lines,
)

MET = """
- id: check
  type: assert
  assert: [{ type: equals, value: "1", expected: "1" }]
- { id: look, type: tool, tool: look, action: do }
- id: both
  type: parallel
  branches:
    - { label: one, steps: [{ id: first, type: tool, tool: change, action: do, inputs: { what: one } }] }
    - { label: two, steps: [{ id: second, type: tool, tool: change, action: do, inputs: { what: two } }] }
- { id: flaky, type: tool, tool: flaky, action: do, retry: { max: 2, delay: 0.01s } }
- { id: gate, type: approval, message: May it go on? }
- { id: sure, type: manual, instructions: Pull the plug. }
"""


def test_store_runs_with_tools_retries_approvals_and_questions_are_alike(stores):
    def work(shell):
        shell.book(MET, tools="look, change, flaky", meta="")
        said = shell.json("exec", "book.yaml", "--approval", "inbox", "--questions", "suspend")
        assert said["status"] == "approval_pending"
        (ticket,) = shell.json("approvals", "list")["approvals"]
        shell.gert("approve", ticket["ticket_id"], "--as", "alice")
        assert shell.json("resume", "latest", "--questions", "suspend", code=0)["status"] == "answer_pending"
        assert shell.json("runs", "status", "latest")["blocked_on"][0]["kind"] == "answer"
        shell.gert("answer", "latest", "sure", "confirm=yes")
        assert shell.json("resume", "latest")["status"] == "completed"
        assert (shell.root / "changed").read_text() == "one\ntwo\n"
        assert shell.gert("runs", "verify-ledger", "latest").stdout == "valid\n"
        assert shell.json("runs", "list")["runs"][0]["status"] == "completed"
        assert "seen" in shell.gert("runs", "logs", "latest").stdout

    each(stores, work)
    types = alike(stores)
    assert types.count("run_resumed") == 2
    assert types[-1] == "run_complete"


def test_store_a_killed_run_is_resumed_in_its_store(stores):
    def work(shell):
        run = killed(shell)
        assert shell.json("runs", "status", run)["status"] == "interrupted"
        assert shell.json("resume", run)["status"] == "completed"
        assert (shell.root / "changed").read_text() == "one\n"

    each(stores, work)
    types = alike(stores)
    assert types.count("step_attempt") == 1


def test_store_what_a_killed_run_left_unknown_is_reconciled(stores):
    def work(shell):
        run = killed(shell, RISKY)
        error = shell.json("resume", run, code=1)["error"]
        assert error["kind"] == "unknown_outcome"
        assert shell.json("runs", "reconcile", run, "slow=redo")["status"] == "completed"

    each(stores, work)
    alike(stores)


def test_life_cleanup_and_blocks_are_alike(stores):
    def work(shell):
        run = killed(shell)
        shell.gert("runs", "block", run, "--key", "k", "--reason", "wait", "--as", "olga")
        assert shell.json("resume", run, code=1)["error"]["kind"] == "run_blocked"
        assert shell.json("runs", "unblock", run, "--key", "x", code=1)["error"]["kind"] == "unblock_key"
        assert shell.json("runs", "unblock", run, "--key", "k", "--as", "olga")["status"] == "queued"
        assert shell.json("resume", run)["status"] == "completed"

    each(stores, work)
    alike(stores)


def test_life_block_of_a_run_that_is_executed_stops_it_before_its_next_step_in_every_store(stores):
    def work(shell):
        process, _ = executing(shell, program="while [ ! -e go ]; do sleep 0.05; done")
        run = shell.gert("runs", "list", "--ids").stdout.split()[0]
        said = shell.gert("runs", "block", run, "--key", "k", "--as", "alice").stdout
        assert said == f"Run {run} is being executed, and will be blocked on k before its next step.\n"
        (shell.root / "go").touch()
        process.communicate(timeout=30)
        stands = shell.json("runs", "status", run)
        assert (process.returncode, stands["status"]) == (0, "blocked")
        assert stands["blocked_on"] == [{"kind": "unblock", "key": "k"}]
        assert shell.json("runs", "list")["runs"][0]["blocked_on"] == stands["blocked_on"]
        shell.gert("runs", "unblock", run, "--key", "k")
        assert shell.json("resume", run)["status"] == "completed"

    each(stores, work)
    assert alike(stores).count("step_start") == 3


FAILING = """
- { id: one, type: tool, tool: change, action: do, inputs: { what: one } }
- id: no
  type: assert
  assert: [{ type: equals, value: "1", expected: "2" }]
finally:
  - { id: away, type: tool, tool: change, action: do, inputs: { what: away } }
"""


def test_store_cleanup_and_retry_of_failed_steps_are_alike(stores):
    def work(shell):
        steps, _, cleanup = FAILING.partition("finally:\n")
        book = shell.book(steps, tools="change")
        book.write_text(book.read_text() + "finally:\n" + cleanup)
        assert shell.json("exec", "book.yaml", code=1)["status"] == "failed"
        shell.json("resume", "latest", "--retry-failed", "--yes", code=1)
        assert (shell.root / "changed").read_text().split()[:2] == ["one", "away"]

    each(stores, work)
    alike(stores)


def test_store_second_writer_refused_two_processes_do_not_execute_one_run(stores):
    def work(shell):
        process, pid = executing(shell)
        run = shell.gert("runs", "list", "--ids").stdout.split()[0]
        error = shell.json("resume", run, code=1)["error"]
        assert error["kind"] == "run_locked"
        assert shell.json("runs", "lease", run)["worker"] is not None
        os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=30)
        assert shell.json("runs", "status", run)["status"] == "failed"

    each(stores, work)
    alike(stores)


def test_store_resumed_by_many_at_once_a_run_is_executed_once(stores):
    def work(shell):
        run = killed(shell)
        begin = {"environ": shell.environ, "cwd": shell.root}
        racing = [shell.server.start("resume", run, "--json", **begin) for _ in range(4)]
        codes = [process.communicate(timeout=60) and process.returncode for process in racing]
        assert codes.count(0) >= 1
        assert shell.gert("runs", "verify-ledger", run).stdout == "valid\n"
        assert [json.loads(line)["type"] for line in lines(shell, run)].count("run_resumed") == 1

    each(stores, work)
    alike(stores)


def test_store_hints_name_a_store_that_is_not_the_usual_one(stores):
    def work(shell):
        url = shell.environ.pop("GERT_STORE")
        shell.book("- { id: gate, type: approval, message: May it go on? }")
        said = shell.gert("exec", "book.yaml", "--approval", "inbox", "--store", url).stdout
        option = f"--store {shlex.quote(url)}"
        assert re.search(rf"then: gert resume --run \S+ {re.escape(option)}  # ", said)
        (ticket,) = shell.json("approvals", "list", "--store", url)["approvals"]
        said = shell.gert("approve", ticket["ticket_id"], "--as", "alice", "--store", url).stdout
        command = re.search(r"next: gert (.*)", said)[1]
        assert command.endswith(option)
        assert "completed" in shell.gert(*shlex.split(command), "--json").stdout
        shell.environ["GERT_STORE"] = url
        assert "--store" not in shell.gert("exec", "book.yaml", "--approval", "inbox").stdout

    each(stores, work)


def test_store_lease_zombie_whose_run_another_worker_took_over_writes_nothing(stores):
    def work(shell):
        process, pid = executing(shell)
        run = shell.gert("runs", "list", "--ids").stdout.split()[0]
        before = lines(shell)
        change(shell, "UPDATE gert_leases SET fence = fence + 1, worker = 'other'")
        os.kill(pid, signal.SIGKILL)  # the step ends, and its result cannot be written
        _, said = process.communicate(timeout=30)
        assert process.returncode == 1
        assert "not written by this worker any more: another worker has taken it over; the run stops here" in said
        assert f"hint: gert runs status {run} shows where it stands" in said
        assert lines(shell) == before

    each(stores, work, DATABASES)


def test_store_lease_renew_and_its_loss_ends_programs(stores):
    def work(shell):
        process, pid = executing(shell, patch=SHORT)
        run = shell.gert("runs", "list", "--ids").stdout.split()[0]
        first = shell.json("runs", "lease", run)["expires_at"]
        wait_for(lambda: shell.json("runs", "lease", run)["expires_at"] > first, 20)
        before = lines(shell)
        change(shell, "UPDATE gert_leases SET fence = fence + 1, worker = 'other'")
        _, said = process.communicate(timeout=30)
        assert process.returncode == 1
        assert "is not executed by this worker any more: another worker has taken it over; the run stops here" in said
        assert not alive(pid)
        assert lines(shell) == before

    each(stores, work, DATABASES)


def test_store_a_server_that_is_restarted_does_not_end_a_run(server, stores):
    shell = stores["postgres"]
    process, pid = executing(shell)
    server.stop("immediate")
    os.kill(pid, signal.SIGTERM)
    (shell.root / "again").touch()
    wait_for(lambda: not alive(pid))
    server.start()
    _, said = process.communicate(timeout=60)
    assert "gert connects again" in said
    assert process.returncode == 1  # the program was killed, and its step failed
    assert shell.json("runs", "status", "latest")["status"] == "failed"
    assert shell.gert("runs", "verify-ledger", "latest").stdout == "valid\n"


def test_store_secrets_are_in_no_row(stores):
    for name, shell in stores.items():
        shell.program("tell", "echo $TOKEN; echo $TOKEN >&2")
        shell.tool("tell", "[tell]", more="")
        path = shell.root / "tools" / "tell.tool.yaml"
        path.write_text(path.read_text().replace("transport: stdio }", "transport: stdio, secrets: [{ env: TOKEN }] }"))
        shell.book("- { id: tell, type: tool, tool: tell, action: do }", tools="tell")
        shell.gert("exec", "book.yaml", TOKEN="s3cret-value")
        if name == "sqlite":
            assert b"s3cret-value" not in b"".join(file.read_bytes() for file in shell.root.glob("runs.db*"))
        assert "s3cret-value" not in shell.gert("runs", "logs", "latest").stdout
    alike(stores)


@pytest.mark.parametrize("how", ["GERT_STORE", "project", "option"])
def test_the_password_of_the_database_reaches_no_tool_no_trace_and_no_reason(stores, how):
    """However the store is chosen; where runs are kept elsewhere, ``PGPASSWORD`` is like any other variable."""
    shell = stores["postgres"]
    address = shell.environ.pop("GERT_STORE")
    option = ["--store", address] if how == "option" else []
    if how == "project":
        shell.write("gert-project.yaml", f"store: {address}\n")
    elif how == "GERT_STORE":
        shell.environ["GERT_STORE"] = address
    shell.environ |= {"PGPASSWORD": "pa55-of-the-runs", "PGPASSFILE": "/nowhere/pgpass"}
    shell.program("spy", "env; echo pa55-of-the-runs")
    contract = "{ effects: [filesystem], writes: [box], outputs: { said: { type: string } } }"
    shell.tool("spy", "[spy]", contract=contract, more="extract: { said: { from: stdout } }")
    shell.book(
        "- { id: spy, type: tool, tool: spy, action: do }\n- { id: ok, type: approval, message: Well? }", tools="spy"
    )
    said = shell.json("exec", "book.yaml", "--approval", "inbox", *option)
    assert said["status"] == "approval_pending"
    shown = shell.gert("runs", "tail", "latest", "--json", *option).stdout
    assert "PATH=" in shown
    assert "PGPASS" not in shown.replace("<REDACTED:PGPASSWORD>", "")
    assert shown.count("<REDACTED:PGPASSWORD>") >= 1
    refused = shell.gert(
        "approve", said["pending"][0]["ticket_id"], "--as", "ann", "--reason", "pa55-of-the-runs", *option, code=2
    )
    assert "has a secret of the run in it" in refused.stderr
    shell.gert("runs", "block", "latest", "--key", "k", "--reason", "is it pa55-of-the-runs?", *option)
    shown = shell.gert("runs", "tail", "latest", "--json", *option).stdout
    assert "pa55-of-the-runs" not in shown
    assert "is it <REDACTED:PGPASSWORD>?" in shown


def test_a_variable_of_the_database_reaches_tools_that_declare_it_and_those_of_other_stores(stores):
    for name in ("file", "postgres"):
        shell = stores[name]
        shell.environ["PGPASSWORD"] = "pa55-of-the-runs"
        shell.program("spy", 'test "$PGPASSWORD" = pa55-of-the-runs')
        shell.tool("spy", "[spy]")
        if name == "postgres":
            path = shell.root / "tools" / "spy.tool.yaml"
            path.write_text(
                path.read_text().replace("transport: stdio }", "transport: stdio, secrets: [{ env: PGPASSWORD }] }")
            )
        shell.book("- { id: spy, type: tool, tool: spy, action: do }", tools="spy")
        assert shell.json("exec", "book.yaml")["status"] == "completed"


def test_store_the_doctor_looks_at_the_store_that_is_chosen(stores):
    for name, shell in stores.items():
        found = shell.json("doctor", code=None)
        checks = {check["check"]: check for check in found["checks"]}
        if name == "file":
            assert "disk" in checks
        else:
            assert checks["runs"]["status"] == "ok"
            assert f"can be reached ({name}, tables of version 1)" in checks["runs"]["message"]
        missing = next(level["missing"] for level in found["levels"] if level["level"] == "audited production")
        assert any("database server" in what for what in missing) == (name != "postgres")
    away = shell.json("doctor", "--store", "postgres://u:hunter22@127.0.0.1:1/db", code=1)
    assert "postgres://u@127.0.0.1:1/db cannot be reached" in str(away)
    assert "hunter22" not in str(away)


def test_store_pg_lost_commit_answer_is_in_the_trace_once(stores, proxied):
    shell = stores["postgres"]
    direct, shell.environ["GERT_STORE"] = shell.environ["GERT_STORE"], proxied.url
    process, pid = executing(shell)
    proxied.cut_after = proxied.ADDED
    os.kill(pid, signal.SIGKILL)  # what the step came to is synced
    process.communicate(timeout=60)
    shell.environ["GERT_STORE"] = direct
    assert proxied.cuts == 1
    assert shell.gert("runs", "verify-ledger", "latest").stdout == "valid\n"
    events = [json.loads(line) for line in lines(shell)]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["step_key"] for event in events if event["type"] == "step_complete"] == ["one", "slow"]
    assert events[-1]["data"]["status"] == "failed"


def test_store_what_tools_wrote_before_a_kill_is_kept(stores):
    def work(shell):
        shell.program("slow", "echo half-way; sleep 3.5; echo $$ > slow.new; mv slow.new slow.pid; exec sleep 60")
        shell.tool("slow", "[slow]", contract=REPEATABLE)
        shell.book(CRASH, tools="change, slow")
        process = shell.server.start("exec", "book.yaml", environ=shell.environ, cwd=shell.root)
        wait_for((shell.root / "slow.pid").exists, 40)
        process.kill()
        process.communicate()
        os.kill(int((shell.root / "slow.pid").read_text()), signal.SIGKILL)
        assert "half-way" in shell.gert("runs", "logs", "latest").stdout

    each(stores, work)


SECOND = """
- { id: one, type: tool, tool: change, action: do, inputs: { what: one } }
- { id: flaky, type: tool, tool: flaky, action: do, artifacts: { tried: { value: twice } } }
"""


def test_life_all_readers_agree_after_retry_failed(stores):
    """A failed run that was retried is completed for every command, whichever way each of them reads it."""

    def work(shell):
        shell.book(SECOND, tools="change, flaky")
        run = shell.json("exec", "book.yaml", code=1)["run_id"]
        assert shell.json("runs", "status", run)["lifecycle"] == "failed"
        assert shell.json("resume", run, "--retry-failed")["status"] == "completed"
        last = json.loads(lines(shell, run)[-1])
        stands = shell.json("runs", "status", run)
        (row,) = shell.json("runs", "list")["runs"]
        shown = shell.json("runs", "show", run)
        progress = shell.json("runs", "progress", run)
        assert last["data"]["status"] == stands["status"] == row["status"] == shown["status"] == "completed"
        assert (stands["lifecycle"], stands["failure_reason"], stands["blocked_on"]) == ("completed", None, [])
        assert (progress["status"], progress["percent"], progress["eta_seconds"]) == ("completed", 100, 0)
        assert last["seq"] == stands["last_event_seq"]
        assert last["timestamp"] == stands["updated_at"] == row["finished"]
        assert row["outcome"] == {"category": "resolved", "code": "ok"} == dict([*shown["outcome"].items()][:2])
        assert shell.json("runs", "resume-point", run)["needs"] is None
        assert shell.gert("runs", "list", "--active", "--ids").stdout == ""
        assert shell.gert("runs", "list", "--status", "failed", "--ids").stdout == ""
        assert shell.json("runs", "artifacts", run)["artifacts"]["tried"]["value"] == "twice"
        assert shell.gert("runs", "verify-ledger", run).stdout == "valid\n"
        return row.keys(), shown.keys()

    found = each(stores, work)
    assert found["file"] == found["sqlite"] == found["postgres"]
    alike(stores)
