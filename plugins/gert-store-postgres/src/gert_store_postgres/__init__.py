"""The store ``postgres://...``: keeps runs in a PostgreSQL database."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Check, StoreType


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


@hookimpl
def gert_checks() -> list[Check]:
    """Register the checks of the server and of the role, where runs are kept there."""
    return [
        Check(name="server", run="gert_store_postgres.checks:check_server"),
        Check(name="role", run="gert_store_postgres.checks:check_role"),
    ]
