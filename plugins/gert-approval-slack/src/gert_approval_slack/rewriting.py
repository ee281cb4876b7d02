"""Rewrite the messages of tickets that have changed: who answered, what became of it, and how the run ended."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from gert_approval_slack.blocks import escaped, open_message, settled_message, when
from gert_approval_slack.session import ticket_link
from gert_approval_slack.settings import read_settings
from gert_core.kit.escaping import escape
from gert_core.kit.excerpts import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalResponse, Services, TicketState

_GONE: Final = frozenset(
    {"message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found", "is_archived"}
)
"""What Slack answers when a message cannot be rewritten any more."""
_NAME: Final = 80
_REASON: Final = 300
"""The most characters of who answered and why: Slack refuses a message with a section that is too long."""
_CANCELLED: Final = "cancelled"
_ENDED: Final = frozenset({"completed", "failed", "error", _CANCELLED, "aborted"})
_STANDINGS: Final = {
    "answered": ":hourglass_flowing_sand: *Answered.* The run goes on when it is resumed",
    "approved": ":white_check_mark: *Approved*",
    "rejected": ":no_entry: *Rejected*",
    "expired": ":hourglass: *Expired* without a decision",
    "void": ":warning: *Void*: what it asked for has changed, and it is asked for anew if the run goes on",
    "aborted": ":no_entry: *The run was aborted*",
}


def update(state: TicketState, sent: Mapping[str, Any], services: Services) -> Mapping[str, Any] | None:
    """Rewrite what was sent about a ticket, where that shows something else; return what is kept of it then.

    What fails is tried again later. ``settled`` when the ticket and its run are over, and both were told.
    """
    messages = [dict(one) for one in sent.get("messages") or () if isinstance(one, dict)]
    if not messages:
        return None
    from gert_approval_slack.calls import SlackCalls

    settings = read_settings(services.config)
    calls = SlackCalls(settings.token(services.environ), settings.api_url)
    message = shown(state, link=ticket_link(settings, state.request.ticket_id))
    digest = sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()
    untouched = state.open and not state.answers and state.run_status != _CANCELLED
    changed = failed = False
    for one in messages:
        if one.get("gone") or one.get("shown") == digest or (untouched and "shown" not in one):
            continue
        problem = calls.attempt("chat.update", {"channel": one["channel"], "ts": one["ts"], **message})
        if problem is None or problem.code in _GONE:
            one.update({"shown": digest} if problem is None else {"gone": True})
            changed = True
        else:
            failed = True
    over = state.run_status in _ENDED and not state.open
    if over and not failed and not sent.get("ended"):
        told = {"channel": messages[0]["channel"], "thread_ts": messages[0]["ts"], "text": _end(state)}
        problem = None if messages[0].get("gone") else calls.attempt("chat.postMessage", told)
        failed = problem is not None and not problem.final
        changed = changed or not failed
    if not changed:
        return None if failed else sent
    done = over and not failed
    return {**sent, "messages": messages, **({"ended": True, "settled": True} if done else {})}


def shown(state: TicketState, *, link: str | None) -> dict[str, Any]:
    """Return what the message about a ticket shows now: buttons while it can be answered."""
    lines = [_answer(answer) for answer in state.answers if _counts(state, answer)]
    if state.open and state.run_status != _CANCELLED:
        return open_message(state.request, link=link, since=state.since_last, so_far=lines)
    return settled_message(state.request, lines=[_standing(state), *lines], link=link)


def _standing(state: TicketState) -> str:
    """Return what became of a ticket."""
    if state.open:
        return ":no_entry: *The run was cancelled*; the ticket is open again if the run is resumed"
    said = _STANDINGS.get(state.status, f"*{escaped(state.status)}*")
    return f"{said}: `{escaped(state.resume)}`" if state.status == "answered" else said


def _counts(state: TicketState, answer: ApprovalResponse) -> bool:
    return not answer.approved or answer.approver_id in (*state.approvers, *state.unverified)


def _answer(answer: ApprovalResponse) -> str:
    """Return who answered, and when."""
    who = f"*{escaped(shorten(escape(answer.approver_id), _NAME))}*"
    identity = answer.identity or {}
    if identity.get("provider") == "slack" and str(identity.get("user", "")).isalnum():
        who += f" (<@{identity['user']}>)"
    said = "approved" if answer.approved else "rejected"
    why = f": {escaped(shorten(escape(answer.reason), _REASON))}" if answer.reason else ""
    return f"{who} {said} this {when(answer.timestamp)}{why}"


def _end(state: TicketState) -> str:
    """Return how the run ended."""
    outcome = state.outcome or {}
    if outcome.get("category"):
        code = f" ({outcome['code']})" if outcome.get("code") else ""
        return escaped(escape(f"The run {state.request.run_id} ended: {outcome['category']}{code}"))
    return escaped(escape(f"The run {state.request.run_id} ended: {state.run_status}"))


__all__ = ["shown", "update"]
