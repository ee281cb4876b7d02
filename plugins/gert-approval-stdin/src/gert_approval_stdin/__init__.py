"""The approval provider ``stdin``: asks for approvals at the terminal."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import ApprovalProvider


@hookimpl
def gert_approval_providers() -> list[ApprovalProvider]:
    """Register ``stdin``: the answer is given inside ``wait``."""
    return [
        ApprovalProvider(
            name="stdin",
            open="gert_approval_stdin.session:open_session",
            blocking=True,
            console=True,
            summary="Asks for approvals at the terminal.",
        )
    ]
