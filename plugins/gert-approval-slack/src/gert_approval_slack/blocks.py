"""Build the message about a ticket for Slack: its blocks while it is open, and when it is settled."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.kit.ticket_facts import (
    GRAVE,
    bounded,
    command_text,
    facts,
    heading,
    inputs_text,
    since_text,
    where_whole,
)
from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import ApprovalRequest

APPROVE: Final = "gert_approve"
REJECT: Final = "gert_reject"
_COMMAND: Final = 2_900
_INPUTS: Final = 1_500
_FIELD: Final = 900
_SAID: Final = 2_900
_HEADER: Final = 150
_FENCE: Final = re.compile(r"`{3,}")

Block = dict[str, Any]


def escaped(text: str) -> str:
    """Return a text in which Slack sees no link, channel, person or entity."""
    return html.escape(text, quote=False)  # the three characters that Slack asks to escape


def open_message(
    request: ApprovalRequest,
    *,
    link: str | None = None,
    since: Mapping[str, Any] | None = None,
    former: str = "",
    so_far: Sequence[str] = (),
) -> dict[str, Any]:
    """Return ``text`` and ``blocks`` of a ticket that waits for answers.

    ``former`` says that there may be another message, ``so_far`` has a line per answer; both are in Slack's markup.
    """
    blocks = _about(request, link=link, note=since_text(since))
    if former:
        blocks.insert(1, _context(former))
    if so_far:
        blocks.append(_section(_lines(so_far)))
    blocks.append({"type": "actions", "block_id": "gert_decision", "elements": _buttons(request)})
    return {"text": escaped(heading(request)), "blocks": blocks}


def settled_message(request: ApprovalRequest, *, lines: Sequence[str], link: str | None = None) -> dict[str, Any]:
    """Return ``text`` and ``blocks`` of a ticket that takes no more answers: what became of it, and no buttons."""
    said = _lines(lines)
    return {"text": said, "blocks": [*_about(request, link=link), _section(said)]}


def value_of(request: ApprovalRequest) -> str:
    """Return the value of both buttons."""
    return f"{request.run_id}|{request.ticket_id}"


def when(text: str) -> str:
    """Return a time in Slack's markup, which shows it in the reader's time zone."""
    try:
        moment = parse_time(text)
    except ValueError:
        return escaped(text)
    fallback = f"{moment:%Y-%m-%d %H:%M} UTC"
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} {{time}}|{fallback}>"


def _about(request: ApprovalRequest, *, link: str | None, note: str = "") -> list[Block]:
    title = bounded(heading(request), _HEADER)
    blocks: list[Block] = [{"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}]
    shown = {label: _literal(text) for label, text in facts(request).items()}
    if request.expires_at:
        shown["Expires"] = when(request.expires_at)
    fields = [{"type": "mrkdwn", "text": f"*{label}*\n{text}"} for label, text in list(shown.items())[:10]]
    blocks.append({"type": "section", "fields": fields})
    blocks.append(_section(f"*Command*\n```\n{command_text(request, _COMMAND, fit=_preformatted)}\n```"))
    if inputs := inputs_text(request, _INPUTS):
        blocks.append(_section(f"*Inputs*\n```\n{_preformatted(inputs, _INPUTS)}\n```"))
    notes = [_bounded_markup(note, _FIELD)] if note else []
    page = (
        f"<{escaped(link)}|Open the ticket>: it"
        if link
        else f"`gert approvals show {escaped(request.ticket_id)} --json`"
    )
    notes += [where_whole(page), f"Ticket {escaped(request.ticket_id)}"]
    blocks.append(_context("\n".join(notes)))
    return blocks


def _buttons(request: ApprovalRequest) -> list[Block]:
    buttons = []
    for action, label, style in ((APPROVE, "Approve", "primary"), (REJECT, "Reject", "danger")):
        button: Block = {
            "type": "button",
            "action_id": action,
            "text": {"type": "plain_text", "text": label, "emoji": False},
            "style": style,
            "value": value_of(request),
        }
        if request.risk_level in GRAVE:
            button["confirm"] = _confirm(request, label, style)
        buttons.append(button)
    return buttons


def _confirm(request: ApprovalRequest, label: str, style: str) -> Block:
    asked = bounded(f"{label} {heading(request).partition(': ')[2]}? Its risk is {request.risk_level}.", 300)
    return {
        "title": {"type": "plain_text", "text": f"{label} this step?", "emoji": False},
        "text": {"type": "plain_text", "text": asked, "emoji": False},
        "confirm": {"type": "plain_text", "text": label, "emoji": False},
        "deny": {"type": "plain_text", "text": "Cancel", "emoji": False},
        "style": style,
    }


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _lines(lines: Sequence[str]) -> str:
    """Return the first of these lines, as many as Slack takes in one section, and how many more there are."""
    kept, left = list[str](), _SAID
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    more = len(lines) - len(kept)
    return "\n".join([*kept, *([f"and {more} more"] if more else [])])


def _context(text: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text, "verbatim": True}]}


def _preformatted(text: str, size: int) -> str:
    r"""Return a text of at most ``size`` characters in fences; one inside of it is spelled out (``\u0060``)."""
    return _bounded_markup(_FENCE.sub(lambda found: r"\u0060" * len(found[0]), text), size)


def _literal(text: str) -> str:
    r"""Return a value as inline code, so that none of it is markup; a backtick is spelled out (``\u0060``)."""
    plain = text.replace("`", r"\u0060")
    return f"`{_bounded_markup(plain, _FIELD)}`"


def _bounded_markup(text: str, size: int) -> str:
    """Return a text, escaped, of at most ``size`` characters; no entity is divided."""
    found, kept = escaped(text), size
    while len(found) > size:
        kept -= max((len(found) - size) // 5, 1)
        found = escaped(bounded(text, kept))
    return found


__all__ = ["APPROVE", "REJECT", "escaped", "open_message", "settled_message", "value_of", "when"]
