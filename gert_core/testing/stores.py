"""Conformance tests of run stores; a store's tests subclass them and say where to keep runs."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from gert_core.api import ErrorKind, RunQuery, StoreError
from gert_core.testing.store_case import META, TTL
from gert_core.testing.store_copies import CopyConformance
from gert_core.testing.store_ledgers import LedgerConformance
from gert_core.testing.store_lines import event_lines, write_group, write_run, write_synced
from gert_core.testing.store_lists import ListsConformance
from gert_core.testing.store_traces import LinesConformance

if TYPE_CHECKING:
    from gert_core.api import RunStore


class StoreConformance(LinesConformance, ListsConformance, LedgerConformance, CopyConformance):
    """The tests every run store must pass; subclass it, set ``plugin`` and define ``url``."""

    def test_store_schema_info_says_what_it_is_and_the_url_has_no_password(self, store: RunStore) -> None:
        info = store.schema_info()
        assert info.backend
        assert info.schema_version
        assert store.url.partition(":")[0]
        assert "s3cret" not in store.url

    # -- runs -----------------------------------------------------------------------------------------------

    def test_life_id_reuse_is_refused_and_the_first_run_stays(self, store: RunStore, other: RunStore) -> None:
        run = store.create("20260101T000000Z-a-1", blobs={"meta.json": b'{"a": 1}\n'})
        assert run.run_id == "20260101T000000Z-a-1"
        assert list(run.lines()) == []
        assert run.last_line() == b""
        assert other.open(run.run_id).get("meta.json") == b'{"a": 1}\n'
        with pytest.raises(StoreError) as caught:
            other.create(run.run_id, blobs={"meta.json": b"{}\n"})
        assert caught.value.kind == ErrorKind.RUN_EXISTS
        assert isinstance(caught.value, OSError)
        assert store.open(run.run_id).get("meta.json") == b'{"a": 1}\n', "the first one stays"

    def test_store_a_run_that_is_missing_is_not_found(self, store: RunStore) -> None:
        with pytest.raises(StoreError) as caught:
            store.open("20260101T000000Z-none-1")
        assert (caught.value.kind, caught.value.exit_code) == (ErrorKind.RUN_NOT_FOUND, 2)

    def test_store_a_run_is_removed_with_everything(self, store: RunStore) -> None:
        run = write_run(store, "20260101T000000Z-a-1")
        run.put("attachments/a.txt", b"a")
        run.remove()
        with pytest.raises(StoreError) as caught:
            store.open(run.run_id)
        assert caught.value.kind == ErrorKind.RUN_NOT_FOUND
        assert list(store.runs(RunQuery())) == []
        assert list(store.create(run.run_id, blobs={}).lines()) == []

    # -- blobs ----------------------------------------------------------------------------------------------

    def test_store_blobs_are_put_replaced_listed_and_deleted(self, store: RunStore, other: RunStore) -> None:
        run = store.create("r1", blobs=META)
        data = bytes(range(256)) * 100
        run.put("attachments/a b.bin", data)
        run.put("attachments/parts.txt", iter([b"one", b"two"]))
        run.put("state.json", b"1", durable=False)
        run.put("state.json", b"2", durable=False)
        seen = other.open("r1")
        assert seen.get("attachments/a b.bin") == data
        assert seen.get("attachments/parts.txt") == b"onetwo"
        assert seen.get("state.json") == b"2"
        assert seen.get("attachments/none") is None
        assert seen.names() == ["attachments/a b.bin", "attachments/parts.txt", "meta.json", "state.json"]
        assert seen.names("attachments/") == ["attachments/a b.bin", "attachments/parts.txt"]
        assert seen.names("none/") == []
        info = seen.info("attachments/a b.bin")
        assert info is not None
        assert (info.size, bool(info.written)) == (len(data), True)
        assert seen.info("attachments/none") is None
        assert run.delete("attachments/a b.bin")
        assert not run.delete("attachments/a b.bin")
        assert seen.names("attachments/") == ["attachments/parts.txt"]

    def test_store_blobs_that_are_new_never_replace(self, store: RunStore) -> None:
        run = store.create("r1", blobs=META)
        run.put("tickets/t1.answers/0001-aa.json", b"first", new=True)
        with pytest.raises(StoreError) as caught:
            run.put("tickets/t1.answers/0001-aa.json", b"second", new=True)
        assert caught.value.kind == ErrorKind.BLOB_EXISTS
        found = store.open("r1").blob("tickets/t1.answers/0001-aa.json")
        assert found is not None
        assert (found.data, found.links) == (b"first", 1)
        assert found.written, "the store knows when it was written"

    def test_store_blobs_of_many_writers_of_a_new_one_one_wins(self, store: RunStore) -> None:
        run, won, kinds = store.create("r1", blobs=META), [], set()

        def work(number: int) -> None:
            for name in range(10):
                try:
                    run.put(f"comments/{name}.json", b"%d" % number, new=True)
                    won.append(name)
                except StoreError as error:
                    kinds.add(error.kind)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(won) == list(range(10))
        assert kinds == {ErrorKind.BLOB_EXISTS}

    def test_store_blobs_grow_by_append(self, store: RunStore) -> None:
        run = store.create("r1", blobs=META)
        for part in (b"one\n", b"two\n", b"three\n"):
            run.append("output/a.1.log", part)
        run.close()
        end = time.monotonic() + 5
        while time.monotonic() < end and store.open("r1").get("output/a.1.log") != b"one\ntwo\nthree\n":
            time.sleep(0.05)
        assert store.open("r1").get("output/a.1.log") == b"one\ntwo\nthree\n"
        assert store.open("r1").names("output/") == ["output/a.1.log"]

    @pytest.mark.parametrize("name", ["", "/a", "../a", "a/../b", "a//b", "a/", "a/.~b", "a\0b", "lock", "trace.jsonl"])
    def test_store_blobs_with_names_that_lead_elsewhere_are_refused(self, store: RunStore, name: str) -> None:
        run = store.create("r1", blobs=META)
        for call in (lambda: run.put(name, b"x"), lambda: run.get(name), lambda: run.delete(name)):
            with pytest.raises(Exception, match="is not the name of a blob"):
                call()

    # -- leases ---------------------------------------------------------------------------------------------

    def test_store_lease_refuse_renew_and_foreign_release(self, store: RunStore, other: RunStore) -> None:
        run, seen = store.create("r1", blobs=META), other.open("r1")
        assert seen.holder() is None
        lease = self.held(run)
        assert seen.acquire("w2", TTL) is None
        held = seen.holder()
        assert held is not None
        assert (held.worker_id, held.fence) == ("w1", lease.fence)
        assert run.renew(lease, TTL)
        assert not seen.release(lease) or self.expires, "only who holds it gives it back"
        run.release(lease)
        assert seen.holder() is None
        again = seen.acquire("w2", TTL)
        assert again is not None
        assert again.fence > lease.fence or not self.expires
        assert not run.renew(lease, TTL)
        assert not run.release(lease), "the lease of another worker stays"
        assert seen.renew(again, TTL)

    def test_store_lease_is_taken_again_by_its_own_worker(self, store: RunStore) -> None:
        run = store.create("r1", blobs=META)
        first, second = self.held(run), self.held(run)
        assert second.fence > first.fence or not self.expires

    def test_store_second_writer_refused_without_the_lease(self, store: RunStore, other: RunStore) -> None:
        run = store.create("r1", blobs=META)
        lease = self.held(run)
        run.release(lease)
        assert other.open("r1").acquire("w2", TTL) is not None or not self.expires
        with pytest.raises(StoreError) as caught:
            write_group(run, event_lines("r1", 1), seq=0, lease=lease)
        assert caught.value.kind == ErrorKind.LEASE_LOST
        assert store.open("r1").last_line() == b""


class DatabaseStoreConformance(StoreConformance):
    """The tests of a store whose leases end by time: those of every store, and what that adds."""

    def test_store_lease_expiry_lets_another_take_over_and_the_zombie_is_refused(
        self, store: RunStore, other: RunStore
    ) -> None:
        run, seen = store.create("r1", blobs=META), other.open("r1")
        lease = self.held(run, ttl=0.3)
        sink, lines = run.sink(seq=0, lease=lease), event_lines("r1", 3)
        sink.write(lines[:1], 1)
        sink.sync()
        time.sleep(0.5)
        assert seen.holder() is None
        taken = seen.acquire("w2", TTL)
        assert taken is not None
        assert taken.fence > lease.fence
        with pytest.raises(StoreError) as caught:
            write_synced(sink, lines[1:2], 2)
        assert caught.value.kind == ErrorKind.LEASE_LOST
        assert not run.renew(lease, TTL)
        assert len(list(seen.lines())) == 1
        with suppress(StoreError):  # it was raised above
            sink.close()
        after = seen.sink(seq=1, lease=taken)
        after.write(lines[1:], 3)
        after.close()
        assert len(list(seen.lines())) == 3


__all__ = ["DatabaseStoreConformance", "StoreConformance"]
