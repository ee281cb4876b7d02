"""Open the store of an address ``postgres://...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.kit.tables.store import TableStore
from gert_store_postgres.database import PostgresDatabase

if TYPE_CHECKING:
    from gert_core.api import StoreServices


def open_store(url: str, services: StoreServices) -> TableStore:
    """Return the store of a database; what the address leaves out comes from libpq's own variables and files."""
    return TableStore(PostgresDatabase(url), warn=services.warn)


__all__ = ["open_store"]
