"""Send a notification to PagerDuty as an event: trigger an incident, or resolve the one about the same thing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gert_http import deliver

from gert_core.api import Delivery

if TYPE_CHECKING:
    from gert_core.api import Deadline, Notification, Services

ENDPOINT: Final = "https://events.pagerduty.com"
_PATH: Final = "/v2/enqueue"
_SEVERITIES: Final = ("critical", "error", "warning", "info")
_RESOLVE: Final = ("resolved", "no_action")
"""Outcomes after which there is nothing left to do."""
_KEY: Final = 255
_SUMMARY: Final = 1024
"""The most characters of a key and of a summary that PagerDuty takes."""


def send(notification: Notification, services: Services, deadline: Deadline) -> Delivery:
    """Send one event to the service that the routing key of the project belongs to."""
    if notification.value not in _SEVERITIES:
        return Delivery(status="refused", error=f"{notification.value!r} is not a severity: {', '.join(_SEVERITIES)}")
    routing_key = _setting(services, "routing_key")
    if not routing_key:
        said = "set notifiers.pagerduty.routing_key in gert-project.yaml to env/NAME, and that variable"
        return Delivery(status="failed", error=f"there is no routing key: {said}")
    endpoint = _setting(services, "endpoint") or ENDPOINT
    body = json.dumps(event(notification, routing_key), ensure_ascii=False, default=str).encode("utf-8", "replace")
    headers = {"Content-Type": "application/json", "User-Agent": "gert-notify-pagerduty"}
    return deliver(f"{endpoint.rstrip('/')}{_PATH}", body, headers, deadline)


def event(notification: Notification, routing_key: str) -> dict[str, Any]:
    """Return the event; runs of a runbook with the same inputs share an incident, unless the rule says ``dedup``."""
    document = notification.document
    key = str(notification.options.get("dedup") or notification.subject)
    resolves = notification.event in _RESOLVE
    found: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "resolve" if resolves else "trigger",
        "dedup_key": key[:_KEY],
    }
    if resolves:
        return found
    outcome = document.get("outcome")
    code = outcome.get("code") if isinstance(outcome, dict) else None
    names = ("run_id", "event", "status", "outcome", "failure", "duration", "pending", "next", "trace")
    found["payload"] = {
        "summary": str(document.get("text") or notification.event).partition("\n")[0][:_SUMMARY],
        "source": str(document.get("runbook") or "gert"),
        "severity": notification.value,
        "timestamp": document.get("timestamp"),
        "class": str(code or notification.event),
        "custom_details": {name: document.get(name) for name in names},
    }
    if url := document.get("url"):
        found["links"] = [{"href": url, "text": "The run"}]
    return found


def _setting(services: Services, name: str) -> str:
    """Return a setting of the project; ``env/NAME`` is the value of that variable."""
    value = services.config.get(name)
    if not isinstance(value, str):
        return ""
    return services.environ.get(value.removeprefix("env/"), "") if value.startswith("env/") else value


__all__ = ["ENDPOINT", "event", "send"]
