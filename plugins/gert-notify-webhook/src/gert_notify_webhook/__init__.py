"""The notifier ``webhook``: posts JSON to a web address."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Notifier


@hookimpl
def gert_notifiers() -> list[Notifier]:
    """Register ``webhook``."""
    return [
        Notifier(
            name="webhook",
            keys=("webhook",),
            send="gert_notify_webhook.sending:send",
            summary="Posts JSON to a web address, signed when there is a key.",
        )
    ]
