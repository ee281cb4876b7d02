"""The store ``sqlite:PATH``: keeps runs in a SQLite file."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Check, StoreType


@hookimpl
def gert_stores() -> list[StoreType]:
    """Register the store."""
    return [
        StoreType(
            name="sqlite",
            schemes=("sqlite",),
            open="gert_store_sqlite.store:open_store",
            summary="A SQLite file, for one machine and few writers.",
        )
    ]


@hookimpl
def gert_checks() -> list[Check]:
    """Register the check of the file, where runs are kept in one."""
    return [Check(name="file", run="gert_store_sqlite.checks:check_file")]
