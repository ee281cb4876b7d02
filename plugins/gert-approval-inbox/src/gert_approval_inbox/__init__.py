"""The approval provider ``inbox``: tickets as files in the run directory."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import ApprovalProvider


@hookimpl
def gert_approval_providers() -> list[ApprovalProvider]:
    """Register ``inbox``: a run with open tickets is suspended until they are answered."""
    return [
        ApprovalProvider(
            name="inbox",
            open="gert_approval_inbox.session:open_session",
            blocking=False,
            summary="Keeps tickets as files in the run directory, answered by `gert approve`.",
        )
    ]
