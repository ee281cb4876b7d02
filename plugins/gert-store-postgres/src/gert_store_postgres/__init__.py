"""Keeps runs in a PostgreSQL database: the store ``postgres://...``."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import StoreType


@hookimpl
def gert_stores() -> list[StoreType]:
    """Register the store."""
    return [
        StoreType(
            name="postgres",
            schemes=("postgres", "postgresql"),
            open="gert_store_postgres.store:open_store",
            summary="A PostgreSQL database, for many machines and writers.",
        )
    ]
