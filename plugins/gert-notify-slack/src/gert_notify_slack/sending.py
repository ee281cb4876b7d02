"""Post a notification to an incoming webhook of Slack, as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from gert_http import deliver

if TYPE_CHECKING:
    from gert_core.api import Deadline, Delivery, Notification, Services

_LONGEST: Final = 3_000
"""The most characters of a message, before they are escaped: what is longer is cut."""


def send(notification: Notification, services: Services, deadline: Deadline) -> Delivery:
    """Post what happened in words; what Slack would take for a mention or a link is escaped."""
    text = str(notification.document.get("text") or notification.event)
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    body = json.dumps({"text": escape(text)}, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "gert-notify-slack"}
    return deliver(notification.value, body, headers, deadline)


def escape(text: str) -> str:
    """Return a text in which Slack sees no link, channel, person or entity."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


__all__ = ["escape", "send"]
