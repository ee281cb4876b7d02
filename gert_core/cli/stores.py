"""The store of the runs that a command reads or writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gert_core.runs.directory import runs_root
from gert_core.stores.directory import DirectoryStore

if TYPE_CHECKING:
    from gert_core.api import RunStore
    from gert_core.documents.project import Project


def store_here(project: Project | None) -> RunStore:
    """Return the store of a project, or of the current directory outside of one."""
    return DirectoryStore(runs_root(project, cwd=Path.cwd()))


__all__ = ["store_here"]
