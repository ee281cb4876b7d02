"""Run directories: ids, modes, locks, links, metadata, and the list of runs."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from gert_core.api.errors import RunError, StoreError, UsageError
from gert_core.engine.holding import hold
from gert_core.runs.cache import load_state
from gert_core.runs.directory import new_run_id, runs_root
from gert_core.runs.listing import list_runs, run_info
from gert_core.runs.meta import META, meta_blob, read_meta
from gert_core.stores.directory import DirectoryRun, DirectoryStore
from gert_core.trace.sinks import FileSink
from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from pathlib import Path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def finish(directory: DirectoryRun, *, status: str | None = "completed", path: Path | None = None) -> None:
    trace = TraceWriter(FileSink(path or directory.trace.path), run_id=directory.run_id)
    trace.add("run_start", {"runbook": "check"})
    if status:
        trace.close_run("run_complete", {"status": status, "outcome": {"category": "resolved", "code": "", "meta": {}}})
    trace.close()


@contextmanager
def lock(directory: DirectoryRun):
    with ExitStack() as stack:
        yield hold(directory, stack)


def locked(directory: DirectoryRun) -> bool:
    return directory.holder() is not None


def test_run_ids_are_sortable_unique_and_safe() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    run_id = new_run_id("Service: Health/../Check ü", now=when)
    assert re.fullmatch(r"20260102T030405Z-service-health-check-[0-9a-f]{8}", run_id)
    assert new_run_id("x") != new_run_id("x")
    assert re.fullmatch(r"\d{8}T\d{6}Z-runbook-[0-9a-f]{8}", new_run_id("÷÷"))
    assert len(new_run_id("x" * 500)) < 100


def test_where_runs_are_kept(tmp_path) -> None:
    assert runs_root(None, cwd=tmp_path) == tmp_path / "runs"
    project = SimpleNamespace(root=tmp_path, model=SimpleNamespace(runs_dir="kept/here"))
    assert runs_root(project) == tmp_path / "kept" / "here"


def test_directory_and_files_are_private(tmp_path) -> None:
    old = os.umask(0)
    try:
        directory = DirectoryStore(tmp_path / "a" / "runs").create("r1", blobs={})
        directory.put(META, meta_blob("r1", runbook=tmp_path / "x.yaml"))
        finish(directory)
        assert load_state(directory).status == "completed"
        with lock(directory):
            pass
        for name in ("attachments", "tickets"):
            directory.put(f"{name}/x", b"")
            assert mode(directory.path) == mode(directory.path / name) == 0o700
        for name in ("meta.json", "state.json", "trace.jsonl", "lock"):
            assert mode(directory.path / name) == 0o600, name
    finally:
        os.umask(old)


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "../x", "a/b", "/etc", "a\0b", ".hidden", "-x", "a b", "x" * 300, "a\n"]
)
def test_ids_that_are_paths_are_refused(tmp_path, bad) -> None:
    store = DirectoryStore(tmp_path)
    for attempt in (store.open, lambda run_id: store.create(run_id, blobs={})):
        with pytest.raises(UsageError, match="is not a valid run id"):
            attempt(bad)
    assert list(tmp_path.iterdir()) == []


def test_missing_existing_and_unwritable(tmp_path) -> None:
    with pytest.raises(StoreError, match="there is no run r1"):
        DirectoryStore(tmp_path).open("r1")
    DirectoryStore(tmp_path).create("r1", blobs={})
    with pytest.raises(StoreError, match=r"there is a run r1 in .* already"):
        DirectoryStore(tmp_path).create("r1", blobs={})
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be created"):
        DirectoryStore(tmp_path / "file").create("r1", blobs={})


def test_symbolic_links_are_refused(tmp_path) -> None:
    target = DirectoryStore(tmp_path / "elsewhere").create("r1", blobs={})
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "r1").symlink_to(target.path)
    with pytest.raises(RunError, match="symbolic link"):
        DirectoryStore(tmp_path / "runs").open("r1")
    assert list(list_runs(DirectoryStore(tmp_path / "runs"))) == []
    for name in ("meta.json", "lock", "attachments", "tickets"):
        (target.path / name).symlink_to(tmp_path / "bait")
    with pytest.raises(RunError, match="cannot be read"):
        read_meta(target)
    with pytest.raises(RunError, match="cannot be locked"), lock(target):
        pass
    for name in ("attachments", "tickets"):
        with pytest.raises(RunError, match="symbolic link"):
            target.put(f"{name}/x", b"")
    assert not (tmp_path / "bait").exists()


def test_metadata_and_a_trace_elsewhere(tmp_path) -> None:
    directory = DirectoryStore(tmp_path).create("r1", blobs={})
    assert read_meta(directory) == {}
    assert directory.place == str(directory.path / "trace.jsonl")
    meta = meta_blob("r1", runbook=tmp_path / "x.yaml", trace=tmp_path / "t.jsonl", extra={"mode": "real"})
    directory.put(META, meta)
    again = DirectoryStore(tmp_path).open("r1")
    assert read_meta(again) == {
        "run_id": "r1",
        "runbook_path": str(tmp_path / "x.yaml"),
        "mode": "real",
        "trace": str(tmp_path / "t.jsonl"),
    }
    assert again.place == str(tmp_path / "t.jsonl")
    finish(again)
    assert load_state(again).status == "completed"
    (directory.path / "meta.json").write_text("[")
    with pytest.raises(RunError, match="damaged"):
        _ = DirectoryStore(tmp_path).open("r1").place


def test_a_replaced_file_is_whole_and_leaves_nothing_behind(tmp_path) -> None:
    directory = DirectoryStore(tmp_path).create("r1", blobs={})
    for data in (b"one", b"two", b"x" * 100_000):
        directory.put("f", data)
        assert directory.get("f") == data
    assert [path.name for path in directory.path.iterdir()] == ["f"]


HOLD = """
import sys, time
from pathlib import Path
from gert_core.stores.directory import DirectoryStore
run = DirectoryStore(Path(sys.argv[1])).open("r1")
if run.acquire("w1", 1.0):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_locked_run_names_its_holder_and_a_killed_holder_holds_nothing(tmp_path) -> None:
    directory = DirectoryStore(tmp_path).create("r1", blobs={})
    assert not locked(directory)
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            assert locked(directory)
            with pytest.raises(RunError, match=f"being executed by process {holder.pid}") as caught, lock(directory):
                pass
            assert caught.value.kind == "run_locked"
        finally:
            holder.send_signal(signal.SIGKILL)
    assert not locked(directory)
    with lock(directory):
        assert locked(directory)
    assert not locked(directory)


def test_asking_whether_a_run_is_locked_does_not_lock_it_out(tmp_path) -> None:
    directory = DirectoryStore(tmp_path).create("r1", blobs={})
    with lock(directory):
        pass
    asking = os.open(directory.path / "lock", os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)
    done = threading.Timer(0.01, os.close, [asking])
    done.start()
    with lock(directory):
        assert locked(directory)
    done.join()


def test_the_state_is_cached_rebuilt_and_never_required(tmp_path) -> None:
    directory = DirectoryStore(tmp_path).create("r1", blobs={})
    finish(directory)
    assert load_state(directory).runbook == "check"
    cache = directory.get("state.json")
    directory.put("state.json", b"garbage")
    assert load_state(directory).runbook == "check"
    assert directory.get("state.json") == cache
    stamp = (directory.path / "state.json").stat().st_mtime_ns
    load_state(directory)
    assert (directory.path / "state.json").stat().st_mtime_ns == stamp


def test_a_run_in_progress_is_folded_but_not_cached(tmp_path) -> None:
    directory = DirectoryStore(tmp_path).create("r1", blobs={})
    with lock(directory):
        finish(directory, status=None)
        assert run_info(directory, cached=True).status == "running"
        assert directory.get("state.json") is None
    assert run_info(directory, cached=True).status == "interrupted"
    assert directory.get("state.json") is not None


def test_the_list_is_newest_first_lazy_and_survives_broken_runs(tmp_path) -> None:
    for number in (1, 2, 3):
        finish(DirectoryStore(tmp_path).create(f"2026010{number}T000000Z-check-abcd", blobs={}))
    DirectoryStore(tmp_path).create("20260104T000000Z-empty-abcd", blobs={})
    damaged = DirectoryStore(tmp_path).create("20260105T000000Z-damaged-abcd", blobs={})
    damaged.put("meta.json", b"{")
    (tmp_path / "a file").touch()
    (tmp_path / ".hidden").mkdir()
    infos = list(list_runs(DirectoryStore(tmp_path)))
    assert [info.run_id[:8] for info in infos] == ["20260105", "20260104", "20260103", "20260102", "20260101"]
    assert [info.status for info in infos] == ["unreadable", "unreadable", *["completed"] * 3]
    assert "damaged" in infos[0].problem
    assert "has no trace.jsonl" in infos[1].problem
    assert list(list_runs(DirectoryStore(tmp_path / "missing"))) == []
    first = next(iter(list_runs(DirectoryStore(tmp_path))))
    assert first.run_id.startswith("20260105")


def test_the_cache_holds_plain_json(tmp_path) -> None:
    directory = DirectoryStore(tmp_path).create("r1", blobs={})
    finish(directory)
    load_state(directory)
    raw = json.loads(directory.get("state.json"))
    assert set(raw) == {"format", "seq", "hash", "digest", "state", "steps", "void"}


def test_runs_of_one_second_are_listed_by_when_they_began(tmp_path) -> None:
    ids = [f"20260301T120000Z-fix-{end}" for end in ("5", "9", "1", "7")]
    for number, run_id in enumerate(ids):
        directory = DirectoryStore(tmp_path).create(run_id, blobs={})
        directory.put(META, meta_blob(run_id, runbook=tmp_path / "fix.yaml"))
        os.utime(directory.path / "meta.json", ns=(number, number))
    assert [info.run_id for info in list_runs(DirectoryStore(tmp_path))] == ids[::-1]
