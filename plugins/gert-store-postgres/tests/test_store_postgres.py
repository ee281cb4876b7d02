"""The PostgreSQL store passes the conformance of stores with leases."""

from __future__ import annotations

import gert_store_postgres
import pytest

from gert_core.testing.conformance import DatabaseStoreConformance


class TestPostgresStore(DatabaseStoreConformance):
    plugin = gert_store_postgres

    @pytest.fixture(autouse=True)
    def address(self, url):
        self._url = url

    def url(self, tmp_path):
        return self._url
