"""Hosts whose runs are in a database: followed, decided and cancelled by other processes, killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from hosting import APPROVE, Lab, Told, result
from shell import wait_for
from store_shells import expire

PROGRAM = """
import sys
from gert_core.hosting import Host

Host(sys.argv[1]).start("book.yaml", on_notice=lambda notice: print(notice.run_id, notice.kind, flush=True)).wait()
"""
MANUAL = "- { id: look, type: manual, instructions: Look., required_evidence: [{ kind: text, name: notes }] }"
CHANGE = "- { id: act, type: tool, tool: change, inputs: { what: x } }"


@pytest.fixture(params=["sqlite", "postgres"])
def lab(request, tmp_path):
    made = Lab(tmp_path)
    made.environ["GERT_STORE"] = "sqlite:runs.db" if request.param == "sqlite" else request.getfixturevalue("url")
    yield made
    made.close()


def test_hosted_runs_are_followed_and_decided_from_another_process(lab):
    lab.policy(APPROVE)
    lab.book(CHANGE, tools="change")
    told, host, followed = Told(), lab.host(), []
    run = host.start("book.yaml", on_notice=told)
    reader = threading.Thread(target=lambda: followed.extend(host.follow(run.run_id)), daemon=True)
    reader.start()
    ticket = told.wait("approval").data["request"]["ticket_id"]
    assert lab.json("runs", "status", run.run_id)["blocked_on"] == [{"kind": "approval", "key": "act"}]
    assert [view.ticket_id for view in host.tickets()] == [ticket]
    lab.gert("approve", ticket, "--as", "alice")
    assert result(run)["status"] == "completed"
    reader.join(10)
    told.wait("end")
    assert [event.type for event in followed] == told.events()
    assert [notice.to_json() for notice in run.notices()] == [notice.to_json() for notice in told.notices]
    assert lab.path("changed").read_text() == "x\n"
    assert not lab.path("runs").exists()
    again = host.start("book.yaml", on_notice=(second := Told()))
    assert second.wait("approval").data["since_last"]["ticket_id"] == ticket
    again.suspend()
    result(again)


def test_hosted_runs_of_one_database_have_their_own_answers(lab):
    lab.book(MANUAL)
    host, first, second = lab.host(), Told(), Told()
    one = host.start("book.yaml", on_notice=first)
    two = host.start("book.yaml", on_notice=second)
    asked = [told.wait("question").data["question_id"] for told in (first, second)]
    assert two.answer(asked[1], "of two", by="bob")
    assert one.answer(asked[0], "of one", by="alice")
    assert [result(run)["outputs"]["notes"] for run in (one, two)] == ["of one", "of two"]
    assert {row["status"] for row in lab.json("runs", "list")["runs"]} == {"completed"}


@pytest.mark.parametrize("waits_for", ["approval", "question"])
def test_hosted_runs_whose_host_is_killed_go_on_at_the_command_line(lab, waits_for):
    lab.policy(APPROVE)
    lab.book(CHANGE if waits_for == "approval" else MANUAL, tools="change")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(lab.root)], env=lab.environ, stdout=subprocess.PIPE, text=True
    )
    run_id = next(line.split()[0] for line in process.stdout if line.split()[-1] == waits_for)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    expire(lab)  # as it is a minute later
    if waits_for == "approval":
        lab.gert("approve", lab.json("approvals", "list")["approvals"][0]["ticket_id"], "--as", "alice")
        assert lab.json("resume", "--run", run_id)["status"] == "completed"
        assert lab.path("changed").read_text() == "x\n"
    else:
        assert lab.json("resume", "--run", run_id, "--questions", "suspend")["status"] == "answer_pending"
        lab.gert("answer", run_id, "look", "notes=two fans")
        assert lab.json("resume", "--run", run_id)["outputs"]["notes"] == "two fans"


def test_hosted_runs_are_cancelled_one_by_one_from_the_command_line(lab):
    lab.book('- { id: one, type: tool, tool: hold, inputs: { until: "{{ .file }}" } }', tools="hold", meta="inputs: { file: { type: string, required: true } }")  # fmt: skip
    host = lab.host()
    one, two = (host.start("book.yaml", inputs={"file": name}) for name in ("a", "b"))
    wait_for(lambda: lab.path("a.pid").exists() and lab.path("b.pid").exists())
    said = lab.gert("runs", "cancel", one.run_id, "--as", "alice", "--reason", "wrong disk").stdout
    assert said.startswith(f"Run {one.run_id} has stopped: it is cancelled.\n")
    assert result(one)["status"] == "cancelled"
    assert not two.done
    lab.path("b").touch()
    assert result(two)["status"] == "completed"
    lab.path("a").touch()
    assert lab.json("resume", one.run_id)["status"] == "completed"
