"""Build the Adaptive Card about a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.kit.ticket_facts import bounded, command_text, facts, heading, inputs_text, since_text, where_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest

_COMMAND: Final = 2_900
_INPUTS: Final = 1_500
_SCHEMA: Final = "http://adaptivecards.io/schemas/adaptive-card.json"
_REPEATED: Final = "There may be an earlier card about this ticket: sending that one was interrupted."


def card(request: ApprovalRequest, *, link: str, since: Mapping[str, Any] | None, repeat: bool) -> dict[str, Any]:
    """Return a card of version 1.4 whose button opens the page of the ticket.

    Values are text runs, in which Teams sees no markup; ``repeat`` says that there may be an earlier card.
    """
    body: list[dict[str, Any]] = [_line(bounded(heading(request), 300), size="Large", weight="Bolder")]
    if repeat:
        body.append(_line(_REPEATED, isSubtle=True))
    shown = {**facts(request), **({"Expires": request.expires_at} if request.expires_at else {})}
    for label, value in shown.items():
        body.append(_runs(_run(f"{label}: ", weight="Bolder"), _run(value)))
    body.append(_line("Command", weight="Bolder"))
    body += [_line(line, fontType="Monospace") for line in command_text(request, _COMMAND).split("\n")]
    if inputs := inputs_text(request, _INPUTS):
        body.append(_line("Inputs", weight="Bolder"))
        body += [_line(line, fontType="Monospace") for line in inputs.split("\n")]
    body.append(_line(since_text(since), isSubtle=True))
    body.append(_line(where_whole("The ticket"), isSubtle=True))
    body.append(_line(f"Ticket {request.ticket_id}", isSubtle=True))
    return {
        "$schema": _SCHEMA,
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "fallbackText": bounded(heading(request), 300),
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": "Open the ticket", "url": link}],
    }


def _line(text: str, **style: Any) -> dict[str, Any]:
    return _runs(_run(text, **style))


def _runs(*runs: dict[str, Any]) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": list(runs)}


def _run(text: str, **style: Any) -> dict[str, Any]:
    return {"type": "TextRun", "text": text, **style}


__all__ = ["card"]
