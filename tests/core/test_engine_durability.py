"""When events reach the disk: counted syncs, groups, and write errors that stop the run."""

from __future__ import annotations

import os
import threading

import pytest
from lab import Lab, tool

from gert_core.api import TraceError


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture
def syncs(monkeypatch):
    """Every fdatasync of the trace, as the number of bytes that were on disk after it."""
    seen = []

    def counting(fd):
        seen.append(os.fstat(fd).st_size)
        os.fsync(fd)

    monkeypatch.setattr("gert_core.trace.sinks._fdatasync", counting)
    return seen


def test_a_read_only_tool_step_costs_one_sync(lab, syncs):
    counts = []
    for number in (2, 12):
        syncs.clear()
        lab("\n".join(f"- {{ id: s{i}, type: tool, tool: lab }}" for i in range(number)))
        counts.append(len(syncs))
    assert counts[1] - counts[0] == 10


@pytest.mark.parametrize(("idempotent", "cost"), [("true", 1), ("false", 2)])
def test_a_writing_tool_step_is_synced_before_its_call_and_if_needed_after_it(lab, syncs, idempotent, cost):
    counts = []
    for number in (2, 12):
        syncs.clear()
        steps = "\n".join(f"- {{ id: s{i}, type: tool, tool: writer }}" for i in range(number))
        lab(steps, tools=tool("writer", writes="disk", idempotent=idempotent))
        counts.append(len(syncs))
    assert counts[1] - counts[0] == 10 * cost


def test_steps_that_touch_nothing_cost_no_sync(lab, syncs):
    lab("\n".join(f"- {{ id: s{i}, type: assert, assert: [ {{ type: exists, value: 1 }} ] }}" for i in range(10)))
    assert len(syncs) <= 2


def test_the_start_of_a_step_is_on_disk_before_its_tool_is_called(lab, syncs, tmp_path):
    sizes = []

    def look(call):
        trace = next((tmp_path / "runs").glob("*/trace.jsonl"))
        sizes.append((b'"step_start"' in trace.read_bytes(), trace.stat().st_size <= syncs[-1]))

    lab.on_call = look
    lab("- { id: a, type: tool, tool: lab }")
    assert sizes == [(True, True)]


def test_a_step_that_writes_and_is_not_idempotent_is_on_disk_when_it_completes(lab, syncs):
    ran = lab(
        "- { id: a, type: tool, tool: writer }\n- { id: b, type: assert, assert: [ { type: exists, value: 1 } ] }",
        tools=tool("writer", writes="disk", idempotent="false"),
    )
    data = ran.result.trace.read_bytes()
    end = data.index(b"\n", data.index(b'"type":"step_complete"')) + 1
    assert end in syncs


def test_an_idempotent_writer_needs_no_sync_when_it_completes(lab, syncs):
    ran = lab("- { id: a, type: tool, tool: writer }", tools=tool("writer", writes="disk"))
    data = ran.result.trace.read_bytes()
    end = data.index(b"\n", data.index(b'"type":"step_complete"')) + 1
    assert end not in syncs


def test_everything_is_on_disk_before_a_person_is_asked(lab, syncs, tmp_path, monkeypatch):
    from gert_core.testing.running import ScriptedConsole

    states = []

    def ask(self, prompt, *, deadline, hidden=False, question=None):
        trace = next((tmp_path / "runs").glob("*/trace.jsonl"))
        states.append((trace.stat().st_size == syncs[-1], b'"step_start"' in trace.read_bytes()))
        return ""

    monkeypatch.setattr(ScriptedConsole, "ask", ask)
    lab("- { id: m, type: manual, instructions: look }")
    assert states == [(True, True)]


def test_a_request_for_approval_is_on_disk_before_it_is_sent(lab, syncs, tmp_path, monkeypatch):
    from gert_core.testing.running import ScriptedConsole

    states = []

    def ask(self, prompt, *, deadline, hidden=False, question=None):
        trace = next((tmp_path / "runs").glob("*/trace.jsonl"))
        states.append((trace.stat().st_size == syncs[-1], b'"approval_submitted"' in trace.read_bytes()))
        return "y"

    monkeypatch.setattr(ScriptedConsole, "ask", ask)
    lab(
        "- { id: a, type: tool, tool: writer }",
        tools=tool("writer", writes="disk"),
        meta="governance: { rules: [ { writes: [disk], action: require-approval } ] }",
    )
    assert states == [(True, True)]


def test_the_end_is_on_disk(lab, syncs):
    ran = lab("- { id: a, type: tool, tool: lab }")
    assert syncs[-1] == ran.result.trace.stat().st_size


def test_sync_none_never_syncs_and_sync_event_syncs_every_event(lab, syncs):
    lab("- { id: a, type: tool, tool: lab }", trace_sync="none")
    assert syncs == []
    ran = lab("- { id: a, type: tool, tool: lab }", trace_sync="event")
    assert len(syncs) >= len(ran.events)


def test_a_write_error_stops_the_run_before_the_next_tool(lab, monkeypatch):
    real = os.write
    broken = []

    def write(fd, data):
        if broken and b'"type"' in bytes(data)[:200]:
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr("os.write", write)
    lab.on_call = lambda call: broken.append(1)
    with pytest.raises(TraceError):
        lab("- { id: a, type: tool, tool: lab }\n- { id: b, type: tool, tool: lab }")
    assert len(lab.calls) == 1


def test_a_write_error_in_one_branch_stops_the_others(lab, monkeypatch):
    real = os.write
    broken = []

    def write(fd, data):
        if broken and b'"type"' in bytes(data)[:200]:
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr("os.write", write)
    both = threading.Barrier(2, timeout=10)

    def meet(call):
        both.wait()
        broken.append(1)

    lab.on_call = meet
    with pytest.raises(TraceError):
        lab("""
            - id: fork
              type: parallel
              branches:
                - { steps: [ { id: a, type: tool, tool: lab, scope: a }, { id: a2, type: tool, tool: lab, scope: a } ] }
                - { steps: [ { id: b, type: tool, tool: lab, scope: b, inputs: { pause: 20 } }, { id: b2, type: tool, tool: lab, scope: b } ] }
        """)
    assert len(lab.calls) == 2
    assert all(call.ended - call.began < 5 for call in lab.calls)
