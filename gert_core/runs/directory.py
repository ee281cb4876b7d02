"""The ids of runs, and the directory in which runs are kept unless another store is chosen."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import UsageError

if TYPE_CHECKING:
    from gert_core.documents.project import Project

DEFAULT_DIRECTORY: Final = "runs"
_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def new_run_id(runbook_name: str, *, now: datetime | None = None) -> str:
    """Return a new id ``<UTC time>-<runbook>-<random>``, sortable by time and safe as a directory name."""
    when = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    slug = re.sub(r"[^a-z0-9]+", "-", runbook_name.lower()).strip("-")[:60].rstrip("-") or "runbook"
    return f"{when}-{slug}-{os.urandom(4).hex()}"


def runs_root(project: Project | None, *, cwd: Path | None = None) -> Path:
    """Return where runs are kept: ``runs_dir`` of the project, else ``runs`` in the current directory."""
    if project is None:
        return (cwd or Path.cwd()) / DEFAULT_DIRECTORY
    return Path(project.root, project.model.runs_dir or DEFAULT_DIRECTORY)


def is_run_id(name: str) -> bool:
    """Return whether a name can be a run's id, and so the name of its directory."""
    return _RUN_ID.fullmatch(name) is not None


def check_run_id(run_id: str) -> str:
    """Return the id if it is valid, else raise ``UsageError``; it becomes part of a path."""
    if not is_run_id(run_id):
        message = f"{run_id!r} is not a valid run id"
        raise UsageError(message, kind=ErrorKind.RUN_ID, hint="gert runs list shows the runs")
    return run_id


__all__ = ["check_run_id", "is_run_id", "new_run_id", "runs_root"]
