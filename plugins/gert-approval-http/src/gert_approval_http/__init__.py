"""The approval provider ``http``: sends requests to a service, and takes its answers."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import ApprovalProvider, Check


@hookimpl
def gert_approval_providers() -> list[ApprovalProvider]:
    """Register ``http``: a run with open tickets is suspended until the service has answered."""
    return [
        ApprovalProvider(
            name="http",
            open="gert_approval_http.session:open_session",
            callback="gert_approval_http.callback:callback",
            bridge="http",
            check="gert_approval_http.settings:check",
            summary="Sends requests to a service of your own, and takes its answers.",
        )
    ]


@hookimpl
def gert_checks() -> list[Check]:
    """Register the check of the settings, where the project asks a service."""
    return [Check(name="settings", run="gert_approval_http.settings:check_settings")]
