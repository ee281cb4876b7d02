"""The directory store passes the conformance of run stores, and lays out its files as before."""

from __future__ import annotations

import os
import stat

import pytest

from gert_core.api import ErrorKind, RunError, StoreError
from gert_core.testing.store_lines import event_lines, write_run
from gert_core.testing.stores import StoreConformance


class TestDirectoryStore(StoreConformance):
    plugin = os  # the store is part of the core
    expires = False

    def url(self, tmp_path):
        return f"file:{tmp_path / 'runs'}"

    def opener(self):
        return "gert_core.stores.directory:open_store"

    def test_the_layout_and_modes_are_as_before(self, store, tmp_path):
        run = write_run(store, "r1")
        run.put("tickets/t1.json", b"{}")
        run.put("tickets/t1.answers/0001-aa.json", b"{}", new=True)
        run.append("output/a.log", b"x")
        found = {
            str(path.relative_to(tmp_path / "runs")): stat.S_IMODE(path.stat().st_mode)
            for path in (tmp_path / "runs").rglob("*")
        }
        assert found == {
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
