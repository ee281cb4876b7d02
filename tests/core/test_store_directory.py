"""The directory store passes the conformance of run stores, and lays out its files as before."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

from gert_core.api import ErrorKind, RunError, StoreError
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.store_lines import event_lines, write_run
from gert_core.testing.stores import StoreConformance


class TestDirectoryStore(StoreConformance):
    plugin = os  # the store is part of the core
    expires = False

    def url(self, tmp_path):
        return f"file:{tmp_path / 'runs'}"

    def opener(self):
        return "gert_core.stores.directory:open_store"

    def test_store_file_layout_and_modes_are_as_before(self, store, tmp_path):
        run = write_run(store, "r1")
        run.put("tickets/t1.json", b"{}")
        run.put("tickets/t1.answers/0001-aa.json", b"{}", new=True)
        run.append("output/a.log", b"x")
        found = {
            str(path.relative_to(tmp_path / "runs")): stat.S_IMODE(path.stat().st_mode)
            for path in (tmp_path / "runs").rglob("*")
        }
        assert found == {
            ".tickets": 0o700,
            ".tickets/t1": 0o600,
            "r1": 0o700,
            "r1/lock": 0o600,
            "r1/meta.json": 0o600,
            "r1/output": 0o700,
            "r1/output/a.log": 0o600,
            "r1/tickets": 0o700,
            "r1/tickets/t1.answers": 0o700,
            "r1/tickets/t1.answers/0001-aa.json": 0o600,
            "r1/tickets/t1.json": 0o600,
            "r1/trace.jsonl": 0o600,
        }
        assert (run.path / "trace.jsonl").read_bytes() == b"".join(line + b"\n" for line in event_lines("r1", 4))
        assert (run.path / "lock").read_text() == f"{os.getpid()}\nw1\n"

    @pytest.mark.parametrize("torn", [b'{"type":"no', b"\0" * 10])
    def test_a_torn_end_is_cut_and_kept(self, store, torn):
        run = write_run(store, "r1")
        trace = run.path / "trace.jsonl"
        whole = trace.read_bytes()
        trace.write_bytes(whole + torn)
        again = store.open("r1")
        lease = again.acquire("w2", 1)
        assert list(again.lines())[-1] == torn
        recovered = again.recover()
        assert (recovered.seq, recovered.torn) == (4, len(torn))
        assert trace.read_bytes() == whole
        assert again.get("trace.torn") == torn + b"\n"
        assert again.recover().torn == 0
        again.sink(seq=4, lease=lease).close()

    @pytest.mark.parametrize("content", [b'{"type":"no', b"\0" * 10, b"somebody's text"])
    def test_nothing_is_cut_before_the_first_whole_line(self, store, content):
        run = write_run(store, "r1")
        trace = run.path / "trace.jsonl"
        trace.write_bytes(content)
        with store.open("r1") as again:
            again.acquire("w2", 1)
            recovered = again.recover()
            assert (recovered.seq, recovered.torn) == (0, 0)
            assert again.get("trace.torn") is None
        assert trace.read_bytes() == content

    def test_another_file_in_place_of_the_trace_is_not_continued(self, store):
        run = write_run(store, "r1")
        again = store.open("r1")
        lease = again.acquire("w2", 1)
        assert len(list(again.lines())) == 4
        trace = run.path / "trace.jsonl"
        data = trace.read_bytes()
        trace.rename(run.path / "moved.jsonl")
        trace.write_bytes(data)
        with pytest.raises(RunError, match="was replaced by another file"):
            again.sink(seq=4, lease=lease)

    @pytest.mark.parametrize("name", ["meta.json", "trace.jsonl", "tickets/t1.json", "tickets"])
    def test_links_are_not_followed(self, store, tmp_path, name):
        run = write_run(store, "r1")
        run.put("tickets/t1.json", b"{}")
        target = run.path / name
        target.rename(tmp_path / "elsewhere")
        target.symlink_to(tmp_path / "elsewhere")
        seen = store.open("r1")
        with pytest.raises(RunError, match="symbolic link"):
            list(seen.lines()) if name == "trace.jsonl" else seen.get("tickets/t1.json" if "tick" in name else name)
        if name == "tickets":
            with pytest.raises(RunError, match="symbolic link"):
                seen.names("tickets/")
            with pytest.raises(RunError, match="symbolic link"):
                seen.put("tickets/t2.json", b"{}")

    def test_a_missing_trace_is_not_an_empty_one(self, store):
        run = write_run(store, "r1")
        (run.path / "trace.jsonl").unlink()
        with pytest.raises(FileNotFoundError):
            list(store.open("r1").lines())

    def test_a_directory_that_cannot_be_made_is_one_sentence(self, tmp_path):
        (tmp_path / "runs").write_text("")
        with pytest.raises(StoreError, match=r"the run directory .*/runs/r1 cannot be created") as caught:
            self.open_store(tmp_path).create("r1", blobs={})
        assert caught.value.kind == ErrorKind.RUN_DIRECTORY


class TestTicketHints:
    """A ticket is found by a hint to its run, which is only a hint."""

    @pytest.fixture
    def store(self, tmp_path):
        store = DirectoryStore(tmp_path / "runs")
        for number in (1, 2, 3):
            run = write_run(store, f"2026010{number}T000000Z-a-1")
            run.put(f"tickets/t{number}.json", b'{"runbook_name": "a", "step_id": "s"}')
        return store

    def found(self, store, ticket):
        return [row.run_id for row in store.tickets(ticket_id=ticket)]

    def test_no_other_run_is_looked_at(self, store, monkeypatch):
        monkeypatch.setattr(DirectoryStore, "run_ids", lambda self: pytest.fail("all runs were listed"))
        assert self.found(store, "t2") == ["20260102T000000Z-a-1"]
        assert list(store.tickets(ticket_id="t2", step_id="other")) == []

    @pytest.mark.parametrize("hint", ["20260103T000000Z-a-1\n", "20260101T000000Z-gone-1\n", "../..\n", "\xff", ""])
    def test_a_wrong_hint_does_not_matter(self, store, hint):
        (store.root / ".tickets" / "t2").write_text(hint)
        assert self.found(store, "t2") == ["20260102T000000Z-a-1"]

    def test_a_missing_hint_does_not_matter(self, store):
        shutil.rmtree(store.root / ".tickets")
        assert self.found(store, "t1") == ["20260101T000000Z-a-1"]
        for ticket in ("", "..", "a/b", "none"):
            assert self.found(store, ticket) == []

    def test_what_is_in_the_place_of_hints_is_left_alone(self, store, tmp_path):
        shutil.rmtree(store.root / ".tickets")
        (tmp_path / "mine").mkdir()
        (store.root / ".tickets").symlink_to(tmp_path / "mine")
        store.open("20260101T000000Z-a-1").put("tickets/t9.json", b"{}")
        assert list((tmp_path / "mine").iterdir()) == []
        assert self.found(store, "t9") == ["20260101T000000Z-a-1"]

    def test_a_run_that_is_deleted_leaves_no_hint(self, store):
        store.open("20260101T000000Z-a-1").remove()
        assert sorted(path.name for path in (store.root / ".tickets").iterdir()) == ["t2", "t3"]
