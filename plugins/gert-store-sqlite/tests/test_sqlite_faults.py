"""What is wrong with a file is said in one sentence, and nothing is lost that was promised to be there."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import time

import pytest
from gert_store_sqlite import faults
from gert_store_sqlite.store import open_store

from gert_core.api import ErrorKind, RunQuery, StoreError, StoreServices
from gert_core.testing.store_lines import event_lines, write_run

META = {"meta.json": b"{}"}


@pytest.fixture
def opened(tmp_path):
    """Open ``runs.db`` of the test as often as a test likes."""
    stores = []

    def open_(name="runs.db"):
        stores.append(open_store(f"sqlite:{name}", StoreServices(root=tmp_path)))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


def test_the_path_begins_at_the_project_and_the_file_is_private(opened, tmp_path):
    store = opened("deep/runs.db")
    assert store.url == f"sqlite:{tmp_path / 'deep' / 'runs.db'}"
    write_run(store, "r1")
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep").iterdir()}
    assert files == {"runs.db": 0o600, "runs.db-shm": 0o600, "runs.db-wal": 0o600}


def test_reading_makes_no_file(opened, tmp_path):
    store = opened()
    assert list(store.runs(RunQuery())) == []
    assert list(store.tickets()) == []
    assert store.schema_info().backend == "sqlite"
    assert store.ledger().get("0" * 64) is None
    with pytest.raises(StoreError, match=r"there is no run r1 in sqlite:.*runs\.db"):
        store.open("r1")
    assert not (tmp_path / "runs.db").exists()


def test_an_address_names_a_file(tmp_path):
    with pytest.raises(StoreError, match="sqlite: names no file"):
        open_store("sqlite:", StoreServices(root=tmp_path))


def test_a_file_that_is_something_else(opened, tmp_path):
    (tmp_path / "runs.db").write_text("hello, I am a text\n" * 100)
    with pytest.raises(StoreError, match=r"runs\.db is not a SQLite database$") as caught:
        opened().create("r1", blobs=META)
    assert (caught.value.kind, caught.value.exit_code) == (ErrorKind.STORE_UNAVAILABLE, 2)
    with pytest.raises(StoreError, match="is not a SQLite database"):
        list(opened().runs(RunQuery()))


def test_a_file_that_another_program_locks(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("gert_store_sqlite.database.BUSY_SECONDS", 0.2)
    write_run(opened(), "r1")
    other = sqlite3.connect(tmp_path / "runs.db")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"runs\.db is locked by another process"):
        opened().create("r2", blobs=META)
    assert opened().open("r1").last_line(), "it can be read meanwhile"
    other.close()


def test_a_directory_that_cannot_be_written(tmp_path):
    if os.geteuid() == 0:
        found = _as_somebody(tmp_path, "store.create('r1', blobs={})")
    else:
        tmp_path.chmod(0o500)
        try:
            with pytest.raises(StoreError) as caught:
                open_store("sqlite:runs.db", StoreServices(root=tmp_path)).create("r1", blobs={})
            found = caught.value.message
        finally:
            tmp_path.chmod(0o700)
    assert found == f"{tmp_path / 'runs.db'} cannot be created: Permission denied"


def _as_somebody(tmp_path, statement):
    """Return what goes wrong for a user without rights here; tests may run as root, whom nothing stops."""
    code = f"""
        import os, sys
        from pathlib import Path
        import gert_store_sqlite.database, gert_store_sqlite.faults, gert_core.kit.tables.ledger, gert_core.kit.durable
        from gert_core.api import StoreError, StoreServices
        from gert_store_sqlite.store import open_store
        import fcntl
        os.setgid(65534); os.setuid(65534)
        store = open_store("sqlite:runs.db", StoreServices(root=Path({str(tmp_path)!r})))
        try:
            {statement}
        except StoreError as error:
            print(error.message)
    """
    tmp_path.chmod(0o755)
    for folder in list(tmp_path.parents)[:3]:
        folder.chmod(folder.stat().st_mode | 0o055)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_full_database_stops_the_run_and_keeps_what_was_written(opened, tmp_path):
    store = opened()
    run = store.create("r1", blobs=META)
    lease = run.acquire("w1", 30)
    sink = run.sink(seq=0, lease=lease)
    lines = event_lines("r1", 3000)
    child = os.fork()  # a limit of the size of files, which is this process's own
    if not child:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
            mine = open_store("sqlite:runs.db", StoreServices(root=tmp_path)).open("r1")
            full = mine.sink(seq=0, lease=lease)
            for number, line in enumerate(lines, 1):
                full.write([line], number)
                if not number % 10:
                    full.sync()
        except StoreError as error:
            code = 0 if error.message.endswith(("the disk is full", "the disk reports an error")) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    sink.close()
    found = list(opened().open("r1").lines())
    assert 0 < len(found) < 3000
    assert len(found) % 10 == 0, "each group is there as a whole"
    assert found == [line + b"\n" for line in lines[: len(found)]]
    after = opened().open("r1")
    lease = after.acquire("w1", 30)
    again = after.sink(seq=len(found), lease=lease)
    again.write(lines[len(found) :], 3000)
    again.close()
    assert sum(1 for _ in after.lines()) == 3000


def test_store_power_loss_leaves_what_was_synced(opened, tmp_path):
    """The file and its log are copied at every sync: a copy is what a disk has after a power loss just then."""
    store = opened()
    run = store.create("r1", blobs=META)
    sink = run.sink(seq=0, lease=run.acquire("w1", 30))
    lines = event_lines("r1", 60)
    for number, line in enumerate(lines, 1):
        sink.write([line], number)
        if number % 7 == 0:
            sink.sync()
            copy = tmp_path / f"copy{number}"
            copy.mkdir()
            for name in ("runs.db", "runs.db-wal"):
                shutil.copy(tmp_path / name, copy / name)
            with (copy / "runs.db-wal").open("ab") as torn:  # what came behind the last sync may be there in parts
                torn.write(os.urandom(3000))
            seen = opened(f"copy{number}/runs.db").open("r1")
            assert list(seen.lines()) == [one + b"\n" for one in lines[:number]]
            assert seen.recover().seq == number
    sink.close()


def test_a_sync_syncs_the_file_and_a_write_does_not(opened, tmp_path):
    store = opened()
    run = store.create("r1", blobs=META)
    sink = run.sink(seq=0, lease=run.acquire("w1", 30))
    statements = []
    database = sink._store.__self__._database
    database._connection.set_trace_callback(statements.append)
    lines = event_lines("r1", 4)
    sink.write(lines[:1], 1)
    sink.sync()
    assert [s for s in statements if "synchronous" in s] == ["PRAGMA synchronous = FULL"]
    statements.clear()
    sink.write(lines[1:2], 2)
    end = time.monotonic() + 5
    while "COMMIT" not in statements and time.monotonic() < end:
        time.sleep(0.02)
    assert [s for s in statements if "synchronous" in s] == ["PRAGMA synchronous = NORMAL"]
    statements.clear()
    sink.sync()
    assert statements[0] == "PRAGMA synchronous = FULL", "a sync with nothing to write still syncs what was written"
    assert statements[-1] == "COMMIT"
    sink.close()


@pytest.mark.parametrize("version", [0, 2])
def test_tables_of_another_version_are_refused(opened, tmp_path, version):
    write_run(opened(), "r1")
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        connection.execute("UPDATE gert_schema SET version = ?", (version,))
    for call in (
        lambda store: store.open("r1"),
        lambda store: store.schema_info(),
        lambda store: list(store.runs(RunQuery())),
        lambda store: store.create("r2", blobs={}),
    ):
        with pytest.raises(StoreError, match=f"has tables of version {version}, and this gert") as caught:
            call(opened())
        assert (caught.value.kind, caught.value.exit_code) == (ErrorKind.STORE_SCHEMA, 3)
    refused = {0: "it has 0 in place of the version of the tables", 2: "has tables of version 2, and this gert"}
    with pytest.raises(StoreError, match=refused[version]):
        opened().upgrade()


def test_older_tables_are_brought_up_to_date(opened, tmp_path, monkeypatch):
    write_run(opened(), "r1")
    monkeypatch.setattr("gert_core.kit.tables.schema.VERSION", 2)
    monkeypatch.setattr(
        "gert_core.kit.tables.schema.UPGRADES", {1: ("ALTER TABLE gert_runs ADD COLUMN more {integer}",)}
    )
    with pytest.raises(StoreError, match="gert needs version 2"):
        opened().schema_info()
    assert opened().upgrade().schema_version == "2"
    assert opened().upgrade().schema_version == "2"
    assert [row.run_id for row in opened().runs(RunQuery())] == ["r1"]
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        assert connection.execute("SELECT more FROM gert_runs").fetchall() == [(None,)]


def test_a_network_file_system_is_refused(opened, tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\ntmpfs {tmp_path}/here tmpfs rw 0 0\n")
    monkeypatch.setattr(faults, "_MOUNTS", mounts)
    with pytest.raises(StoreError, match=r"is on a network file system \(nfs4\)"):
        opened().create("r1", blobs={})
    opened("here/runs.db").create("r1", blobs={})


def test_a_blob_is_not_larger_than_a_database_keeps(opened, monkeypatch):
    monkeypatch.setattr("gert_core.kit.tables.blobs.BLOB_LIMIT", 1024 * 1024)
    run = opened().create("r1", blobs=META)
    for data in (b"x" * (1024 * 1024 + 1), iter([b"x" * 700_000, b"x" * 700_000])):
        with pytest.raises(StoreError, match="attachments/a of run r1 is larger than 1 MiB"):
            run.put("attachments/a", data)
    run.put("attachments/a", b"x" * 1024 * 1024)
    with pytest.raises(Exception, match="attachments/a of run r1 is larger than 0 MiB"):
        run.get("attachments/a", limit=1000)


def test_an_answer_wakes_its_run_and_a_suspension_knows_when_it_ends(opened, tmp_path):
    store = opened()
    run = write_run(store, "r1", 2, of=3, end="approval_pending", close=False)

    def times():
        with sqlite3.connect(tmp_path / "runs.db") as connection:
            return connection.execute("SELECT wake, next_at FROM gert_runs").fetchone()

    run.put("tickets/t1.json", b'{"ticket_id": "t1", "expires_at": "2026-03-01T00:00:00Z"}')
    run.put("tickets/t2.json", b'{"ticket_id": "t2", "expires_at": "2026-02-01T00:00:00Z"}')
    lease = run.acquire("w1", 30)
    sink = run.sink(seq=2, lease=lease)
    sink.write(event_lines("r1", 3, end="approval_pending")[2:], 3)
    sink.close()
    assert times() == (None, "2026-02-01T00:00:00Z")
    run.put("tickets/t2.answers/0001-aa.json", b"{}", new=True)
    assert abs(times()[0] - time.time()) < 5
    resumed = b'{"type":"run_resumed","timestamp":"2026-01-01T00:00:04.000000Z","run_id":"r1","seq":4,"data":{}}'
    sink = run.sink(seq=3, lease=lease)
    sink.write([resumed], 4)
    sink.close()
    assert times() == (None, None)


def test_store_kill_9_leaves_whole_groups(opened, tmp_path):
    """Kill a process that writes and syncs, at many moments: each line it was told to be durable is there."""
    code = f"""
        import sys
        from pathlib import Path
        from gert_core.api import StoreServices
        from gert_core.testing.store_lines import event_lines
        from gert_store_sqlite.store import open_store
        run = open_store("sqlite:runs.db", StoreServices(root=Path({str(tmp_path)!r}))).create(sys.argv[1], blobs={{}})
        sink, lines = run.sink(seq=0, lease=run.acquire("w1", 30)), event_lines(sys.argv[1], 5000)
        for number in range(0, 5000, 5):
            sink.write(lines[number:number + 5], number + 5)
            if not number % 20:
                sink.sync()
                print(number + 5, flush=True)
    """
    for attempt in range(4):
        run_id = f"r{attempt}"
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), run_id], stdout=subprocess.PIPE)
        for _ in range(2 + attempt * 5):
            child.stdout.readline()
        child.kill()
        told = child.communicate()[0].split()
        run = opened().open(run_id)
        found = list(run.lines())
        assert found == [line + b"\n" for line in event_lines(run_id, 5000)[: len(found)]]
        assert len(found) >= int(told[-1] if told else 5)
        assert run.acquire("w1", 30) is not None
        assert run.recover().seq == len(found) == next(opened().runs(RunQuery(limit=1))).last_seq
