"""What a message about a ticket says: the facts of its request as short texts, every character of them visible.

A message leaves out what is too long, and says so: what an approval binds is the ticket, not the message about it.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from gert_core.kit.approval_screen import GRAVE, command_of, name_of
from gert_core.kit.escaping import escape
from gert_core.kit.excerpts import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.approvals import ApprovalRequest

_VALUE: Final = 300
_LISTED: Final = 20
_BESIDES: Final = 600
_STARTED: Final = ("connect", "stdin", "env", "program", "cwd")
"""What belongs to a command that its words do not tell: ``sh`` does what it reads."""


def heading(request: ApprovalRequest) -> str:
    """Return one line that says what is asked for."""
    return f"Approval needed: {name_of(request)} of {escape(request.runbook_name)}"


def facts(request: ApprovalRequest) -> dict[str, str]:
    """Return what approvers look at first, by label; empty ones are left out."""
    found = {
        "Risk": request.risk_level,
        "Requested by": request.requested_by,
        "Run": request.run_id,
        "Effects": _tags(request, "effects"),
        "Writes": _tags(request, "writes"),
        "Rule": request.rule,
        "Who may approve": ", ".join(request.approvers),
        "Approvals needed": str(request.min_approvers) if request.min_approvers > 1 else "",
        "Author's description": request.description,
        "Author's message": str(request.document.get("message") or ""),
    }
    return {label: bounded(escape(text), _VALUE) for label, text in found.items() if text}


def bounded(text: str, size: int) -> str:
    """Return a text of at most ``size`` characters; of a longer one also its length and hash."""
    if len(text) <= size:
        return text
    digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return shorten(text, size, f"… ({len(text)} characters, SHA-256 {digest}…)")


def where_whole(place: str) -> str:
    """Return the sentence that a message ends with: ``place`` has everything, and how to tell what is cut."""
    return f"{place} has all that is approved. What is cut here ends in its length and hash."


def command_text(request: ApprovalRequest, size: int, *, fit: Callable[[str, int], str] = bounded) -> str:
    """Return the command and what else is started or called with it, one per line, in at most ``size`` characters.

    However long one of them is, none of the others is left out: each is cut by itself. ``fit`` cuts a text in the
    markup of a messenger, as ``bounded`` does for a plain one.
    """
    started: Mapping[str, Any] = request.document.get("command") or {}
    told = {name: started[name] for name in _STARTED if started.get(name)}
    share = min(_BESIDES, size // (2 * max(len(told), 1)))
    besides = [f"\n{name}: {fit(escape(_text(value)), share - len(name) - 3)}" for name, value in told.items()]
    return fit(escape(command_of(request)), size - sum(map(len, besides))) + "".join(besides)


def inputs_text(request: ApprovalRequest, size: int) -> str:
    """Return the inputs, one per line; empty when there are none."""
    lines = [f"{escape(name)} = {_value(value)}" for name, value in list(request.inputs.items())[:_LISTED]]
    more = len(request.inputs) - len(lines)
    return bounded("\n".join([*lines, *([f"and {more} more"] if more > 0 else [])]), size)


def since_text(since_last: Mapping[str, Any] | None) -> str:
    """Return what changed since the step was approved last, in a sentence."""
    if not since_last:
        return "No earlier approval of this step is known."
    who = ", ".join(escape(str(name)) for name in since_last.get("approvers") or ()) or "somebody"
    changed = [escape(str(one.get("field"))) for one in since_last.get("changed") or ()]
    when = f"Since the approval by {who} at {escape(str(since_last.get('at') or 'an unknown time'))}"
    if not changed:
        return f"{when} nothing has changed."
    shown = ", ".join(changed[:_LISTED]) + (f" and {len(changed) - _LISTED} more" if len(changed) > _LISTED else "")
    return f"{when} these have changed: {shown}."


def _value(value: object) -> str:
    return bounded(escape(_text(value)), _VALUE)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _tags(request: ApprovalRequest, name: str) -> str:
    return ", ".join(str(tag) for tag in request.contract.get(name) or ())


__all__ = ["GRAVE", "bounded", "command_text", "facts", "heading", "inputs_text", "since_text", "where_whole"]
