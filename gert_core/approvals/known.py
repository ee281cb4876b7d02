"""What answers to tickets are checked against outside of runs: the policies and plugins of a project."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from gert_core.approvals.checks import Approvals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry


def checked_against(
    project: Project | None, registry: Callable[[], Registry], environ: Mapping[str, str]
) -> Callable[[], Approvals]:
    """Return what loads it on first use: people of the machine, of packs and of the project, and the user's keys.

    What only the run knows is missing: policies of its ``--policy`` and of its runbook, and its host's keys.
    """

    @cache
    def known() -> Approvals:
        from gert_core.governance.sources import load_policies

        found = registry()
        policies = load_policies(registry=found, project=project, files=(), runbook=None)
        return Approvals(actors=frozenset(), schemes=found.signature_scheme, environ=environ, people=policies.people)

    return known


__all__ = ["checked_against"]
