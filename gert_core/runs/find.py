"""Find the run that a person means: by its id, by the beginning of its id, or as the latest one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import UsageError
from gert_core.runs.directory import RunDirectory, check_run_id
from gert_core.runs.listing import run_directories

if TYPE_CHECKING:
    from pathlib import Path

LATEST: Final = "latest"
_SHOWN: Final = 10
"""The number of candidates that a message names."""


def find_run(root: Path, name: str) -> RunDirectory:
    """Open the run of this id under ``root``, else the only one whose id begins so, or for ``latest`` the newest."""
    try:
        return RunDirectory.open(root, name)
    except UsageError as error:
        if error.kind != ErrorKind.RUN_NOT_FOUND:
            raise
        found = run_directories(root)
        if name != LATEST:
            found = [run for run in found if run.run_id.startswith(check_run_id(name))]
        if not found:
            raise
    if name != LATEST and len(found) > 1:
        ids = [run.run_id for run in found]
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        raise UsageError(
            f"the ids of {len(ids)} runs begin with {name}: {', '.join(ids[:_SHOWN])}{more}",
            kind=ErrorKind.RUN_ID,
            hint="give more of the id, or `latest` for the newest run",
        )
    return RunDirectory.open(root, found[0].run_id)


__all__ = ["LATEST", "find_run"]
