"""A client that does not read, or is gone in the middle of a call: the server ends, and its runs with an end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from agents import Raw
from hosting import until

HOLD = """
- { id: hold, type: tool, tool: hold, inputs: { until: "go" } }
- { id: later, type: tool, tool: change, inputs: { what: "late" } }
"""
ENDS = 14
"""Seconds in which a server has ended whose client does not read."""
MANY = 60
"""So many answers that no pipe holds them."""


@pytest.fixture
def waits(project):
    project.document("wait", HOLD, tools="hold, change")
    return project


def fill(raw):
    """Ask for much more than the pipe holds, and read nothing of it."""
    for number in range(MANY):
        raw.send(id=100 + number, method="tools/list")
    time.sleep(3)


def ended_within(raw, seconds, leaves=0.0):
    began = time.monotonic()
    code = raw.process.wait(seconds + leaves + 20)
    assert time.monotonic() - began < seconds + leaves
    return code


def ending(project):
    (status,) = [run["status"] for run in project.json("runs", "list")["runs"]]
    return status, [event["type"] for event in project.events()][-1]


def test_a_signal_ends_a_server_whose_client_does_not_read(waits):
    with Raw(waits) as raw:
        raw.call("runbook_wait")
        until(waits.path("go.pid").exists)
        fill(raw)
        raw.process.send_signal(signal.SIGTERM)
        assert ended_within(raw, ENDS) == 143
    assert ending(waits) == ("cancelled", "run_complete")


@pytest.mark.parametrize("rubbish", [False, True], ids=["requests", "rubbish"])
def test_the_end_of_the_input_ends_a_server_whose_client_does_not_read(waits, rubbish):
    """Also where the input itself is not read to its end any more, because what stands in it has to be answered."""
    with Raw(waits) as raw:
        if rubbish:
            for _ in range(900):
                raw.process.stdin.write(b"{}\n")
            raw.process.stdin.flush()
        fill(raw)
        raw.process.stdin.close()
        assert ended_within(raw, ENDS) == 0


def test_a_step_may_finish_when_the_client_leaves_and_does_not_read(waits):
    with Raw(waits) as raw:
        raw.call("runbook_wait")
        until(waits.path("go.pid").exists)
        fill(raw)
        raw.process.stdin.close()
        time.sleep(7)
        assert raw.process.poll() is None
        waits.path("go").touch()
        assert ended_within(raw, ENDS) == 0
    assert ending(waits) == ("cancelled", "run_complete")
    assert {event["step_key"]: event["data"]["status"] for event in waits.events("step_complete")}["hold"] == "success"
    assert not waits.path("changed").exists()


@pytest.mark.parametrize("both", [True, False], ids=["input-and-output", "output"])
def test_a_step_may_finish_when_the_client_is_gone(waits, both):
    with Raw(waits, stderr=subprocess.PIPE) as raw:
        raw.call("runbook_wait")
        until(waits.path("go.pid").exists)
        raw.process.stdout.close()
        if both:
            raw.process.stdin.close()
        else:
            raw.send(id=5, method="ping")
        time.sleep(2)
        assert raw.process.poll() is None
        waits.path("go").touch()
        assert ended_within(raw, ENDS) == 0
        assert raw.process.stderr.read() == b""
    assert ending(waits) == ("cancelled", "run_complete")
    assert {event["step_key"]: event["data"]["status"] for event in waits.events("step_complete")}["hold"] == "success"
    assert not waits.path("changed").exists()


def test_a_client_that_closes_what_it_reads_ends_the_server(project):
    with Raw(project, stderr=subprocess.PIPE) as raw:
        raw.process.stdout.close()
        raw.send(id=5, method="tools/list")
        assert ended_within(raw, ENDS) == 0
        assert raw.process.stderr.read() == b""


@pytest.mark.parametrize("blocks", [True, False], ids=["blocking", "not-blocking"])
def test_a_client_that_reads_late_still_gets_every_answer(project, blocks):
    """It writes all it has to say and closes that, as a pipe of a shell does; its answers are more than a pipe holds."""
    begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    said = [{"id": 0, "method": "initialize", "params": begin}, {"method": "notifications/initialized"}]
    said += [{"id": 5, "method": "nothing", "params": {}}] + [{"no": "message"}] * 2000
    text = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in said)
    reader = "import sys, time; sys.stdin.readline(); time.sleep(2); print(1 + sum(1 for _ in sys.stdin))"
    reads, writes = os.pipe()
    os.set_blocking(writes, blocks)
    server = subprocess.Popen(project.words(), env=project.environ, stdin=subprocess.PIPE, stdout=writes)
    slow = subprocess.Popen([sys.executable, "-c", reader], stdin=reads, stdout=subprocess.PIPE, text=True)
    os.close(reads)
    os.close(writes)
    server.stdin.write(text.encode())
    server.stdin.close()
    assert slow.communicate(timeout=60)[0].strip() == str(2002)
    assert server.wait(30) == 0
