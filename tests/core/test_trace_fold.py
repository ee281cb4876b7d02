"""The fold: what a trace says about its run, the cache of it, and recovery of a torn end."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from gert_core.api.errors import TraceError
from gert_core.api.events import TraceEvent
from gert_core.runs.cache import FORMAT, last_line_stamp, load_state
from gert_core.runs.fold import fold
from gert_core.runs.lifecycle.status import waiting_for
from gert_core.runs.state import parent_key
from gert_core.stores.directory import DirectoryRun
from gert_core.trace.reader import read
from gert_core.trace.recovery import CheckedTrace, TraceEnd
from gert_core.trace.sinks import FileSink
from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from pathlib import Path

WRITES = {"effects": ["k8s"], "writes": ["service"], "idempotent": False, "deterministic": False, "writing": True}
READS = {"effects": ["network"], "writes": [], "idempotent": False, "deterministic": False, "writing": False}


class Tape:
    """Builds events as the engine writes them."""

    def __init__(self) -> None:
        self.events: list[TraceEvent] = []

    def add(self, kind: str, key: str | None = None, **data: Any) -> Tape:
        seq = len(self.events) + 1
        self.events.append(
            TraceEvent(
                type=kind,
                timestamp=f"2026-01-02T00:00:{seq:02d}.000000Z",
                run_id="r1",
                seq=seq,
                prev_hash="",
                data=data,
                step_key=key,
            )
        )
        return self

    def start(self, key: str, step_id: str, contract: dict[str, Any] | None = None) -> Tape:
        if contract is None:
            return self.add("step_start", key, step_id=step_id, type="block")
        self.add("contract_evaluated", key, step_id=step_id, resolved_contract=contract)
        self.add("governance_decision", key, step_id=step_id, decision="allow", risk_level="low")
        return self.add(
            "step_start",
            key,
            step_id=step_id,
            type="leaf",
            contract_summary=contract,
            inputs={"a": 1},
            idempotency_key=f"i-{key}",
        )

    def done(self, key: str, status: str = "success", **data: Any) -> Tape:
        return self.add("step_complete", key, step_id=key, status=status, duration="0.100s", **data)


def begin() -> Tape:
    return Tape().add("run_start", runbook="check", actor="alice", inputs={"host": "h"})


def test_a_completed_run() -> None:
    tape = begin().start("a", "a", READS).done("a", outputs={"code": 200}, fields={"passed": True})
    tape.add("outcome_resolved", None, category="resolved", code="ok", meta={"k": "v"})
    tape.add(
        "run_complete",
        status="completed",
        outcome={"category": "resolved", "code": "ok", "meta": {"k": "v"}},
        duration="1s",
    )
    state = fold(tape.events)
    record = state.steps["a"]
    assert (state.status, state.runbook, state.over, state.seq) == ("completed", "check", True, len(tape.events))
    assert state.outcome == {"category": "resolved", "code": "ok", "meta": {"k": "v"}}
    assert (record.status, record.ended, record.duration) == ("success", tape.events[4].seq, "0.100s")
    assert (record.acts, record.writing, record.idempotent, record.container) == (True, False, False, False)
    assert state.resume_point is None
    assert state.progress == {"steps": 1, "finished": 1, "failed": 0, "skipped": 0, "running": []}


def test_unknown_outcomes_are_unfinished_leaves_that_write() -> None:
    silent = {"effects": [], "writes": [], "idempotent": False, "deterministic": False}
    tape = begin().start("block", "block")
    tape.start("block/0/w", "w", WRITES).start("block/0/r", "r", READS).start("block/0/s", "s", silent)
    tape.start("block/0/i", "i", {**WRITES, "idempotent": True}).start("block/0/d", "d", WRITES).done("block/0/d")
    tape.start("each", "each", None).start("each[x]", "each", WRITES)
    state = fold(tape.events)
    assert [record.key for record in state.unknown_outcomes] == ["block/0/w", "block/0/s", "each[x]"]
    assert state.steps["block"].container
    assert state.steps["each"].container
    assert not state.steps["each[x]"].container
    assert state.resume_point == {"needs": "reconcile", "steps": ["block/0/w", "block/0/s", "each[x]"]}
    assert [str(one) for one in waiting_for(state)] == [
        "reconcile:block/0/w",
        "reconcile:block/0/s",
        "reconcile:each[x]",
    ]
    assert state.progress["running"] == ["block/0/w", "block/0/r", "block/0/s", "block/0/i", "each[x]"]


def test_pending_tickets() -> None:
    tape = begin()
    for number in (1, 2):
        tape.add(
            "approval_submitted",
            f"s{number}",
            ticket_id=f"t{number}",
            step_id=f"s{number}",
            expires_at="later",
            risk_level="high",
        )
    tape.add("approval_response", "s2", ticket_id="t2", approved=True, approver_id="bob")
    tape.add("approval_response", "s1", ticket_id="t1", approved=True, approver_id="bob")
    tape.add("approval_resolved", "s1", ticket_id="t1", approved=True)
    tape.add("run_suspended", status="approval_pending", duration="2s")
    state = fold(tape.events)
    assert (state.status, state.over) == ("approval_pending", False)
    assert [ticket["ticket_id"] for ticket in state.pending] == ["t2"]
    assert state.pending[0]["step_key"] == "s2"
    assert [r["approver_id"] for r in state.tickets["t2"]["responses"]] == ["bob"]
    assert state.resume_point == {"needs": "approval", "steps": ["s2"]}
    assert not state.steps["s2"].interrupted


def test_failure_and_retry() -> None:
    tape = begin().start("block", "block").start("block/0/a", "a", WRITES)
    tape.done("block/0/a", "failed", failure={"kind": "exit_code", "message": "exit 3"})
    tape.done("block", "failed", failure={"kind": "exit_code", "message": "a: exit 3"})
    tape.add(
        "run_complete",
        status="failed",
        failure={"kind": "exit_code", "message": "m", "step_key": "block/0/a"},
        failing=["block/0/a"],
    )
    failed = fold(tape.events)
    assert (failed.status, failed.outcome, failed.failing) == ("failed", None, ["block/0/a"])
    assert failed.resume_point == {"needs": "retry", "steps": ["block/0/a"]}
    tape.add("run_resumed", void=["block/0/a", "block"])
    again = fold(tape.events)
    assert (again.status, again.steps, again.resumed, again.failure, again.failing) == ("running", {}, 1, None, [])
    assert again.void["block/0/a"].failed
    tape.start("block/0/a", "a", WRITES).done("block/0/a")
    tape.add("run_complete", status="completed", outcome={"category": "resolved", "code": "", "meta": {}})
    assert fold(tape.events).status == "completed"
    assert fold(tape.events).steps["block/0/a"].status == "success"


def test_attempts_skips_and_cancel() -> None:
    tape = begin().start("a", "a", READS).add("step_attempt", "a", step_id="a", attempt=2, reason="resumed")
    tape.start("b", "b").done("b", "skipped", reason="when")
    tape.add("run_complete", status="cancelled")
    state = fold(tape.events)
    assert (state.steps["a"].status, state.steps["a"].acts) == ("running", True)
    assert (state.steps["b"].status, state.steps["b"].reason) == ("skipped", "when")
    assert state.resume_point == {"needs": "resume", "steps": ["a"]}


@pytest.mark.parametrize(
    ("key", "parent"),
    [
        ("a", ""),
        ("a/b", "a"),
        ("a/0/b", "a"),
        ("a/0/b#2", "a"),
        ("a/0/b#2[web-1]", "a/0/b#2"),
        ("a[x%2Fy]", "a"),
        ("a[x]/1/b", "a[x]"),
        ("a#2/1/b/0/c", "a#2/1/b"),
    ],
)
def test_the_parent_of_a_key(key, parent) -> None:
    assert parent_key(key) == parent


def write(path, tape: Tape, **options) -> TraceWriter:
    trace = TraceWriter(FileSink(path), run_id="r1", **options)
    for event in tape.events:
        if event.type in ("run_complete", "run_suspended"):
            trace.close_run(event.type, event.data)
        else:
            trace.add(event.type, event.data, step_key=event.step_key)
    trace.close()
    return trace


def finished() -> Tape:
    return (
        begin()
        .start("a", "a", WRITES)
        .done("a", outputs={"n": 1, "t": "ü\ud800"})
        .add("run_complete", status="completed")
    )


def trace_in(tmp_path: Path) -> Path:
    """Where the trace of run r1 is in its directory."""
    (tmp_path / "r1").mkdir()
    return tmp_path / "r1" / "trace.jsonl"


def test_the_cache_is_believed_only_for_this_very_trace(tmp_path) -> None:
    path = trace_in(tmp_path)
    write(path, finished())
    run, file = DirectoryRun(path.parent), path.with_name("state.json")
    first = load_state(run)
    assert first == fold(read(path))
    cache = file.read_bytes()
    raw = json.loads(cache)
    assert (raw["seq"], raw["hash"]) == last_line_stamp(run)
    raw["state"]["runbook_marker"] = 1
    stamp = file.stat().st_ino
    assert load_state(run) == first
    assert file.stat().st_ino == stamp, "it was written again"
    marked = cache.replace(b'"runbook":"check"', b'"runbook":"faked"')
    broken = [
        b"",
        b"{",
        b"[]",
        b"null",
        cache[:-20],
        marked,
        cache.replace(f'"format":{FORMAT}'.encode(), b'"format":1'),
        json.dumps(raw).encode(),
    ]
    for bad in broken:
        file.write_bytes(bad)
        assert load_state(run) == first, bad
        assert file.read_bytes() == cache, bad


def test_a_state_that_no_cache_can_hold_is_folded_every_time(tmp_path) -> None:
    path = trace_in(tmp_path)
    write(path, Tape().add("run_start", runbook="half a pair: \ud800").add("run_complete", status="completed"))
    assert load_state(DirectoryRun(path.parent)) == fold(read(path))
    assert not path.with_name("state.json").exists()


def test_a_stale_cache_is_rebuilt(tmp_path) -> None:
    path = trace_in(tmp_path)
    before = write(path, finished())
    load_state(DirectoryRun(path.parent))
    more = TraceWriter(FileSink(path, append=True), run_id="r1", start_seq=before.seq, prev_hash=before.prev_hash)
    more.add("run_resumed", {})
    more.close()
    assert load_state(DirectoryRun(path.parent)).status == "running"


def test_events_longer_than_a_block_are_stamped(tmp_path) -> None:
    path = trace_in(tmp_path)
    write(path, begin().add("note", None, text="x" * 200_000))
    run = DirectoryRun(path.parent)
    assert last_line_stamp(run)[0] == 2
    path.write_bytes(path.read_bytes() + b'{"type":"torn')
    assert last_line_stamp(run)[0] == 2
    assert fold(read(path)).seq == 2
    path.unlink()
    assert last_line_stamp(run) is None


def test_reading_names_the_bad_line(tmp_path) -> None:
    path = tmp_path / "t"
    write(path, finished())
    path.write_bytes(path.read_bytes().replace(b'"seq":3', b'"seq":,', 1))
    with pytest.raises(TraceError, match="line 3"):
        list(read(path))
    with pytest.raises(TraceError, match="No such file"):
        list(read(tmp_path / "missing"))


def recover(path: Path) -> TraceEnd:
    """Read a trace to its end and cut what is torn, as a resumed run does."""
    run = DirectoryRun(path.parent)
    trace = CheckedTrace(run)
    assert len(list(trace)) == trace.end.seq
    assert run.recover().torn == (trace.end.torn if trace.end.seq else 0)
    return trace.end


def test_recovery_cuts_every_torn_end_and_keeps_it_aside(tmp_path) -> None:
    path = trace_in(tmp_path)
    aside = path.with_name("trace.torn")
    write(path, finished())
    data = path.read_bytes()
    whole = data[: data.rstrip(b"\n").rfind(b"\n") + 1]
    for cut in range(len(whole) + 1, len(data)):
        path.write_bytes(data[:cut])
        aside.unlink(missing_ok=True)
        found = recover(path)
        assert (found.seq, found.torn) == (5, cut - len(whole))
        assert path.read_bytes() == whole
        assert aside.read_bytes() == data[len(whole) : cut] + b"\n"
    more = TraceWriter(FileSink(path, append=True), run_id="r1", start_seq=found.seq, prev_hash=found.prev_hash)
    more.add("run_resumed", {"torn": found.torn})
    more.close()
    assert recover(path).seq == 6
    assert recover(path).torn == 0


def test_recovery_of_blocks_a_power_loss_left_as_zeros(tmp_path) -> None:
    path = trace_in(tmp_path)
    write(path, finished())
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"\0" * 100 + b'","prev_hash":"ab"}\n{"type":')
    recover(path)
    assert path.stat().st_size == whole


def test_an_altered_trace_is_not_recovered(tmp_path) -> None:
    path = trace_in(tmp_path)
    write(path, finished())
    data = path.read_bytes()
    for bad in (data.replace(b'"n":1', b'"n":2'), data + b"{}\n", data.replace(b'"seq":2', b'"seq":9')):
        path.write_bytes(bad)
        with pytest.raises(TraceError, match="altered"):
            recover(path)
        assert path.read_bytes() == bad


def test_a_trace_of_two_runs_or_with_events_after_its_end_was_altered(tmp_path) -> None:
    path = trace_in(tmp_path)
    before = write(path, finished())
    whole = path.read_bytes()
    for run_id, kind in (("r2", "run_resumed"), ("r1", "note")):
        path.write_bytes(whole)
        more = TraceWriter(FileSink(path, append=True), run_id=run_id, start_seq=before.seq, prev_hash=before.prev_hash)
        more.add(kind, {"n": 1})
        more.close()
        with pytest.raises(TraceError, match="event 7 does not belong there"):
            recover(path)


def test_a_seal_that_does_not_fit_its_line_was_altered(tmp_path) -> None:
    path = trace_in(tmp_path)
    write(path, finished())
    *lines, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines) + last.replace(b'"status":"completed"', b'"status":"cancelled"'))
    with pytest.raises(TraceError, match="does not match its chain_hash"):
        recover(path)


def test_folding_takes_no_memory_for_events_that_leave_nothing(tmp_path) -> None:
    path = trace_in(tmp_path)
    trace = TraceWriter(FileSink(path), run_id="r1", sync="none")
    trace.add("run_start", {"runbook": "check"})
    for number in range(4000):
        trace.add("note", {"step_id": "a", "text": "x" * 2000, "number": number}, step_key="a")
    trace.close_run("run_complete", {"status": "completed"})
    trace.close()
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    try:
        assert fold(read(path)).status == "completed"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
