"""Sinks: what the writer expects of any of them, the one that keeps nothing, and one of another kind."""

from __future__ import annotations

import json
import os
from hashlib import sha256

import pytest

from gert_core.api.errors import TraceError
from gert_core.secrets import Masker
from gert_core.trace.sinks import FileSink, NullSink
from gert_core.trace.writer import TraceWriter


class ListSink:
    """A sink in memory, as a database might be one: groups, and how many of them were durable when."""

    place = "memory"
    on_stored = None

    def __init__(self) -> None:
        self.groups: list[list[bytes]] = []
        self.durable = 0
        self.closed = 0

    def write(self, lines, last):
        self.groups.append(list(lines))

    def confirm(self):
        pass

    def sync(self):
        self.durable = len(self.groups)

    def close(self):
        self.closed += 1


class FullSink(ListSink):
    """A sink that has no room left."""

    def write(self, lines, last):
        raise OSError(28, "No space left on device")


def test_the_null_sink_takes_a_whole_run_and_leaves_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    trace = TraceWriter(NullSink(), run_id="r1", sync="event")
    trace.add("run_start", {"runbook": "x"})
    trace.add("note", {"n": 1}, step_key="a")
    trace.commit()
    trace.close_run("run_complete", {"status": "completed"})
    trace.close()
    trace.close()
    assert trace.seq == 3
    assert trace.place == os.devnull
    assert list(tmp_path.iterdir()) == []


def test_the_null_sink_still_notices_what_is_no_json() -> None:
    with pytest.raises(TraceError, match="cannot be encoded as JSON"):
        TraceWriter(NullSink(), run_id="r1").add("note", {"value": object()})


def test_any_sink_is_given_chained_masked_lines_in_groups() -> None:
    sink = ListSink()
    trace = TraceWriter(sink, run_id="r1", masker=Masker({"PW": "hunter22"}))
    trace.add("note", {"text": "hunter22"})
    trace.add("note", {"n": 2})
    assert sink.groups == []
    trace.commit()
    trace.add("note", {"n": 3})
    trace.sync()
    trace.close()
    assert [len(group) for group in sink.groups] == [2, 1]
    assert (sink.durable, sink.closed) == (2, 1)
    lines = [line for group in sink.groups for line in group]
    assert not any(b"hunter22" in line or b"\n" in line for line in lines)
    before = [b"0" * 64, *(sha256(line).hexdigest().encode() for line in lines)]
    assert [json.loads(line)["prev_hash"].encode() for line in lines] == before[:-1]


def test_without_sync_a_sink_is_never_asked_to_be_durable() -> None:
    sink = ListSink()
    trace = TraceWriter(sink, run_id="r1", sync="none")
    trace.add("note", {})
    trace.close_run("run_complete", {"status": "completed"})
    trace.close()
    assert (len(sink.groups), sink.durable) == (1, 0)


def test_the_first_fault_of_a_sink_is_final_and_the_sink_is_closed() -> None:
    sink = FullSink()
    trace = TraceWriter(sink, run_id="r1")
    trace.add("note", {})
    with pytest.raises(TraceError, match="No space left on device"):
        trace.commit()
    with pytest.raises(TraceError, match="No space left on device"):
        trace.add("note", {})
    trace.close()
    assert sink.closed == 1


def test_a_file_sink_writes_lines_and_may_be_closed_twice(tmp_path) -> None:
    sink = FileSink(tmp_path / "t")
    sink.write([b"one", b"two"], 2)
    sink.sync()
    sink.close()
    sink.close()
    assert (tmp_path / "t").read_bytes() == b"one\ntwo\n"
    again = FileSink(tmp_path / "t", append=True)
    again.write([b"three"], 3)
    again.close()
    assert (tmp_path / "t").read_bytes() == b"one\ntwo\nthree\n"
