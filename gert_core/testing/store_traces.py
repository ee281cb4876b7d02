"""Conformance tests of the lines of a run in a store."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from gert_core.api import ErrorKind, StoreError
from gert_core.engine.cancel import Deadline, Stop
from gert_core.testing.store_case import META, StoreCase
from gert_core.testing.store_lines import event_lines, write_group, write_more, write_run

if TYPE_CHECKING:
    from gert_core.api import RunStore


class LinesConformance(StoreCase):
    """The tests of the lines of a run; ``StoreConformance`` has them too."""

    def test_store_round_trip_byte_for_byte(self, store: RunStore, other: RunStore) -> None:
        run, lines = store.create("r1", blobs=META), event_lines("r1", 50)
        lines[7] = lines[7].replace(b'"data":{', b'"data":{"odd":"\xc3\xa4\xe2\x80\xa8 \xf0\x9f\x90\x8d \\u0000",')
        lease = self.held(run)
        sink = run.sink(seq=0, lease=lease)
        sink.write(lines[:1], 1)
        sink.write(lines[1:40], 40)
        sink.sync()
        sink.write(lines[40:], 50)
        sink.close()
        sink.close()
        run.release(lease)
        seen = other.open("r1")
        assert list(seen.lines()) == [line + b"\n" for line in lines]
        assert seen.last_line() == lines[-1] + b"\n"
        assert seen.line(8) == lines[7] + b"\n"
        assert seen.line(51) == b""

    def test_store_since_seq_is_exclusive(self, store: RunStore) -> None:
        run = write_run(store, "r1", 10)
        lines = [line + b"\n" for line in event_lines("r1", 10)]
        for since in (0, 1, 5, 9, 10, 11):
            assert list(store.open("r1").lines(since)) == lines[since:]
        assert [list(run.lines(since)) == lines[since:] for since in (9, 3, 0, 10)] == [True] * 4

    def test_store_follow_sees_a_synced_line_at_once(self, store: RunStore, other: RunStore) -> None:
        run = store.create("r1", blobs=META)
        sink, lines = run.sink(seq=0, lease=self.held(run)), event_lines("r1", 3)
        for number, line in enumerate(lines, 1):
            sink.write([line], number)
            sink.sync()
            assert other.open("r1").last_line() == line + b"\n"
        sink.close()

    def test_store_follow_observers_hear_of_lines_that_can_be_read(self, store: RunStore, other: RunStore) -> None:
        run, heard = store.create("r1", blobs=META), []
        sink, lines = run.sink(seq=0, lease=self.held(run)), event_lines("r1", 4)
        sink.on_stored = lambda last: heard.append((last, sum(1 for _ in other.open("r1").lines()) >= last))
        for number, line in enumerate(lines, 1):
            sink.write([line], number)
        sink.sync()
        assert heard, "nothing was told at the sync"
        sink.close()
        assert heard[-1][0] == 4
        assert all(there for _, there in heard)
        assert [last for last, _ in heard] == sorted({last for last, _ in heard})

    def test_store_follow_sees_lines_that_were_held_back_soon(self, store: RunStore, other: RunStore) -> None:
        run = store.create("r1", blobs=META)
        sink = run.sink(seq=0, lease=self.held(run))
        sink.write(event_lines("r1", 1), 1)
        end = time.monotonic() + 5
        while time.monotonic() < end and not other.open("r1").last_line():
            time.sleep(0.02)
        assert other.open("r1").last_line(), "a group is held back for 0.2 s at most"
        sink.close()

    def test_store_round_trip_goes_on_behind_the_last_line(self, store: RunStore, other: RunStore) -> None:
        write_run(store, "r1", 5, of=9)
        again = other.open("r1")
        lease = self.held(again, "w2")
        assert again.recover().torn == 0
        assert again.recover().seq == 5
        sink = again.sink(seq=5, lease=lease)
        sink.write(event_lines("r1", 9)[5:], 9)
        sink.close()
        assert list(store.open("r1").lines()) == [line + b"\n" for line in event_lines("r1", 9)]

    def test_store_second_writer_refused_behind_another_line(self, store: RunStore) -> None:
        write_run(store, "r1", 5)
        again = store.open("r1")
        lease = self.held(again, "w2")
        again.recover()
        with pytest.raises(StoreError) as caught:
            write_group(again, event_lines("r1", 4)[3:], seq=3, lease=lease)
        assert caught.value.kind == ErrorKind.LEASE_LOST
        assert len(list(store.open("r1").lines())) == 5

    def test_store_gapless_seq_from_8_threads(self, store: RunStore) -> None:
        from gert_core.trace.writer import TraceWriter

        run = store.create("r1", blobs=META)
        writer = TraceWriter(run.sink(seq=0, lease=self.held(run)), run_id="r1")
        failed: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(25):
                    writer.add("note", {"thread": threading.get_ident()})
                    writer.sync()
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        writer.close()
        assert failed == []
        found = list(store.open("r1").lines())
        assert [b'"seq":%d,' % number in line for number, line in enumerate(found, 1)] == [True] * 200

    def test_store_follow_waits_for_more_and_until_the_deadline(self, store: RunStore, other: RunStore) -> None:
        run = write_run(store, "r1", 3, of=4, close=False)
        seen = other.open("r1")
        assert len(list(seen.lines())) == 3
        began = time.monotonic()
        assert seen.wait(2, Deadline(Stop(), 30)), "there is a line already"
        assert time.monotonic() - began < 5
        list(seen.lines(3))
        began = time.monotonic()
        more = False
        while not more and time.monotonic() - began < 0.6:  # a store may announce what was seen already, once
            more = seen.wait(3, Deadline(Stop(), 0.3)) and bool(list(seen.lines(3)))
        assert not more

        def later() -> None:
            time.sleep(0.2)
            write_more(run, 3, 4)

        thread = threading.Thread(target=later)
        thread.start()
        deadline = Deadline(Stop(), 10)
        found: list[bytes] = []
        while not found and not deadline.stopped:
            seen.wait(3, deadline)
            found = list(seen.lines(3))
        thread.join()
        assert found == [event_lines("r1", 4)[3] + b"\n"]


__all__ = ["LinesConformance"]
