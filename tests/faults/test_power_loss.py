"""Power loss while a run is kept in a SQLite file: what the disk has at each sync is a run that goes on from there."""

from __future__ import annotations

import hashlib
import os
import shutil

import pytest
from gert_store_sqlite.database import SqliteDatabase
from gert_store_sqlite.store import open_store
from shell import Shell

from gert_core import host
from gert_core.api import StoreServices
from gert_core.runs.fold import fold
from gert_core.trace.reader import read
from gert_core.trace.verify import verify

MANY = bool(os.environ.get("GERT_FUZZ"))
STEPS = "".join(
    f"- {{ id: s{n}, type: tool, tool: once, action: do }}\n"
    f"- {{ id: a{n}, type: assert, assert: [{{ type: equals, value: '1', expected: '1' }}] }}\n"
    for n in range(4)
)
TAILS = {"nothing": b"", "zeros": bytes(5000), "garbage": bytes(range(256)) * 20}
"""What the disk may have behind the last sync: nothing of what was written since, blocks of zeros, anything."""


class Disk:
    """Copies the file and its log whenever SQLite was told to sync them, with the marks that tools had left by then."""

    def __init__(self, root):
        self.root, self.count = root, 0
        self.synced = []
        """The number of lines that were promised to be there, for each copy."""

    def copy(self, lines):
        self.count += 1
        place = self.root / "disks" / str(self.count)
        place.mkdir(parents=True)
        for name in ("runs.db", "runs.db-wal", "once"):
            if (self.root / name).exists():
                shutil.copy(self.root / name, place / name)
        self.synced.append(lines)


@pytest.fixture
def shell(tmp_path, monkeypatch):
    made = Shell(tmp_path)
    made.program("once", 'echo "$GERT_IDEMPOTENCY_KEY" >> once')
    made.tool("once", "[once]", contract="{ effects: [network], writes: [box], idempotent: false }")
    made.book(STEPS, tools="once")
    monkeypatch.chdir(tmp_path)
    return made


def mark(run_id: str, key: str) -> str:
    return hashlib.sha256(f"{run_id}\n{key}".encode()).hexdigest()


def test_store_power_loss_at_every_sync_leaves_a_run_that_goes_on(shell, monkeypatch):
    disk, add, change = Disk(shell.root), SqliteDatabase.add, SqliteDatabase.change

    def synced_add(self, group, *, durable):
        done = add(self, group, durable=durable)
        if durable:
            disk.copy(group.last)
        return done

    def synced_change(self, work, *, durable=True):
        done = change(self, work, durable=durable)
        if durable:
            disk.copy(disk.synced[-1] if disk.synced else 0)
        return done

    with monkeypatch.context() as counting:
        counting.setattr(SqliteDatabase, "add", synced_add)
        counting.setattr(SqliteDatabase, "change", synced_change)
        result = host.run("book.yaml", store="sqlite:runs.db", environ=shell.environ)
    assert str(result.status) == "completed"
    whole = list(open_store("sqlite:runs.db", StoreServices(root=shell.root)).open(result.run_id).lines())
    assert disk.synced[-1] == len(whole)
    assert disk.count > 9
    gone_on = 0
    for number, promised in enumerate(disk.synced, 1):
        for name, tail in TAILS.items():
            place = shell.root / "disks" / str(number)
            if name != "nothing":
                with (place / "runs.db-wal").open("ab") as file:
                    file.write(tail)
            with open_store(f"sqlite:{place / 'runs.db'}", StoreServices(root=place)) as store:
                ids = list(store.run_ids())
                found = list(store.open(ids[0]).lines()) if ids else []
                assert found[:promised] == whole[:promised], (number, name)
                assert len(found) >= promised, (number, name)
                if not found:
                    continue
                run = store.open(ids[0])
                assert str(verify(run, key_for=lambda *_: None, schemes=lambda _: None).status) in (
                    "unsigned",
                    "truncated",
                )
                started = {mark(ids[0], e.step_key) for e in read(run) if e.type == "step_start"}
                marks = (place / "once").read_text().split() if (place / "once").exists() else []
                assert set(marks) <= started, "an effect without its step_start"
        if found and (MANY or number % 5 == 0):
            gone_on += resumed(shell, place)
    assert gone_on


def resumed(shell: Shell, place) -> bool:
    """Go on from a copy: each effect happens once, whatever the disk had forgotten."""
    (shell.root / "once").unlink()
    if (place / "once").exists():
        shutil.copy(place / "once", shell.root / "once")
    url = f"sqlite:{place / 'runs.db'}"
    with open_store(url, StoreServices(root=place)) as store:
        store._database.change(lambda transaction: transaction.execute("UPDATE gert_leases SET expires = 0"))
        run = store.open(next(store.run_ids()))
        state = fold(read(run))
        if state.over:
            return False
        marks = (shell.root / "once").read_text() if (shell.root / "once").exists() else ""
        unknown = {
            record.key: "done" if mark(run.run_id, record.key) in marks else "redo" for record in state.unknown_outcomes
        }
        result = host.resume(run.run_id, store=store, reconcile=unknown, environ=shell.environ)
        assert str(result.status) == "completed"
        assert sorted((shell.root / "once").read_text().split()) == sorted(mark(run.run_id, f"s{n}") for n in range(4))
    return True
