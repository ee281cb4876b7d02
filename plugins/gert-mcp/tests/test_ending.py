"""How calls and servers end: a client that cancels, the end of the input, a signal, a run that takes long, forms."""

from __future__ import annotations

import os
import signal
import time

import anyio
import pytest
from agents import BOTH, LEGACY, MODERN, Raw, structured
from hosting import until
from mcp_types import ElicitResult

HOLD = """
- { id: hold, type: tool, tool: hold, inputs: { until: "go" } }
- { id: later, type: tool, tool: change, inputs: { what: "late" } }
"""
ASK = """
- id: look
  type: manual
  instructions: Look at it.
  required_evidence:
    - { kind: text, name: notes, description: What you saw }
    - { kind: checklist, name: checks, items: [one, two] }
"""


class LeftError(Exception):
    """The client goes without a word."""


def gone(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def statuses(project):
    return [run["status"] for run in project.json("runs", "list")["runs"]]


@BOTH
def test_a_client_that_cancels_its_call_cancels_the_run(project, mode):
    project.document("wait", HOLD, tools="hold, change")

    async def talk(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "runbook_wait", {})
            await anyio.to_thread.run_sync(lambda: until(project.path("go.pid").exists))
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            while True:
                (run,) = structured(await client.call_tool("gert_runs", {}))["runs"]
                if run["status"] != "running":
                    return run["status"]
                await anyio.sleep(0.1)

    assert project.talk(talk, mode=mode) == "cancelled"


def test_the_end_of_the_input_lets_the_step_finish_and_begins_no_other(project):
    project.document("wait", HOLD, tools="hold, change")
    with Raw(project) as raw:
        raw.call("runbook_wait")
        until(project.path("go.pid").exists)
        raw.process.stdin.close()
        time.sleep(0.5)
        assert raw.process.poll() is None
        project.path("go").touch()
        assert raw.process.wait(60) == 0
    assert statuses(project) == ["cancelled"]
    assert {event["step_key"] for event in project.events("step_complete")} == {"hold"}
    assert not project.path("changed").exists()


def test_a_signal_cancels_what_runs_and_ends_the_server(project):
    project.document("wait", HOLD, tools="hold, change")
    with Raw(project) as raw:
        raw.call("runbook_wait")
        until(project.path("go.pid").exists)
        raw.process.send_signal(signal.SIGTERM)
        assert raw.process.wait(60) == 143
    assert statuses(project) == ["cancelled"]
    assert gone(int(project.path("go.pid").read_text()))


def test_a_signal_after_the_end_of_the_input_cancels_what_runs(project):
    """What the client of the SDK does: it closes the input, and sends the signal two seconds later."""
    project.document("wait", HOLD, tools="hold, change")
    with Raw(project) as raw:
        raw.call("runbook_wait")
        until(project.path("go.pid").exists)
        raw.process.stdin.close()
        time.sleep(2)
        assert raw.process.poll() is None
        raw.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert raw.process.wait(60) == 143
        assert time.monotonic() - began < 10
    assert statuses(project) == ["cancelled"]
    assert gone(int(project.path("go.pid").read_text()))


def test_a_client_that_leaves_cancels_its_run(project):
    project.document("wait", HOLD, tools="hold, change")

    async def talk(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "runbook_wait", {})
            await anyio.to_thread.run_sync(lambda: until(project.path("go.pid").exists))
            raise LeftError

    with pytest.raises(LeftError):
        project.talk(talk)
    until(lambda: statuses(project) == ["cancelled"])
    until(lambda: gone(int(project.path("go.pid").read_text())))


def test_what_is_not_a_message_does_not_end_the_server(project):
    rubbish = (b"\n", b"not json\n", b"[]\n", b"\xff\xfe\n", b'{"jsonrpc": "2.0", "id": 9}\n', b"{" * 5_000_000 + b"\n")
    with Raw(project) as raw:
        for line in rubbish:
            raw.process.stdin.write(line)
        raw.process.stdin.flush()
        raw.call("gert_list_runbooks")
        while (found := raw.answer()).get("id") != 1:
            continue
        assert found["result"]["structuredContent"] == {"runbooks": []}
        raw.process.stdin.close()
        assert raw.process.wait(60) == 0


def test_a_run_that_takes_long_is_said_to_be_running(project):
    project.document("wait", HOLD, tools="hold, change")

    async def talk(client):
        began = time.monotonic()
        run = structured(await client.call_tool("runbook_wait", {}))
        waited = time.monotonic() - began
        project.path("go").touch()
        return run, waited, structured(await client.call_tool("gert_run", {"run_id": run["run_id"], "wait": 20}))

    run, waited, last = project.talk(talk)
    assert run["status"] == "running"
    assert 24 < waited < 60
    assert (last["run_id"], last["status"]) == (run["run_id"], "completed")


def test_a_cancelled_run_of_another_call(project):
    project.document("wait", HOLD, tools="hold, change")

    async def talk(client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "runbook_wait", {})
            await anyio.to_thread.run_sync(lambda: until(project.path("go.pid").exists))
            (run,) = structured(await client.call_tool("gert_runs", {}))["runs"]
            return structured(await client.call_tool("gert_cancel", {"run_id": run["run_id"]}))["status"]

    assert project.talk(talk) == "cancelled"


async def fill_in(context, params):
    assert params.mode == "form"
    return ElicitResult(action="accept", content={"notes": "all is well", "checks": ["one", "two"]})


def test_questions_are_for_people_unless_the_server_is_told_that_one_is_there(project):
    project.document("ask", ASK)

    async def talk(client):
        return structured(await client.call_tool("runbook_ask", {}))

    left = project.talk(talk, elicitation_callback=fill_in)
    assert left["status"] == "answer_pending"
    assert {one["name"] for one in left["questions"]} == {"notes", "checks"}
    for mode in (LEGACY, MODERN):
        done = project.talk(talk, "--human-client", mode=mode, elicitation_callback=fill_in)
        assert done["status"] == "completed", mode
        (answered,) = [one for one in project.events("step_complete") if one["step_key"] == "look"]
        assert answered["data"]["outputs"]["notes"] == "all is well"
