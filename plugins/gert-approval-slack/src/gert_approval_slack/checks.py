"""Check for ``gert doctor`` that the project can ask in Slack, and that runs do not hold what only listeners may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_approval_slack.settings import read_settings
from gert_core.api import CheckResult, GertError
from gert_core.kit.ticket_sessions import NotSentError

if TYPE_CHECKING:
    from gert_core.api import CheckServices


def check_workspace(services: CheckServices) -> CheckResult | None:
    """Return whether settings and token work; None where the project does not ask in Slack."""
    if services.approvals != "slack":
        return None
    try:
        settings = read_settings(services.config)
        token = settings.token(services.environ)
    except GertError as error:
        return CheckResult(status="fail", message=error.message, hint=error.hint or "")
    held = [
        name for name in (settings.signing_secret_env, settings.app_token_env) if name and services.environ.get(name)
    ]
    if held:
        return CheckResult(
            status="fail",
            message=f"{' and '.join(held)} can be read here, and a program that has it can answer for anybody",
            hint="set it only where `gert web` or `gert slack listen` runs, as another user than runs are started by",
        )
    from gert_approval_slack.calls import SlackCalls

    try:
        left = services.deadline.remaining()
        found = SlackCalls(token, settings.api_url).call("auth.test", {}, seconds=8.0 if left is None else left * 0.8)
    except NotSentError as error:
        return CheckResult(status="fail", message=str(error), hint=error.hint)
    team, user = (str(found.get(name) or "?") for name in ("team", "user"))
    if settings.signing_secret_env is None and settings.app_token_env is None:
        return CheckResult(
            status="warn",
            message=f"Slack knows the app as {user} of {team}, and no click can be received",
            hint="name signing_secret_env for `gert web`, or app_token_env for `gert slack listen`",
        )
    return CheckResult(status="ok", message=f"asks in {settings.channel} as {user} of {team} ({found.get('team_id')})")


__all__ = ["check_workspace"]
