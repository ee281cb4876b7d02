"""The approval provider ``teams``: asks in a channel of Microsoft Teams, answered in ``gert web``."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import ApprovalProvider, Check


@hookimpl
def gert_approval_providers() -> list[ApprovalProvider]:
    """Register ``teams``: a run with open tickets is suspended until they are answered."""
    return [
        ApprovalProvider(
            name="teams",
            open="gert_approval_teams.session:open_session",
            bridge="web",
            check="gert_approval_teams.session:check",
            summary="Asks in a channel of Microsoft Teams, answered in gert web.",
        )
    ]


@hookimpl
def gert_checks() -> list[Check]:
    """Register the check of the settings, where the project asks in Teams."""
    return [Check(name="settings", run="gert_approval_teams.session:check_settings")]
