"""A connection may be lost at any moment: nothing is lost that was promised to be there, and nothing is written twice."""

from __future__ import annotations

import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from urllib.parse import quote

import psycopg
import pytest
from gert_store_postgres.bounded import LONGEST, longest_of
from gert_store_postgres.search_path import refuse_other_functions
from gert_store_postgres.store import open_store

from gert_core.api import ErrorKind, GertError, RunQuery, StoreError, StoreServices
from gert_core.testing.store_lines import event_lines, write_run

META = {"meta.json": b"{}"}
KEY = "ab" * 32


@pytest.fixture
def opened(url):
    stores, warnings = [], []

    def open_(address=url):
        stores.append(open_store(address, StoreServices(root=None, warn=warnings.append)))
        return stores[-1]

    open_.warnings = warnings
    yield open_
    for store in stores:
        store.close()


def end_connections(url):
    """End every other connection to the server, as an administrator may."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND application_name = 'gert'"
        )


def test_store_pg_closed_connection_is_made_anew_by_a_read(opened, url):
    store = opened()
    run = write_run(store, "r1")
    end_connections(url)
    assert len(list(run.lines())) == 4
    end_connections(url)
    assert [row.run_id for row in store.runs(RunQuery())] == ["r1"]


def test_store_pg_closed_connection_does_not_end_a_write(opened, url):
    run = opened().create("r1", blobs=META)
    sink, lines = run.sink(seq=0, lease=run.acquire("w1", 30)), event_lines("r1", 9)
    for number, line in enumerate(lines, 1):
        sink.write([line], number)
        end_connections(url)
        sink.sync()
    sink.close()
    assert list(opened().open("r1").lines()) == [line + b"\n" for line in lines]
    assert "was lost" in opened.warnings[0]
    assert opened.warnings[0].endswith("; gert connects again")


def test_store_pg_lost_commit_answer_leaves_a_group_once(opened, proxied):
    run = opened(proxied.url).create("r1", blobs=META)
    sink, lines = run.sink(seq=0, lease=run.acquire("w1", 30)), event_lines("r1", 12)
    for number, line in enumerate(lines, 1):
        sink.write([line], number)
        if number % 3 == 0:
            proxied.cut_after = proxied.ADDED
        sink.sync()
    sink.close()
    assert proxied.cuts == 4
    assert list(opened().open("r1").lines()) == [line + b"\n" for line in lines]


def test_store_pg_lost_commit_answer_makes_changes_once(opened, proxied):
    store = opened(proxied.url)
    store.schema_info()
    store.ledger().problem()

    def cut(work):
        before = proxied.cuts
        proxied.cut_after = b"COMMIT"
        found = work()
        assert proxied.cuts == before + 1
        return found

    run = cut(lambda: store.create("r1", blobs=META))
    cut(lambda: run.put("tickets/t1.json", b"{}"))
    cut(lambda: run.put("tickets/t1.answers/0001-aa.json", b"yes", new=True))
    run.append("output/a.log", b"one")
    assert cut(lambda: run.names("output/")) == ["output/a.log"]
    assert run.get("output/a.log") == b"one"
    lease = cut(lambda: run.acquire("w1", 30))
    assert cut(lambda: run.renew(lease, 30))
    assert cut(lambda: run.release(lease))
    ledger = store.ledger()
    assert cut(lambda: ledger.claim(KEY, "a", "t1")).owner == "a"
    assert cut(lambda: ledger.settle(KEY, "a", "success", "t2"))
    assert cut(lambda: ledger.reserve(KEY, "a", Decimal(1), limit=Decimal(1)))
    assert ledger.total(KEY).count == 1
    assert cut(lambda: run.delete("output/a.log"))


def test_store_pg_readers_of_one_process_share_four_connections(opened, url):
    store = opened()
    write_run(store, "r1")
    seen, slow = [], threading.Event()

    def read(seconds):
        slow.wait(10)
        began = time.monotonic()
        store._database.read("SELECT pg_sleep(?)", (seconds,))
        seen.append((seconds, time.monotonic() - began))

    threads = [threading.Thread(target=read, args=(seconds,)) for seconds in (1.5, 1.5, 1.5, 0.0, 0.0, 0.0, 0.0)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)  # the connection of the sink is closed
    slow.set()
    with psycopg.connect(url, autocommit=True) as connection:
        most = 0
        while any(thread.is_alive() for thread in threads):
            count = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'gert'"
            most = max(most, connection.execute(count).fetchone()[0])
            time.sleep(0.05)
    assert most == 4
    assert max(taken for seconds, taken in seen if seconds) < 3.5, "they do not wait for each other"
    end_connections(url)
    assert [row.run_id for row in store.runs(RunQuery())] == ["r1"], "what was lost meanwhile is made anew"


def test_a_server_that_is_restarted_is_waited_for(opened, server):
    run = opened().create("r1", blobs=META)
    sink, lines = run.sink(seq=0, lease=run.acquire("w1", 60)), event_lines("r1", 6)
    sink.write(lines[:3], 3)
    sink.sync()
    server.stop("immediate")
    later = threading.Timer(0.7, server.start)
    later.start()
    sink.write(lines[3:], 6)
    sink.sync()
    sink.close()
    later.join()
    assert list(opened().open("r1").lines()) == [line + b"\n" for line in lines]


def test_a_worker_that_was_replaced_while_it_could_not_reach_the_server_writes_nothing(opened, proxied):
    run, lines = opened(proxied.url).create("r1", blobs=META), event_lines("r1", 4)
    sink = run.sink(seq=0, lease=run.acquire("w1", 0.01))
    sink.write(lines[:2], 2)
    sink.sync()
    other, lease = opened().open("r1"), None
    while lease is None:  # that of the first lasts 10 ms
        lease = other.acquire("w2", 30)
    taken = other.sink(seq=2, lease=lease)
    taken.write(lines[2:3], 3)
    taken.close()
    sink.write([lines[2].replace(b"noted", b"wrong")], 3)
    proxied.cut_after = proxied.ADDED
    with pytest.raises(StoreError, match="is not written by this worker any more") as caught:
        sink.sync()
    assert caught.value.kind == ErrorKind.LEASE_LOST
    with suppress(StoreError):
        sink.close()
    assert list(other.lines()) == [line + b"\n" for line in lines[:3]]


def test_a_server_that_is_not_there_is_said_in_one_sentence(tmp_path):
    store = open_store(f"postgres://ann:s3cret@/x?host={tmp_path}", StoreServices(root=tmp_path))
    with pytest.raises(StoreError) as caught:
        store.create("r1", blobs={})
    assert (caught.value.kind, caught.value.exit_code) == (ErrorKind.STORE_UNAVAILABLE, 2)
    assert "s3cret" not in caught.value.message
    assert caught.value.message.startswith(f"postgres://ann@/x?host={tmp_path} cannot be reached: ")
    assert "\n" not in caught.value.message


def test_reading_makes_no_tables(opened, url):
    assert list(opened().runs(RunQuery())) == []
    assert opened().ledger().get(KEY) is None
    with pytest.raises(StoreError, match="there is no run r1 in postgres://"):
        opened().open("r1")
    with psycopg.connect(url) as connection:
        assert (
            connection.execute(
                "SELECT 1 FROM pg_class WHERE relname = 'gert_runs' AND pg_table_is_visible(oid)"
            ).fetchall()
            == []
        )


def test_a_sync_is_durable_and_a_write_does_not_wait(opened, url, server):
    """Where the log of the server ends, and how far it is on disk, shows which statements wait for the disk."""
    run = opened().create("r1", blobs=META)
    sink = run.sink(seq=0, lease=run.acquire("w1", 30))
    database = sink._store.__self__._database
    asked = []
    connection = database._connection
    execute = connection.execute
    connection.execute = lambda sql, *rest, **options: (asked.append(sql), execute(sql, *rest, **options))[1]
    lines, waited, early = event_lines("r1", 40), [], []
    with psycopg.connect(url, autocommit=True) as other:
        for number, line in enumerate(lines, 1):
            sink.write([line], number)
            if number % 2:
                sink.sync()
            else:
                sink._flush(durable=False)
            written, on_disk = other.execute(
                "SELECT pg_current_wal_insert_lsn() - '0/0', pg_current_wal_flush_lsn() - '0/0'"
            ).fetchone()
            (waited if number % 2 else early).append(on_disk < written)
    assert sum(waited) <= 2, "its COMMIT waited; now and then the server writes something of its own"
    assert any(early), "what need not be durable is not waited for"
    assert len(asked) == 40, "each is one statement, which is a transaction of its own"
    sink.close()


STRANGE = {
    "is not a table": ["ALTER TABLE gert_runs RENAME TO kept", "CREATE VIEW gert_runs AS SELECT * FROM kept"],
    "has row-level security": ["ALTER TABLE gert_ledger ENABLE ROW LEVEL SECURITY"],
    "has a rule": ["CREATE RULE swallow AS ON INSERT TO gert_ledger DO INSTEAD NOTHING"],
    "has a trigger": [
        "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
        "CREATE TRIGGER nothing BEFORE INSERT ON gert_leases FOR EACH ROW EXECUTE FUNCTION nothing()",
    ],
    "has a foreign key": [
        "CREATE TABLE allowed (name text PRIMARY KEY)",
        "ALTER TABLE gert_runs ADD FOREIGN KEY (status) REFERENCES allowed (name) NOT VALID",
    ],
    "is what a foreign key of another table refers to": [
        "CREATE TABLE child (run_id text REFERENCES gert_runs ON DELETE CASCADE)"
    ],
    "has tables below it": ["CREATE TABLE more () INHERITS (gert_events)"],
    "is a partition of another table": [
        "CREATE FUNCTION one(text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 1; END $$",
        "CREATE TABLE parent (LIKE gert_events) PARTITION BY LIST ((one(run_id)))",
        "ALTER TABLE parent ATTACH PARTITION gert_events FOR VALUES IN (1)",
    ],
    "inherits from another table": [
        "CREATE TABLE parent (LIKE gert_events)", "ALTER TABLE gert_events INHERIT parent"
    ],
    "has a column with a value of its own": ["ALTER TABLE gert_blobs ALTER token SET DEFAULT pg_sleep(3600)::text"],
    "has a condition": ["ALTER TABLE gert_tickets ADD CHECK (length(status) > 0)"],
    "has an index of more than columns": ["CREATE INDEX ON gert_schema ((version + 1))"],
    "has a column of a type that somebody made": [
        "CREATE DOMAIN odd AS text CHECK (length(VALUE) > 0)", "ALTER TABLE gert_tickets ALTER runbook TYPE odd"
    ],
}  # fmt: skip


@pytest.mark.parametrize("what", STRANGE)
def test_store_pg_what_is_executed_with_a_table_is_refused(opened, url, what):
    write_run(opened(), "r1")
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in STRANGE[what]:
            connection.execute(statement)
    for use in (lambda store: list(store.runs(RunQuery())), lambda store: store.create("r2", blobs=META)):
        with pytest.raises(StoreError, match=f"gert_[a-z]+ in .* {what}, which would be executed") as refused:
            use(opened())
        assert "remove it" in str(refused.value.hint)


@pytest.mark.parametrize("what", ["has an index of more than columns", "has a column of a type that somebody made"])
def test_store_pg_functions_of_the_schema_do_not_hide_what_is_executed(opened, url, what):
    write_run(opened(), "r1")
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in STRANGE[what]:
            connection.execute(statement)
        for name, given, says in (("num_nonnulls", "pg_node_tree, pg_node_tree", "0"), ("no", "oid, integer", "false")):
            back = "integer" if says == "0" else "boolean"
            connection.execute(f"CREATE FUNCTION {name}({given}) RETURNS {back} LANGUAGE sql AS 'SELECT {says}'")
        connection.execute("CREATE OPERATOR >= (LEFTARG = oid, RIGHTARG = integer, FUNCTION = no)")
    with pytest.raises(StoreError, match=what):
        list(opened().runs(RunQuery()))


def test_store_pg_an_index_of_columns_that_somebody_made_is_no_harm(opened, url):
    write_run(opened(), "r1")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE INDEX ON gert_runs (status, tenant)")
        connection.execute("CREATE VIEW gert_report AS SELECT status FROM gert_runs")
    assert [row.run_id for row in opened().runs(RunQuery())] == ["r1"]


def test_store_pg_what_lifts_the_limit_of_statements_is_given_up_all_the_same(opened, url):
    write_run(opened(), "r1")
    store = opened(f"{url}%20-cstatement_timeout%3D1s")
    assert [row.run_id for row in store.runs(RunQuery())] == ["r1"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE gert_runs RENAME TO kept")
        connection.execute("CREATE VIEW gert_runs AS SELECT kept.* FROM kept, pg_sleep(3600)")
    looked = lambda: store.database.change(lambda transaction: transaction.rows("SELECT 1 FROM gert_runs"))  # noqa: E731
    for use in (lambda: list(store.runs(RunQuery())), looked):
        store.database.read("SELECT set_config('statement_timeout', '0', false)")
        began = time.monotonic()
        with pytest.raises(StoreError, match="cannot be used: the server has not answered for 6 seconds"):
            use()
        assert time.monotonic() - began < 20
    with psycopg.connect(url, autocommit=True) as connection:
        asleep = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'gert'"
        assert connection.execute(asleep).fetchall() == [], "the server was told to end the statement"


def test_store_pg_a_server_that_lets_in_and_never_answers_is_given_up(opened, tmp_path_factory):
    place = tmp_path_factory.mktemp("s")
    kept, asked, cancel = [], [], struct.pack("!HH", 1234, 5678)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / ".s.PGSQL.5432"))
        server.listen()

        def serve():
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    kept.append(client)
                    asked.append(client.recv(4096)[4:8])
                    # Authenticated, the key to cancel with, ready for a query
                    client.sendall(b"R" + struct.pack("!II", 8, 0) + b"K" + struct.pack("!III", 12, 1, 1))
                    client.sendall(b"Z" + struct.pack("!I", 5) + b"I")

        threading.Thread(target=serve, daemon=True).start()
        began = time.monotonic()
        store = opened(f"postgres://u@/db?host={quote(str(place), safe='')}&options=-cstatement_timeout%3D500ms")
        with pytest.raises(StoreError, match=r"cannot be used: the server has not answered for 5\.5 seconds"):
            list(store.runs(RunQuery()))
        assert time.monotonic() - began < 20
        assert [one == cancel for one in asked] == [False, True], "it is not asked again and again"
        server.shutdown(socket.SHUT_RDWR)
    for client in kept:
        client.close()


def test_store_pg_how_long_the_server_is_waited_for_follows_the_address():
    times = {"60s": 65, "5min": 305, "1500": 6.5, "0": None, "1h": 3605, "2\\ min": 125}
    for said, seconds in times.items():
        assert longest_of(f"{LONGEST} -c statement_timeout={said} -c synchronous_commit=off") == seconds
    assert longest_of(LONGEST) == 65
    assert longest_of(f"{LONGEST} --statement-timeout=5min") == 305


def test_store_pg_functions_of_the_schema_are_not_called_in_place_of_those_of_the_server(opened, url):
    write_run(opened(), "r1")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE called (name text)")
        for name, given, back in (
            ("hashtextextended", "text, integer", "bigint"),
            ("unnest", "bytea[]", "SETOF bytea"),
            ("pg_notify", "text, varchar", "void"),
            ("substr", "text, integer, smallint", "text"),
        ):
            connection.execute(
                f"CREATE FUNCTION {name}({given}) RETURNS {back} LANGUAGE plpgsql AS "
                f"$$ BEGIN INSERT INTO called VALUES ('{name}'); RETURN{'' if ' ' in back else ' NULL'}; END $$"
                if back != "void"
                else f"CREATE FUNCTION {name}({given}) RETURNS void LANGUAGE sql AS $$ INSERT INTO called VALUES ('n') $$"
            )
        store = opened()
        assert store.ledger().claim(KEY, "x", "2026-01-01T00:00:00.000000Z").owner == "x"
        assert [one.owner for one in store.ledger().entries("x")] == ["x"]
        run = write_run(store, "r2")
        assert (len(list(run.lines())), run.names("meta")) == (4, ["meta.json"])
        assert connection.execute("SELECT name FROM called").fetchall() == []


def test_store_pg_a_schema_before_that_of_the_server_is_refused(opened, url):
    write_run(opened(), "r1")
    with psycopg.connect(url, autocommit=True) as connection:
        (schema,) = connection.execute("SELECT current_schema()").fetchone()
        connection.execute("CREATE TABLE called (name text)")
        connection.execute(
            "CREATE FUNCTION other(text, text) RETURNS boolean LANGUAGE plpgsql AS "
            "$$ BEGIN INSERT INTO called VALUES ('='); RETURN texteq($1, $2); END $$"
        )
        connection.execute("CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = other)")
        connection.execute("CREATE FUNCTION one(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'")
        connection.execute("CREATE AGGREGATE count(*) (SFUNC = int8inc, STYPE = int8, FINALFUNC = one, INITCOND = '0')")
        for use in (
            lambda store: list(store.runs(RunQuery())),
            lambda store: store.open("r1"),
            lambda store: store.create("r2", blobs=META),
            lambda store: store.schema_info(),
            lambda store: store.upgrade(),
            lambda store: store.ledger().claim(KEY, "x", "2026-01-01T00:00:00.000000Z"),
        ):
            told = f"the search path of .* has the schema {schema} before pg_catalog, so that functions"
            with pytest.raises(GertError, match=told) as refused:
                use(opened(f"{url}%2Cpg_catalog"))
            if isinstance(refused.value, StoreError):  # the ledger has a hint of its own
                assert "take pg_catalog out of the search_path" in str(refused.value.hint)
        assert connection.execute("SELECT name FROM called").fetchall() == []
    for path in (url, f"{url}%2Cpg_temp", url.replace("search_path%3D", "search_path%3Dpg_catalog%2C")):
        assert [row.run_id for row in opened(path).runs(RunQuery())] == ["r1"]


def test_store_pg_temporary_operators_of_another_session_are_not_executed(opened, url):
    write_run(opened(), "r1")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE called (name text)")
        connection.execute("CREATE TEMP TABLE own (name text)")
        (schema, temporary) = connection.execute(
            "SELECT current_schema(), nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()"
        ).fetchone()
        connection.execute(
            "CREATE FUNCTION pg_temp.other(text, text) RETURNS boolean LANGUAGE plpgsql AS "
            f"$$ BEGIN INSERT INTO {schema}.called VALUES ('='); RETURN texteq($1, $2); END $$"
        )
        connection.execute("CREATE OPERATOR pg_temp.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.other)")
        store = opened(url.replace("search_path%3D", f"search_path%3D{temporary}%2Cpg_catalog%2C"))
        with pytest.raises(StoreError, match=f"has the schema {temporary} before pg_catalog, so that functions"):
            write_run(store, "r2")
        assert connection.execute("SELECT name FROM called").fetchall() == []


def test_store_pg_the_temporary_schema_of_a_session_itself_may_come_first(url):
    with psycopg.connect(url.replace("search_path%3D", "search_path%3Dpg_temp%2Cpg_catalog%2C")) as connection:
        connection.execute("CREATE TEMP TABLE own (name text)")
        ((schemas,),) = connection.execute("SELECT current_schemas(true)").fetchall()
        assert schemas[0].startswith("pg_temp_")
        refuse_other_functions(url, connection)


def test_store_pg_the_search_path_is_looked_at_with_each_connection(opened, url):
    write_run(opened(), "r1")
    without = url.partition("&options=")[0]
    with psycopg.connect(url, autocommit=True) as connection:
        (schema,) = connection.execute("SELECT current_schema()").fetchone()
        try:
            connection.execute(f"ALTER ROLE postgres SET search_path = {schema}")
            store = opened(without)
            assert [row.run_id for row in store.runs(RunQuery())] == ["r1"]
            connection.execute(f"ALTER ROLE postgres SET search_path = {schema}, pg_catalog")
            assert [row.run_id for row in store.runs(RunQuery())] == ["r1"], "it is for connections made later"
            with store.database._reading(), pytest.raises(StoreError, match="before pg_catalog"):
                threaded(lambda: store.database.read("SELECT 1"))
            end_connections(url)
            with pytest.raises(StoreError, match="before pg_catalog"):
                list(store.runs(RunQuery()))
        finally:
            connection.execute("ALTER ROLE postgres RESET search_path")


def threaded(work):
    """Do the work in another thread, and return what it returns or raise what it raises."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_store_pg_a_view_that_never_ends_is_given_up(opened, url):
    write_run(opened(), "r1")
    store = opened(f"{url}%20-cstatement_timeout%3D1s")
    assert [row.run_id for row in store.runs(RunQuery())] == ["r1"]
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
        connection.execute("ALTER TABLE gert_runs RENAME TO kept")
        connection.execute("CREATE VIEW gert_runs AS SELECT kept.* FROM kept, pg_sleep(3600)")
    began = time.monotonic()
    with pytest.raises(StoreError) as stopped:
        list(store.runs(RunQuery()))
    assert time.monotonic() - began < 20
    assert "a statement took too long" in stopped.value.message
    assert "statement_timeout" in str(stopped.value.hint)


def test_store_pg_statements_have_a_minute_unless_the_address_says_otherwise(opened, url):
    for address, longest in ((url, "1min"), (f"{url}%20-cstatement_timeout%3D5min", "5min")):
        assert opened(address).database.read("SHOW statement_timeout") == [(longest,)]
