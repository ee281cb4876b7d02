"""The SQLite store passes the conformance of stores with leases, and its check looks at the file."""

from __future__ import annotations

import sqlite3

import gert_store_sqlite
from gert_store_sqlite.checks import check_file
from gert_store_sqlite.store import open_store
from gertproc import Gert

from gert_core.api import CheckServices, StoreServices
from gert_core.engine.cancel import Deadline, Stop
from gert_core.testing.conformance import CheckConformance, DatabaseStoreConformance


class TestSqliteStore(DatabaseStoreConformance):
    plugin = gert_store_sqlite

    def url(self, tmp_path):
        return f"sqlite:{tmp_path / 'runs.db'}"


class TestSqliteChecks(CheckConformance):
    plugin = gert_store_sqlite
    applies = ("file",)

    def store(self, tmp_path):
        return open_store(f"sqlite:{tmp_path / 'runs.db'}", StoreServices(root=tmp_path))


def look(gert, *argv, code=0):
    said = gert("doctor", "--json", "--store", "sqlite:runs.db", *argv)
    assert said.code == code, said.all
    return {one["check"]: one for one in said.document["checks"]}.get("store-sqlite/file")


BOOK = "apiVersion: kernel/v0\nmeta: {name: book}\nsteps: [{type: end, outcome: {category: resolved}}]\n"


def test_doctor_looks_at_the_file(tmp_path):
    gert = Gert(tmp_path)
    gert.write(book=BOOK)
    file = tmp_path / "runs.db"
    assert look(gert)["message"] == f"{file} does not exist yet; the first run makes it, for this user only"
    assert not file.exists()
    assert gert("exec", "book.yaml", "--store", "sqlite:runs.db").code == 0
    assert look(gert)["message"].startswith(f"{file} has 0.1 MiB and is whole (SQLite 3.")
    file.chmod(0o606)
    assert (look(gert, code=1)["status"], look(gert, code=1)["hint"]) == ("fail", f"chmod o-w {file}")
    file.chmod(0o600)
    assert "store-sqlite/file" not in gert("doctor").out, "runs are kept elsewhere"


def test_doctor_finds_damage_that_no_command_has_met(tmp_path):
    gert = Gert(tmp_path)
    gert.write(book=BOOK)
    assert gert("exec", "book.yaml", "--store", "sqlite:runs.db").code == 0
    file = tmp_path / "runs.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE elsewhere (t TEXT)")
        connection.executemany("INSERT INTO elsewhere VALUES (?)", [("x" * 4000,)] * 20)
    connection.close()
    data = bytearray(file.read_bytes())
    data[-3 * 4096 : -2 * 4096] = b"\xff" * 4096
    file.write_bytes(data)
    found = look(gert, code=1)
    assert found["status"] == "fail"
    assert found["message"].startswith(f"{file} is damaged: ")


def test_a_file_that_takes_too_long_is_no_failure(tmp_path):
    store = open_store(f"sqlite:{tmp_path / 'runs.db'}", StoreServices(root=tmp_path))
    store.create("r1", blobs={str(n): b"x" for n in range(2000)})
    found = check_file(CheckServices(deadline=Deadline(Stop(), 0.0), store=store))
    store.close()
    assert (found.status, "takes too long" in found.message) == ("warn", True), found
