"""The notifier ``pagerduty``: triggers and resolves incidents through Events API v2."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Notifier


@hookimpl
def gert_notifiers() -> list[Notifier]:
    """Register ``pagerduty``, which a rule chooses by ``pagerduty_severity``."""
    return [
        Notifier(
            name="pagerduty",
            keys=("pagerduty_severity",),
            options=("dedup",),
            send="gert_notify_pagerduty.sending:send",
            summary="Triggers and resolves incidents in PagerDuty.",
        )
    ]
