"""Post a notification as JSON, with its id and, when there is a key, a signature."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

from gert_http import deliver, signature

from gert_core.api import Delivery

if TYPE_CHECKING:
    from gert_core.api import Deadline, Notification, Services

KEY: Final = "GERT_WEBHOOK_SIGNING_KEY"
"""The variable with the key that signs."""


def send(notification: Notification, services: Services, deadline: Deadline) -> Delivery:
    """Post what happened to the address that the rule has."""
    body = json.dumps(notification.document, ensure_ascii=False, default=str).encode("utf-8", "replace")
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "gert-notify-webhook",
        "Gert-Delivery": notification.id,
    }
    if key := services.environ.get(KEY):
        try:
            headers["Gert-Signature"] = signature(key, body, at=int(time.time()))
        except ValueError as error:
            return Delivery(status="failed", error=f"{KEY} cannot be used: {error}")
    return deliver(notification.value, body, headers, deadline)


__all__ = ["KEY", "send"]
