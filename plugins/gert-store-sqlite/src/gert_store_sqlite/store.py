"""Open the store of an address ``sqlite:PATH``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import StoreError
from gert_core.kit.store_urls import split_url
from gert_core.kit.tables.store import TableStore
from gert_store_sqlite.database import SqliteDatabase

if TYPE_CHECKING:
    from gert_core.api import StoreServices


def open_store(url: str, services: StoreServices) -> TableStore:
    """Return the store of a file, whose path begins at the project's root."""
    path = split_url(url)[1].removeprefix("//")
    if not path:
        raise StoreError(f"{url} names no file", hint="write it as sqlite:PATH, such as sqlite:runs.db")
    return TableStore(SqliteDatabase(services.root / path), warn=services.warn)


__all__ = ["open_store"]
