"""The SQLite store passes the conformance of stores with leases."""

from __future__ import annotations

import gert_store_sqlite

from gert_core.testing.conformance import DatabaseStoreConformance


class TestSqliteStore(DatabaseStoreConformance):
    plugin = gert_store_sqlite

    def url(self, tmp_path):
        return f"sqlite:{tmp_path / 'runs.db'}"
