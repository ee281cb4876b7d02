"""The PostgreSQL store passes the conformance of stores with leases, and its checks look at server and role."""

from __future__ import annotations

import gert_store_postgres
import psycopg
import pytest
from gert_store_postgres.store import open_store
from gertproc import Gert

from gert_core.api import StoreServices
from gert_core.testing.conformance import CheckConformance, DatabaseStoreConformance


class TestPostgresStore(DatabaseStoreConformance):
    plugin = gert_store_postgres

    @pytest.fixture(autouse=True)
    def address(self, url):
        self._url = url

    def url(self, tmp_path):
        return self._url


class TestPostgresChecks(CheckConformance):
    plugin = gert_store_postgres
    applies = ("server", "role")

    @pytest.fixture(autouse=True)
    def address(self, url):
        self._url = url

    def store(self, tmp_path):
        return open_store(self._url, StoreServices(root=tmp_path))


def looked(gert, url, *, code=0):
    said = gert("doctor", "--json", GERT_STORE=url)
    assert said.code == code, said.all
    assert "PASS-wrd-77" not in said.all
    return {one["check"]: one for one in said.document["checks"]}


def test_doctor_looks_at_server_and_role(url, tmp_path):
    gert = Gert(tmp_path)
    found = looked(gert, url)
    assert found["store-postgres/server"]["status"] == "warn", "the server of these tests does not sync"
    assert "does not sync to disk" in found["store-postgres/server"]["message"]
    assert found["store-postgres/role"]["message"] == "role postgres may do everything on the server"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS small")
        connection.execute("CREATE ROLE small LOGIN PASSWORD 'PASS-wrd-77'")
        (schema,) = connection.execute("SELECT current_schema()").fetchone()
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO small")
    try:
        small = url.replace("postgres@", "small:PASS-wrd-77@")
        found = looked(gert, small, code=1)
        assert found["store-postgres/role"] == {
            "check": "store-postgres/role",
            "status": "ok",
            "message": "role small is not a superuser",
            "hint": "",
        }
        assert "no tables yet, and this role may not make them" in found["store-postgres/server"]["message"]
        read_only = f"{url}%20-cdefault_transaction_read_only%3Don"
        assert "takes no writes" in looked(gert, read_only, code=1)["store-postgres/server"]["message"]
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"REVOKE ALL ON SCHEMA {schema} FROM small")
            connection.execute("DROP ROLE small")


def test_doctor_executes_nothing_of_the_schema(url, tmp_path):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE called (name text)")
        connection.execute(
            "CREATE FUNCTION has_schema_privilege(name, text) RETURNS boolean LANGUAGE plpgsql AS "
            "$$ BEGIN INSERT INTO called VALUES ('has_schema_privilege'); RETURN true; END $$"
        )
        looked(Gert(tmp_path), url)
        assert connection.execute("SELECT name FROM called").fetchall() == []
    told = looked(Gert(tmp_path), f"{url}%2Cpg_catalog", code=1)["store-postgres/server"]
    assert (told["status"], "before pg_catalog, so that functions" in told["message"]) == ("fail", True)
    assert "take pg_catalog out of the search_path" in told["hint"]


def test_a_server_that_is_away_is_a_failure_of_runs_and_of_its_check(tmp_path):
    found = looked(Gert(tmp_path), f"postgres://u:PASS-wrd-77@/d?host={tmp_path}", code=1)
    assert found["runs"]["status"] == "fail"
    assert found["store-postgres/server"]["status"] == "fail"
    assert "store-postgres/role" not in found


def test_other_stores_import_no_driver(tmp_path):
    gert = Gert(tmp_path, PYTHONPROFILEIMPORTTIME="1")
    said = gert("doctor", "--json")
    assert said.code == 0, said.all
    assert "msgspec" in said.err
    assert "psycopg" not in said.err
    assert "sqlite3" not in said.err
