"""Find the run that a person means: by its id, by the beginning of its id, or as the latest one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import StoreError, UsageError
from gert_core.runs.directory import check_run_id

if TYPE_CHECKING:
    from gert_core.api.stores import RunStore, StoredRun

LATEST: Final = "latest"
_SHOWN: Final = 10
"""The number of candidates that a message names."""


def find_run(store: RunStore, name: str) -> StoredRun:
    """Open the run of this id, else the only one whose id begins so, or for ``latest`` the newest."""
    try:
        return store.open(check_run_id(name))
    except StoreError as error:
        if error.kind != ErrorKind.RUN_NOT_FOUND:
            raise
        if name == LATEST:
            found = list(islice(store.run_ids(), 1))
        else:
            found = [run_id for run_id in store.run_ids() if run_id.startswith(name)]
        if not found:
            raise
    if name != LATEST and len(found) > 1:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise UsageError(
            f"the ids of {len(found)} runs begin with {name}: {', '.join(found[:_SHOWN])}{more}",
            kind=ErrorKind.RUN_ID,
            hint="give more of the id, or `latest` for the newest run",
        )
    return store.open(check_run_id(found[0]))  # what another program wrote into a store may have any id


__all__ = ["LATEST", "find_run"]
