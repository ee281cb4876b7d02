"""Conformance tests of runs that come from another store, or leave for one."""

from __future__ import annotations

from decimal import Decimal
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING, Final

import pytest

from gert_core.api import ErrorKind, LedgerEntry, RunError, RunQuery, StoreError, TraceError
from gert_core.engine.copying import copy_run, move_run
from gert_core.engine.resume.read import read_run
from gert_core.runs.export import export_archive
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.store_case import StoreCase
from gert_core.testing.store_lines import event_lines, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api import RunStore, StoredRun

RUN: Final = "20260101T000000Z-a-1"
LINES: Final = 450
"""More than are written at once."""
BLOBS: Final = {
    "meta.json": b'{"run_id": "made-up"}\n',
    "tickets/t1.json": b'{"ticket_id": "t1", "runbook_name": "a", "step_id": "s1"}',
    "tickets/t1.answers/0001-aa.json": b"{}",
    "attachments/a.bin": bytes(range(256)) * 300,
    "output/s1-00.1.log": b"hello\n",
}
AT: Final = "2026-01-01T00:00:00.000000Z"
CLAIM: Final = LedgerEntry(key=sha256(b"c").hexdigest(), owner=f"{RUN} token", at=AT, state="unknown")
AMOUNT: Final = LedgerEntry(key=sha256(b"r").hexdigest(), owner=f"{RUN} s1", at=AT, amount=Decimal("1.25"))


class CopyConformance(StoreCase):
    """The tests of import, copy and move; ``StoreConformance`` has them too."""

    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> RunStore:
        """Return a store of another kind, or in another place."""
        return DirectoryStore(tmp_path / "elsewhere")

    def fill(self, store: RunStore, end: str | None) -> StoredRun:
        """Return a run with lines, blobs and entries of the ledger."""
        run = write_run(store, RUN, LINES, end=end, facts={"runbook_path": "/x", "mode": "real"})
        for name, data in BLOBS.items():
            run.put(name, data)
        run.put("state.json", b"a cache")
        for entry in (CLAIM, AMOUNT):
            store.ledger().restore(entry)
        return run

    def test_store_round_trip_of_an_imported_run_with_everything(self, store: RunStore, other: RunStore) -> None:
        lines = [line + b"\n" for line in event_lines(RUN, LINES, end="approval_pending")]
        store.import_run(RUN, lines=lambda: lines, blobs=lambda: list(BLOBS.items())).close()
        run = other.open(RUN)
        assert list(run.lines()) == lines
        assert {name: run.get(name) for name in run.names()} == BLOBS
        (row,) = other.runs(RunQuery())
        assert (row.status, row.last_seq, row.runbook) == ("approval_pending", LINES, "a")
        assert [ticket.status for ticket in other.tickets(ticket_id="t1")] == ["answered"]
        lease = self.held(run)
        sink = run.sink(seq=LINES, lease=lease)
        sink.close()
        with pytest.raises(StoreError) as caught:
            store.import_run(RUN, lines=lambda: lines, blobs=list)
        assert caught.value.kind == ErrorKind.RUN_EXISTS

    def test_store_import_that_goes_wrong_leaves_nothing(self, store: RunStore, other: RunStore) -> None:
        def torn() -> Iterator[bytes]:
            yield from (line + b"\n" for line in event_lines(RUN, LINES))
            raise TraceError("the other store is gone")

        with pytest.raises(TraceError, match="is gone"):
            store.import_run(RUN, lines=torn, blobs=BLOBS.items)
        assert list(other.runs(RunQuery())) == []
        assert list(other.tickets()) == []
        store.import_run(RUN, lines=lambda: [line + b"\n" for line in event_lines(RUN, 3)], blobs=list).close()
        assert sum(1 for _ in other.open(RUN).lines()) == 3

    def test_store_ledger_gives_and_takes_the_entries_of_a_run(self, store: RunStore, other: RunStore) -> None:
        ledger, seen = store.ledger(), other.ledger()
        assert list(ledger.entries(RUN)) == []
        for entry in (CLAIM, AMOUNT, CLAIM, AMOUNT):
            ledger.restore(entry)
        ledger.claim(sha256(b"x").hexdigest(), f"{RUN}0 token", AT)
        assert sorted(seen.entries(RUN), key=lambda one: one.amount is None) == [AMOUNT, CLAIM]
        assert seen.claim(CLAIM.key, "another", AT).owner == CLAIM.owner
        assert (seen.total(AMOUNT.key).count, seen.total(AMOUNT.key).amount) == (1, Decimal("1.25"))
        assert seen.total(AMOUNT.key, 60).count == 0, "it counts from when it was made"
        other_run = LedgerEntry(key=CLAIM.key, owner="20260101T000000Z-b-1 t", at=AT, state="open")
        ledger.restore(other_run)
        assert seen.claim(CLAIM.key, "another", AT).owner == CLAIM.owner, "what another run has stays"

    def test_store_identical_export_of_a_run_that_is_copied(
        self, store: RunStore, elsewhere: RunStore, tmp_path: Path
    ) -> None:
        run = self.fill(store, "completed")
        done = copy_run(store, RUN, elsewhere)
        assert (done.what, done.events, done.blobs) == ("copied", LINES, len(BLOBS))
        copy = elsewhere.open(RUN)
        assert list(copy.lines()) == list(run.lines())
        assert {name: copy.get(name) for name in copy.names()} == BLOBS
        assert len(list(elsewhere.ledger().entries(RUN))) == 2
        assert copy_run(store, RUN, elsewhere).what == "there"
        for number, one in enumerate((run, copy)):
            export_archive(one, tmp_path / f"{number}.tar")
        assert (tmp_path / "0.tar").read_bytes() == (tmp_path / "1.tar").read_bytes()
        copy.remove()
        assert copy_run(store, RUN, elsewhere, output=False).blobs == len(BLOBS) - 1
        assert elsewhere.open(RUN).names("output/") == []

    def test_store_move_there_and_back(self, store: RunStore, elsewhere: RunStore) -> None:
        self.fill(elsewhere, "approval_pending")
        with pytest.raises(RunError) as caught:
            copy_run(elsewhere, RUN, store)
        assert caught.value.kind == ErrorKind.RUN_UNFINISHED
        assert list(store.runs(RunQuery())) == []
        assert move_run(elsewhere, RUN, store, by="tester").what == "moved"
        self._is_moved(elsewhere, store)
        (row,) = store.runs(RunQuery())
        assert (row.status, row.last_seq) == ("approval_pending", LINES)
        assert [ticket.run_id for ticket in store.tickets()] == [RUN]
        assert move_run(store, RUN, elsewhere, by="tester").what == "moved"
        self._is_moved(store, elsewhere)
        assert b"moved" not in (elsewhere.open(RUN).get("meta.json") or b"")

    def _is_moved(self, source: RunStore, target: RunStore) -> None:
        """Check what is left of a run where it was."""
        from contextlib import ExitStack

        (row,) = source.runs(RunQuery())
        assert (row.status, row.blocked_on, row.finished is not None) == ("moved", (), True)
        assert list(source.tickets()) == []
        assert sum(1 for _ in source.open(RUN).lines()) == LINES
        with ExitStack() as stack, pytest.raises(RunError, match="was moved to") as caught:
            read_run(source, RUN, stack)
        assert (caught.value.kind, caught.value.hint) == (ErrorKind.RUN_MOVED, f"add --store {quote(target.url)}")
        with pytest.raises(RunError, match="was moved to"):
            copy_run(source, RUN, target)

    def test_store_move_that_was_interrupted_is_repeated(self, store: RunStore, elsewhere: RunStore) -> None:
        self.fill(store, "approval_pending")

        class Killed(BaseException):
            pass

        real = elsewhere.import_run

        def killed(*args: object, **named: object) -> StoredRun:
            raise Killed

        def killed_later(*args: object, **named: object) -> StoredRun:
            real(*args, **named)  # type: ignore[arg-type]
            raise Killed

        for now in (killed, killed_later):
            elsewhere.import_run = now  # type: ignore[method-assign]
            with pytest.raises(Killed):
                move_run(store, RUN, elsewhere, by="tester")
            with pytest.raises(RunError, match="the move was interrupted") as caught:
                copy_run(store, RUN, elsewhere)
            assert caught.value.kind == ErrorKind.RUN_MOVED
        elsewhere.import_run = real  # type: ignore[method-assign]
        assert move_run(store, RUN, elsewhere, by="tester").what == "moved"
        self._is_moved(store, elsewhere)

    def test_store_move_that_fails_takes_its_mark_back(self, store: RunStore, elsewhere: RunStore) -> None:
        self.fill(store, "approval_pending")

        def full(*args: object, **named: object) -> StoredRun:
            raise StoreError("the disk is full")

        elsewhere.import_run = full  # type: ignore[method-assign]
        with pytest.raises(StoreError, match="is full"):
            move_run(store, RUN, elsewhere, by="tester")
        (row,) = store.runs(RunQuery())
        assert row.status == "approval_pending"

    def test_store_tampering_found_when_a_run_is_copied(self, store: RunStore, elsewhere: RunStore) -> None:
        lines = [line + b"\n" for line in event_lines(RUN, 9, end="completed")]
        lines[4] = lines[4].replace(b'"n":5', b'"n":6')
        store.import_run(RUN, lines=lambda: lines, blobs=list).close()
        with pytest.raises(TraceError, match="event 5 was altered") as caught:
            copy_run(store, RUN, elsewhere)
        assert caught.value.kind == ErrorKind.TRACE_ALTERED
        assert list(elsewhere.runs(RunQuery())) == []


__all__ = ["CopyConformance"]
