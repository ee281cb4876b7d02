"""Post a notification to an incoming webhook of Slack, as plain text."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, Final

from gert_http import deliver

from gert_core.kit.escaping import escape as spelled

if TYPE_CHECKING:
    from gert_core.api import Deadline, Delivery, Notification, Services

_LONGEST: Final = 2_999
"""The most characters of a message: what is longer is cut. Slack takes 3000 in a block."""


def send(notification: Notification, services: Services, deadline: Deadline) -> Delivery:
    """Post what happened in words, of which Slack makes no link, mention, picture or markup."""
    text = spelled(str(notification.document.get("text") or notification.event), keep="\n")
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    body = json.dumps(message(text), ensure_ascii=False).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "gert-notify-slack"}
    return deliver(notification.value, body, headers, deadline)


def message(text: str) -> dict[str, Any]:
    """Return a message that shows a text as it is.

    A channel shows the block. ``text`` stands in notifications of phones and desktops, which could link and draw what
    looks like it: ``parse`` and ``mrkdwn`` say that it is to be left alone.
    """
    return {
        "blocks": [{"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}],
        "text": html.escape(text, quote=False),  # the three characters that Slack asks to escape
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


__all__ = ["message", "send"]
