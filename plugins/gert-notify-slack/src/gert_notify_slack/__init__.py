"""The notifier ``slack``: posts to an incoming webhook of Slack."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Notifier


@hookimpl
def gert_notifiers() -> list[Notifier]:
    """Register ``slack``, which also gets addresses of Slack under ``webhook``."""
    return [
        Notifier(
            name="slack",
            keys=("slack",),
            send="gert_notify_slack.sending:send",
            hosts=("hooks.slack.com", "hooks.slack-gov.com"),
            summary="Posts to an incoming webhook of Slack.",
        )
    ]
