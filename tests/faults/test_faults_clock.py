"""Clocks that jump: order comes from numbers and hashes, durations from a clock nobody sets, approvals fail closed."""

from __future__ import annotations

import datetime as module
import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from gertproc import Gert

from gert_core.approvals.deadline import TicketDeadline
from gert_core.cli.render.timeline import timeline
from gert_core.engine.cancel import Deadline, Stop
from gert_core.plugin.registry import Registry
from gert_core.runs.fold import fold
from gert_core.testing import GertRunner, echo
from gert_core.trace import writer
from gert_core.trace.reader import read
from gert_core.trace.verify import verify

TOOL = """
apiVersion: tool/v0
meta: { name: mirror, transport: echo }
contract: { effects: [network], writes: [], inputs: { text: { type: string } } }
actions: { say: { argv: [mirror, "{{ .text }}"] } }
"""
BOOK = """
apiVersion: kernel/v0
meta: { name: clock GOVERN }
tools: [mirror]
steps:
  - { id: a, type: tool, tool: mirror, inputs: { text: a } }
  - { id: b, type: tool, tool: mirror, inputs: { text: b } }
  - { type: end, outcome: { category: resolved, code: done } }
"""
APPROVE = ", governance: { rules: [{ effects: [network], action: require-approval }] }"


class Jumping:
    """A clock that goes back ten minutes every time somebody looks."""

    looks = 0

    def __call__(self):
        self.looks += 1
        return time.time_ns() - self.looks * 600 * 1_000_000_000


@pytest.fixture
def jumping(monkeypatch):
    clock = Jumping()
    monkeypatch.setattr(writer, "time_ns", clock)
    return clock


def test_a_run_whose_clock_jumps_back(tmp_path, jumping):
    """The chain, the fold and the durations do not depend on the time of day; the timeline shows what it was."""
    gert = GertRunner(directory=tmp_path, registry=Registry.build(extra_plugins=[echo]))
    ran = gert(BOOK.replace("GOVERN", ""), files={"tools/mirror.tool.yaml": TOOL})
    ran.assert_outcome("resolved", "done")
    times = [event.timestamp for event in ran.events]
    assert times == sorted(times, reverse=True), "the clock did jump back"
    verdict = verify(ran.result.trace, key_for=lambda alg, key: None, schemes=lambda alg: None)
    assert str(verdict.status) == "unsigned"
    assert fold(read(ran.result.trace)).status == "completed"
    assert all(not data["duration"].startswith("-") for data in ran.of("step_complete"))
    assert re.search(r"-\d+\.\d+s", "\n".join(timeline(read(ran.result.trace))))


def test_a_resumed_run_whose_clock_is_earlier_than_its_trace(tmp_path):
    """A run goes on although its trace is from the future."""
    gert = GertRunner(directory=tmp_path, registry=Registry.build(extra_plugins=[echo]))
    ran = gert(BOOK.replace("GOVERN", ""), files={"tools/mirror.tool.yaml": TOOL})
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"type":"step_complete"' in line) + 1
    ran.result.trace.write_bytes(b"".join(lines[:cut]))
    with pytest.MonkeyPatch.context() as patch:
        clock = Jumping()
        clock.looks = 1000
        patch.setattr(writer, "time_ns", clock)
        again = gert.resume(ran.result.run_id)
    again.assert_outcome("resolved", "done")


def test_an_answer_from_before_its_request_is_refused(tmp_path):
    """Somebody (or the clock) turned back an hour: the approval looks older than its request and does not count."""
    gert = Gert(tmp_path)
    gert.write(tool_t=TOOL.replace("echo", "stdio").replace("[mirror, ", "[echo, ").replace("mirror", "t"))
    gert.write(book=BOOK.replace("GOVERN", APPROVE).replace("mirror", "t"))
    assert "Approval pending" in gert("exec", "book.yaml", "--approval", "inbox").out
    run = gert.run()
    ticket = next((run / "tickets").glob("*.json")).stem
    assert gert("approve", ticket, "--as", "ann").code == 0
    answer = next((run / "tickets" / f"{ticket}.answers").iterdir())
    old = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    answer.write_text(re.sub(r'"timestamp": "[^"]*"', f'"timestamp": "{old}"', answer.read_text()))
    said = gert("resume", "--run", run.name, "--json")
    assert (said.code, said.document["failure"]["kind"]) == (1, "approval_stale")


def test_turning_the_clock_back_does_not_keep_a_ticket_open(monkeypatch):
    """The time a ticket has left is also measured by a clock that cannot be set."""
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    waiting = TicketDeadline(Deadline(Stop()), expires=now[0] + timedelta(seconds=0.2), now=lambda: now[0])
    assert not waiting.expired
    now[0] -= timedelta(days=1)
    assert 0 < waiting.remaining() <= 0.2
    assert waiting.wait(5)
    assert waiting.expired


def test_turning_the_clock_forward_expires_a_ticket():
    """The other way round it expires at once: closed is the safe side."""
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    waiting = TicketDeadline(Deadline(Stop()), expires=now[0] + timedelta(hours=1), now=lambda: now[0])
    now[0] += timedelta(hours=2)
    assert waiting.expired
    assert waiting.remaining() == 0
    assert module.UTC
