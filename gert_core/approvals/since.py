"""What changed since a step of a runbook was approved last: for people who are asked to approve it again."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import GertError, RunError, StoreError
from gert_core.approvals.binding import changed_fields
from gert_core.approvals.inbox import entry_of
from gert_core.approvals.standing import UNCHECKED
from gert_core.kit.log import warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api import ApprovalRequest, RunStore
    from gert_core.approvals.checks import Approvals
    from gert_core.approvals.inbox import TicketEntry

_NAMES: Final = {"runbook_hash": "runbook", "tool_hash": "tools", "policy_digest": "policy"}
"""What the fields of a document are called here; ``tools`` are also those that a step's type may call."""
_COMPARED: Final = ("command", "inputs", "contract", "runbook", "tools", "policy")


class SinceLast(Struct, frozen=True, kw_only=True):
    """The last approved request of the same runbook and step, and what is different now."""

    ticket_id: str
    at: str
    approvers: tuple[str, ...]
    changed: tuple[Mapping[str, Any], ...]
    """Each with ``field``, ``before`` and ``after``; nothing when it is the same request again."""

    def to_json(self) -> dict[str, object]:
        """Return ``since_last`` of a ticket."""
        fields = {name: getattr(self, name) for name in ("ticket_id", "at")}
        return {**fields, "approvers": list(self.approvers), "changed": [dict(one) for one in self.changed]}


def since_last(
    store: RunStore, request: ApprovalRequest, *, known: Callable[[], Approvals] = lambda: UNCHECKED
) -> SinceLast | None:
    """Return what changed since the last approval of the step in the newest run that has one; None without one.

    ``known`` gives what answers are checked against.
    """
    run_id, found = "", None
    for entry in _approved(store, request, cache(known)):  # the policies are read once, not for every ticket
        if found is not None and entry.request.run_id != run_id:
            break
        if found is None or entry.request.created > found.request.created:
            run_id, found = entry.request.run_id, entry
    if found is None:
        return None
    return SinceLast(
        ticket_id=found.request.ticket_id,
        at=max((answer.timestamp for answer in found.answers if answer.approved), default=""),
        approvers=found.approvers,
        changed=tuple(_changes(found.request.document, request.document)),
    )


def since_last_json(
    store: RunStore, request: ApprovalRequest, *, known: Callable[[], Approvals] = lambda: UNCHECKED
) -> dict[str, object] | None:
    """Return the same as an object; None, with a warning, where it cannot be found out."""
    try:
        found = since_last(store, request, known=known)
    except (GertError, OSError) as error:
        warning("approvals", "the last approval of step %s is not known: %s", request.step_id, error)
        return None
    return None if found is None else found.to_json()


def _approved(store: RunStore, request: ApprovalRequest, known: Callable[[], Approvals]) -> Iterator[TicketEntry]:
    """Yield the approved tickets of the same step that were requested before, those of the newest run first."""
    for row in store.tickets(status="answered", runbook=request.runbook_name, step_id=request.step_id):
        if row.ticket_id == request.ticket_id:
            continue
        entry = None
        # One that was altered or deleted is not compared with.
        with suppress(RunError, StoreError), store.open(row.run_id) as run:
            entry = entry_of(run, row.ticket_id, known=known)
        if entry is not None and entry.resolved == "approved" and entry.request.created < request.created:
            yield entry


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in changed_fields(before, after):
        head, _, part = name.partition(".")
        field = _NAMES.get(head, head)
        if field not in _COMPARED:
            continue
        old, new = before.get(head), after.get(head)
        if part:
            old, new, field = (old or {}).get(part), (new or {}).get(part), f"{field}.{part}"
        yield {"field": field, "before": old, "after": new}


__all__ = ["SinceLast", "since_last", "since_last_json"]
