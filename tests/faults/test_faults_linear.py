"""Reading a trace takes time in proportion to its size, whatever somebody wrote into it."""

from __future__ import annotations

import time

import pytest
from forging import chain

from gert_core.engine.resume.recorded import Recorded
from gert_core.runs.fold import fold
from gert_core.stores.directory import DirectoryStore
from gert_core.trace.reader import read
from gert_core.trace.recovery import CheckedTrace

SMALL, LARGE, SLACK = 400, 3200, 30
"""Eight times as many events may take up to thirty times as long; what is quadratic takes 64 times as long."""


def event(kind: str, data: dict, key: str = "") -> dict:
    head = {"type": kind, "timestamp": "2026-01-02T03:04:05.000006Z", "run_id": "r", "seq": 0}
    return {**head, **({"step_key": key} if key else {}), "data": data}


def steps(number: int) -> list[dict]:
    facts = {"step_id": f"s{number}", "type": "tool"}
    ended = {**facts, "status": "failed", "failure": {"kind": "exit_code", "message": "no"}}
    return [event("step_start", facts, f"s{number}"), event("step_complete", ended, f"s{number}")]


def left_open(number: int) -> list[dict]:
    return [event("step_start", {"step_id": "s", "type": "tool"}, "a/" * (number % 200) + f"s{number}")]


def tickets(number: int) -> list[dict]:
    facts = {"ticket_id": f"t{number}", "step_id": "s"}
    return [event("approval_submitted", facts, "s"), event("approval_void", {**facts, "changed": []}, "s")]


def resumed(number: int) -> list[dict]:
    return [event("run_resumed", {"void": ["s"]}), event("step_start", {"step_id": "s", "type": "tool"}, "s")]


def seconds(root, content: bytes) -> float:
    """Return the time that reading a run takes, for what is shown of it and for resuming it."""
    (root / "r").mkdir(mode=0o700, parents=True)
    (root / "r" / "trace.jsonl").write_bytes(content)
    with DirectoryStore(root).open("r") as run:
        began = time.process_time()
        fold(read(run, run_id="r"))
        events = CheckedTrace(run)
        Recorded(events, events.lines)
        return time.process_time() - began


@pytest.mark.parametrize("kind", [steps, left_open, tickets, resumed])
def test_events_are_read_in_proportion(tmp_path, kind):
    took = []
    for count in (SMALL, LARGE):
        made = [one for number in range(count) for one in kind(number)]
        text = chain([event("run_start", {"runbook": "x"}), *made])
        took.append(min(seconds(tmp_path / f"{count}-{again}", text.encode()) for again in range(2)))
    assert took[1] < SLACK * took[0], took


@pytest.mark.parametrize("line", [b"\0\n", b"\0{}\n", b"\0" * 500 + b"\n"])
def test_a_torn_end_of_many_lines_is_read_in_proportion(tmp_path, line):
    head = chain([event("run_start", {"runbook": "x"})]).encode()
    took = [min(seconds(tmp_path / f"{n}-{k}", head + line * n * 10) for k in range(2)) for n in (SMALL, LARGE)]
    assert took[1] < SLACK * took[0], took
