"""The approval provider ``slack``: asks in a channel, and takes clicks on its buttons as answers."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import ApprovalProvider, Check, Command


@hookimpl
def gert_approval_providers() -> list[ApprovalProvider]:
    """Register ``slack``: a run with open tickets is suspended until people have clicked."""
    return [
        ApprovalProvider(
            name="slack",
            open="gert_approval_slack.session:open_session",
            callback="gert_approval_slack.callback:callback",
            update="gert_approval_slack.rewriting:update",
            bridge="slack",
            check="gert_approval_slack.session:check",
            summary="Asks in a channel of Slack, answered by its buttons.",
        )
    ]


@hookimpl
def gert_commands() -> list[Command]:
    """Register ``gert slack``."""
    summary = "Receive answers to approvals from Slack over Socket Mode."
    return [Command(name="slack", summary=summary, target="gert_approval_slack.command:main")]


@hookimpl
def gert_checks() -> list[Check]:
    """Register the check of settings and token, where the project asks in Slack."""
    return [Check(name="workspace", run="gert_approval_slack.checks:check_workspace")]
