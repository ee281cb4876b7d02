"""Refuse settings of approval providers that name gert's own keys: the project says where such a provider sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ProjectError
from gert_core.documents.project_file import FILE_NAME
from gert_core.secrets.environ import own_names

if TYPE_CHECKING:
    from gert_core.documents.project import Project


def refuse_own_keys(project: Project, provider: str) -> None:
    """Raise ``ProjectError`` when ``approvals.config`` names a key of gert, or what opens the store of runs."""
    if own := own_names(project.model.approvals.config, taker=provider):
        raise ProjectError(
            f"approvals.config names {own[0]}, a key of gert or of its store, which no approval provider gets",
            file=str(project.root / FILE_NAME),
            hint="name a variable of the service itself",
        )


__all__ = ["refuse_own_keys"]
