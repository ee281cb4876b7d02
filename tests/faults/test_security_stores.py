"""What other programs leave in a store, in a directory or in tables, leads nowhere else and ends with a sentence."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shlex
import shutil
import sqlite3
import struct
from contextlib import closing, suppress
from datetime import UTC, datetime
from hashlib import sha256

import gert_store_sqlite.store
import pytest
from binding import acted, bound_gert, pending

from gert_core.api import GertError
from gert_core.api.store_records import RunQuery, StoreServices
from gert_core.approvals import inbox
from gert_core.engine.copying import move_run
from gert_core.runs.control import read_request
from gert_core.runs.document import run_document
from gert_core.runs.listing import run_info
from gert_core.stores.directory import DirectoryStore

PLAIN = """\
apiVersion: kernel/v0
meta: { name: plain }
steps:
  - { type: end, outcome: { category: resolved, code: done } }
"""
KEPT = "sqlite:kept.db"
DEEP = "[" * 100_000


@pytest.fixture
def gert(tmp_path):
    made = bound_gert(tmp_path)
    made.write(plain=PLAIN)
    return made


@pytest.fixture
def outside(tmp_path):
    """A file of somebody that no command has to do with."""
    file = tmp_path / "outside" / "precious"
    file.parent.mkdir()
    file.write_text("precious\n")
    yield file
    assert [(one.name, one.read_text()) for one in file.parent.iterdir()] == [("precious", "precious\n")]


def finished(gert):
    """A run that is over, in whose directory a ticket was planted that has the name of the file outside."""
    assert gert("exec", "plain.yaml").code == 0
    (gert.run() / "tickets").mkdir(mode=0o700)
    (gert.run() / "tickets" / "precious.json").write_text("{}")
    return gert.run()


def test_a_link_in_place_of_the_hints_of_tickets_deletes_nothing_elsewhere(gert, outside):
    run = finished(gert)
    (run.parent / ".tickets").symlink_to(outside.parent)
    said = gert("runs", "prune", "--older-than", "2099-01-01")
    assert (said.code, said.out.split(), run.exists()) == (0, [run.name], False), said.all


def test_the_hint_of_a_ticket_overwrites_no_file_that_has_another_name(gert, outside, tmp_path):
    run = finished(gert)
    hints = tmp_path / "copied" / ".tickets"
    hints.mkdir(parents=True)
    os.link(outside, hints / "precious")
    said = gert("store", "copy", "file:runs", "file:copied")
    assert said.code == 0, said.all
    assert (hints / "precious").read_text() == f"{run.name}\n"


def change(tmp_path, statement, *values):
    with sqlite3.connect(tmp_path / "kept.db") as database:
        database.execute(statement, values)
    database.close()


@pytest.mark.parametrize("key", ["../../outside/made", "..", "../../outside/../outside/dir/x", b"\xff\xfe", "\0a", ""])
def test_no_key_in_the_ledger_of_another_store_leads_out_of_the_ledger(gert, outside, tmp_path, key):
    """A claim whose key is a path comes with its run from a database that somebody else can write."""
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    columns = "kind, ledger_key, owner, state, at, amount, stamp, document"
    planted = f"INSERT INTO gert_ledger ({columns}) SELECT 'claim', ?, run_id || ' x', 'unknown', '', '', 1.0, ''"
    change(tmp_path, f"{planted} FROM gert_runs", key)
    said = gert("store", "copy", KEPT, "file:copied/runs")
    assert (said.code, "is not a key of a ledger" in said.err) == (1, True), said.all
    assert [str(one) for one in tmp_path.rglob("*.jsonl") if "runs/.ledger" not in str(one)] == []


def test_the_id_of_a_run_that_is_not_text_ends_no_command(gert, tmp_path):
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    change(tmp_path, "UPDATE gert_runs SET run_id = ?", b"\xff\xfe")
    listed = gert("runs", "list", "--json", "--store", KEPT)
    assert (listed.code, len(listed.document["runs"])) == (0, 1), listed.all
    for command in (("runs", "show", "latest", "--store", KEPT), ("store", "copy", KEPT, "file:copied")):
        said = gert(*command)
        assert (said.code in (1, 2), said.err.startswith("error: "), "internal" in said.err) == (True, True, False)


def test_a_pipe_in_place_of_a_database_is_not_waited_for(gert, tmp_path):
    os.mkfifo(tmp_path / "kept.db")
    said = gert("exec", "plain.yaml", "--store", KEPT)
    assert (said.code, "kept.db cannot be created" in said.err) == (2, True), said.all


def test_the_number_of_an_attempt_in_the_name_of_a_blob_may_have_any_length(gert, tmp_path):
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    name = f"output/x-{sha256(b'_end_1').hexdigest()[:12]}.{'9' * 5000}.log"
    change(tmp_path, "INSERT INTO gert_blobs SELECT run_id, ?, 0, ?, 1.0, 'x' FROM gert_runs", name, b"x")
    said = gert("runs", "logs", "latest", "--store", KEPT)
    assert (said.code, "internal" in said.err) == (0, False), said.all


ENDLESS = """
    ALTER TABLE gert_events RENAME TO events;
    CREATE VIEW gert_events AS WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
    SELECT (SELECT run_id FROM gert_runs) AS run_id, n AS seq, (SELECT line FROM events LIMIT 1) AS line FROM c;
"""
STEALING = """
    CREATE TRIGGER steal AFTER INSERT ON gert_events BEGIN UPDATE gert_leases SET fence = fence + 1; END;
"""


@pytest.mark.parametrize(("script", "kind"), [(ENDLESS, "view gert_events"), (STEALING, "trigger steal")])
def test_a_view_or_trigger_among_the_tables_is_refused(gert, tmp_path, script, kind):
    """A view can have rows without end, which no command would come to the end of."""
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    with sqlite3.connect(tmp_path / "kept.db") as database:
        database.executescript(script)
    database.close()
    for command in (("runs", "show", "latest"), ("runs", "list"), ("exec", "plain.yaml")):
        said = gert(*command, "--store", KEPT)
        assert (said.code, f"has a {kind}, which gert did not make" in said.err) == (2, True), said.all


ENDLESS_SEARCH = "instr(zeroblob(100000000), zeroblob(50000000) || x'01')"
COMPUTED = f"""
    ALTER TABLE gert_runs RENAME COLUMN runbook TO other;
    ALTER TABLE gert_runs ADD COLUMN runbook TEXT GENERATED ALWAYS AS ({ENDLESS_SEARCH}) VIRTUAL;
"""
CHECKED = f"""
    DROP TABLE gert_leases;
    CREATE TABLE gert_leases (run_id TEXT PRIMARY KEY, worker TEXT NOT NULL CHECK ({ENDLESS_SEARCH}),
        fence INTEGER NOT NULL, expires REAL NOT NULL);
"""
INDEXED = f"""
    DELETE FROM gert_leases;
    CREATE INDEX more ON gert_leases ((worker || {ENDLESS_SEARCH}));
"""
VIRTUAL = """
    DROP TABLE gert_events;
    CREATE VIEW other (id, run_id, seq, line) AS
    WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n, 'x', n, 'x' FROM c WHERE n < 0;
    CREATE VIRTUAL TABLE gert_events USING fts5 (run_id, seq, line, content='other', content_rowid='id');
"""


@pytest.mark.parametrize("script", [COMPUTED, CHECKED, INDEXED, VIRTUAL])
def test_what_is_executed_with_a_table_is_refused(gert, tmp_path, script):
    """A computed column, a condition, an index of expressions or a virtual table can take for ever."""
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    with sqlite3.connect(tmp_path / "kept.db") as database:
        database.executescript(script)
    database.close()
    for command in (("runs", "list"), ("exec", "plain.yaml")):
        said = gert(*command, "--store", KEPT)
        assert (said.code, ", which gert did not make" in said.err) == (2, True), said.all


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_a_pipe_beside_a_database_is_not_waited_for(gert, tmp_path, suffix):
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    os.mkfifo(tmp_path / f"kept.db{suffix}")
    said = gert("runs", "list", "--store", KEPT)
    assert (said.code, f"kept.db{suffix} is not a regular file" in said.err) == (2, True), said.all


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_journal_that_names_another_file_deletes_nothing(gert, tmp_path, mode):
    """SQLite takes a journal that was left behind for one of several, whose common file it then deletes."""
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    with closing(sqlite3.connect(tmp_path / "kept.db")) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        pages, size = (connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious\0")
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(precious).encode()
    head = magic + struct.pack(">5I", 0, 1, pages, 512, size)
    behind = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    (tmp_path / "kept.db-journal").write_bytes(head.ljust(512, b"\0") + behind)
    (tmp_path / "link.db").symlink_to("kept.db")  # which SQLite follows
    for store in (KEPT, "sqlite:link.db"):
        said = gert("runs", "list", "--store", store)
        assert (said.code, "kept.db-journal names another file, which SQLite would delete" in said.err) == (2, True)
    assert precious.read_bytes() == b"precious\0"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_a_file_of_another_user_beside_a_database_is_not_believed(gert, tmp_path, suffix):
    """Where anybody can make files, such as in /tmp, nobody but its owner can replace the database itself."""
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    beside = tmp_path / f"kept.db{suffix}"
    beside.write_bytes(b"x" * 600)
    os.chown(beside, 65534, 65534)
    for command in (("runs", "list"), ("exec", "plain.yaml")):
        said = gert(*command, "--store", KEPT)
        assert (said.code, f"kept.db{suffix} belongs to user nobody" in said.err) == (2, True), said.all
    os.chown(tmp_path / "kept.db", -1, 65534)  # a group that may write to it shares it
    (tmp_path / "kept.db").chmod(0o660)
    assert "belongs to user" not in gert("runs", "list", "--store", KEPT).err


def test_the_address_of_a_moved_run_is_a_word_that_can_be_pasted(gert, tmp_path):
    run = json.loads(gert("exec", "plain.yaml", "--json").out)["run_id"]
    meta = tmp_path / "runs" / run / "meta.json"
    for done in (True, False):
        told = {"to": "x; touch pwned", "at": "now", "by": "me", "done": done}
        meta.write_text(json.dumps(json.loads(meta.read_text()) | {"moved": told}))
        hint = gert("resume", "--run", run).err.splitlines()[1]
        assert shlex.split(hint).count("x; touch pwned") == 1, hint


def test_long_lines_are_read_one_at_a_time(gert, tmp_path):
    """Forty of them at once would take all memory; here it is asked how many are."""
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    statement = "INSERT INTO gert_events SELECT run_id, last_seq + ?, zeroblob(40000000) FROM gert_runs"
    for number in range(1, 3):
        change(tmp_path, statement, number)
    store = gert_store_sqlite.store.open_store(KEPT, StoreServices(root=tmp_path, environ={}, config={}, warn=print))
    with store, store.open(next(store.run_ids())) as run:
        taken = []
        read = run._database.read
        run._database.read = lambda sql, values=(): taken.append(found := read(sql, values)) or found
        assert [len(line) for line in run.lines()][-2:] == [40_000_001] * 2
    assert max(sum(len(one) for row in rows for one in row if isinstance(one, bytes)) for rows in taken) < 50_000_000


def test_the_id_of_a_run_in_a_database_is_not_taken_for_a_path(gert, tmp_path):
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    for table in ("gert_runs", "gert_events", "gert_blobs"):
        change(tmp_path, f"UPDATE {table} SET run_id = '../../escape'")
    for command in (("runs", "export", "latest", "--out", "x.tar"), ("runs", "show", "../../escape")):
        said = gert(*command, "--store", KEPT)
        assert (said.code, "'../../escape' is not a valid run id" in said.err) == (2, True), said.all
    said = gert("store", "copy", KEPT, "sqlite:other.db")
    assert (said.code, "'../../escape' is not a valid run id" in said.err) == (2, True), said.all
    assert not (tmp_path / "x.tar").exists()


@pytest.mark.parametrize("statement", ["DELETE FROM gert_schema", "INSERT INTO gert_schema VALUES (1)"])
def test_a_database_without_one_version_of_its_tables_ends_with_a_sentence(gert, tmp_path, statement):
    assert gert("exec", "plain.yaml", "--store", KEPT).code == 0
    change(tmp_path, statement)
    for command in (("exec", "plain.yaml"), ("runs", "list")):
        said = gert(*command, "--store", KEPT)
        assert (said.code != 0, "in place of the version of the tables" in said.err) == (True, True), said.all


def test_a_copy_with_other_lines_before_its_last_one_is_not_the_same_run(gert, tmp_path):
    assert gert("exec", "plain.yaml").code == 0
    for _ in range(2):
        assert gert("store", "copy", "file:runs", KEPT).code == 0
    change(tmp_path, "UPDATE gert_events SET line = replace(CAST(line AS TEXT), 'real', 'fake') WHERE seq = 1")
    said = gert("store", "copy", "file:runs", KEPT)
    assert (said.code, "was altered" in said.err) == (1, True), said.all


def test_a_lock_tells_no_process_that_does_not_have_it(gert):
    """`gert runs cancel` would send a signal to it: to one of somebody else, or as 0 to all that belong to gert."""
    run = finished(gert)
    node = os.uname().nodename
    with (run / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for number in ("1", "0", str(os.getppid()), "9" * 400):
            lock.truncate(0)
            os.pwrite(lock.fileno(), f"{number}\n{node}:{number}:exec\n".encode(), 0)
            holder = DirectoryStore(run.parent).open(run.name).holder()
            assert (holder.process, holder.worker_id) == (None, f"{node}:{number}:exec")
        os.pwrite(lock.fileno(), f"{os.getpid()}\nx\n".ljust(450).encode(), 0)
        assert DirectoryStore(run.parent).open(run.name).holder().process == os.getpid()


@pytest.mark.parametrize("key", ["", " x ", "a\nb", "x" * 201, 5])
def test_a_planted_request_to_block_on_a_key_that_cannot_be_given_is_none(gert, key):
    """The run could never be unblocked."""
    run = finished(gert)
    (run / "control").mkdir(mode=0o700)
    (run / "control" / "cancel.json").write_text(json.dumps({"by": "x", "block": key}))
    assert read_request(DirectoryStore(run.parent).open(run.name)) is None


# -- values of every type in every column --------------------------------------------------------------------------

VALUES = (
    *(None, "", "x", 7, -1, 3.7, 1.5e308, 9e18, 2**62, float("inf"), -1e20, b"\xff\xfe", b"", "NaN", "1e5"),
    *("\ud800".encode("utf-8", "surrogatepass"), DEEP[:2000], '{"a":1}', "[1]", "9" * 5000, "\x1b[2J"),
)
TABLES = {
    "gert_schema": ("version",),
    "gert_runs": (
        *("run_id", "began", "created", "runbook", "status", "outcome", "code", "mode", "actor", "started", "updated"),
        *("finished", "duration", "waited", "blocked_on", "last_seq"),
    ),
    "gert_events": ("seq", "line"),
    "gert_blobs": ("name", "part", "data", "written"),
    "gert_tickets": ("run_id", "ticket_id", "runbook", "status", "expires"),
    "gert_leases": ("worker", "fence", "expires"),
    "gert_ledger": ("kind", "ledger_key", "owner", "state", "at", "amount", "stamp", "document"),
}
COLUMNS = [(table, column) for table, columns in TABLES.items() for column in columns]


def used(store, run_id, ticket, room):
    """Everything that commands ask of a store, each as a function of its own."""
    ledger = store.ledger()
    yield lambda: json.dumps([run.run_id + str(run.blocked_on) for run in store.runs(RunQuery())])
    yield lambda: [store.open(name) for name in store.run_ids()]
    yield lambda: json.dumps([row.ticket_id + row.run_id + row.status for row in store.tickets()])
    yield lambda: list(ledger.entries(run_id))
    yield lambda: [ledger.claim("ab12", "o", ""), ledger.total("ab13"), ledger.get("ab14")]
    yield store.upgrade
    yield lambda: list(store.open(run_id).lines())
    yield lambda: [store.open(run_id).holder(), store.open(run_id).recover()]
    yield lambda: json.dumps(run_document(run_info(store.open(run_id))))
    yield lambda: [entry.to_json(datetime.now(UTC)) for entry in inbox.entries(store)]
    yield lambda: inbox.find(store, ticket)
    yield lambda: written(store.open(run_id))
    yield lambda: move_run(store, run_id, DirectoryStore(room), by="x")


def written(run):
    lease = run.acquire("w", 5)
    if lease is not None:
        seq = run.recover().seq
        run.sink(seq=seq, lease=lease).close()


def test_values_of_wrong_types_in_any_column_end_with_a_sentence(tmp_path):
    """Whatever another program leaves in a table: an error of gert with its sentence, or an unreadable run in a list."""
    from gert_store_sqlite.database import SqliteDatabase

    from gert_core.kit.tables.store import TableStore

    gert = bound_gert(tmp_path)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json", "--store", KEPT)
    run_id, (ticket,) = said.document["run_id"], [one["ticket_id"] for one in said.document["pending"]]
    with sqlite3.connect(tmp_path / "kept.db") as database:
        lease = "INSERT OR REPLACE INTO gert_leases VALUES (?, 'w9', 3, 1.0)"
        database.execute(lease, (run_id,))
        for kind, key, amount, document in (("claim", "ab12", "", ""), ("reserved", "ab13", "5", "")):
            row = (kind, key, f"{run_id} x", "open", "2026-01-01T00:00:00Z", amount, 1.0, document)
            database.execute("INSERT INTO gert_ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        database.execute("INSERT INTO gert_ledger VALUES ('document', 'ab14', '', '', '', '', 1.0, '{}')")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    pairs = list(itertools.product(COLUMNS, VALUES))
    if os.environ.get("GERT_FUZZ") != "1":
        pairs = pairs[::3]
    for number, ((table, column), value) in enumerate(pairs):
        file = tmp_path / f"{number}.db"
        shutil.copy(tmp_path / "kept.db", file)
        with sqlite3.connect(file) as database:
            try:
                database.execute(f"UPDATE {table} SET {column} = ?", (value,))
            except sqlite3.IntegrityError:  # several rows with one key, or nothing where something must be
                continue
        database.close()
        store = TableStore(SqliteDatabase(file))
        for use in used(store, run_id, ticket, tmp_path / f"{number}"):
            try:
                with suppress(GertError):
                    use()
            except Exception as error:
                error.add_note(f"with {value!r:.40} in {table}.{column}")
                raise
        store.close()


# -- what is nested too deeply ---------------------------------------------------------------------------------------


def test_a_ticket_that_is_nested_too_deeply_takes_nothing_from_others(gert):
    ticket = pending(gert)
    (gert.run() / "tickets" / "t-deep.json").write_text(DEEP)
    said = gert("approve", "t-deep", "--as", "ann")
    assert (said.code, "t-deep.json is damaged" in said.err) == (1, True), said.all
    assert gert("approve", ticket, "--as", "ann").code == 0
    assert acted(gert) == []


NEST = """\
apiVersion: tool/v0
meta: { name: nest, transport: stdio }
actions:
  go:
    argv: [sh, -c, 'for d in runs/*; do mkdir $d/control; head -c 100000 /dev/zero | tr "\\0" "[" > $d/control/cancel.json; done; sleep 1.5']
    contract: { effects: [box], writes: [] }
"""


def test_a_planted_request_to_cancel_that_is_nested_too_deeply_is_none(gert):
    gert.write(
        tool_nest=NEST,
        nest=PLAIN.replace("steps:\n", "tools: [nest]\nsteps:\n  - { id: go, type: tool, tool: nest }\n"),
    )
    said = gert("exec", "nest.yaml")
    assert (said.code, "Outcome: resolved (done)" in said.out, "internal" in said.err) == (0, True, False), said.all


@pytest.mark.parametrize("name", ["meta.json", "trace.jsonl", "state.json"])
def test_a_file_that_is_nested_too_deeply_takes_no_other_run_from_the_list(gert, name):
    assert gert("exec", "plain.yaml").code == 0
    deep = gert.run()
    assert gert("exec", "plain.yaml").code == 0
    whole = next(
        path for path in deep.parent.iterdir() if path.is_dir() and not path.name.startswith(".") and path != deep
    )
    (deep / name).unlink(missing_ok=True)
    (deep / name).write_text('{"a":' * 50_000)
    (deep.parent / ".index.jsonl").unlink(missing_ok=True)
    for command in (("runs", "list"), ("runs", "show", whole.name), ("runs", "list", "--json")):
        said = gert(*command)
        assert (said.code, whole.name in said.out, "internal" in said.all) == (0, True, False), said.all
    assert "internal" not in gert("runs", "show", deep.name).all
