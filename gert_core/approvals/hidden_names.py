"""Hide the name of an approver that has a secret of the run in it: ids are not masked in the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.approvals.requests import comparable_id
from gert_core.governance.people import HIDDEN

if TYPE_CHECKING:
    from gert_core.api import ApprovalRequest, ApprovalResponse
    from gert_core.approvals.checks import Approvals

_REASON: Final = "(hidden: there is a secret of the run in it)"


def without_secrets(response: ApprovalResponse, request: ApprovalRequest, known: Approvals) -> ApprovalResponse:
    """Return an answer without the name of its approver where that has a secret in it; then it is not an id.

    A line of a person may have anything in that place. What the run or a policy has as an id stays: there it is written
    anyhow, whatever secret is equal to it by chance. A secret that was typed as the line, or with a colon in it, was
    taken apart, so that only the line shows it.
    """
    who, reason, line = response.approver_id, response.reason, response.line
    if not isinstance(who, str):
        return response
    if line is not None:
        response = replace(response, line=None)
    named, told = known.secrets_in(who), known.secrets_in(reason) if isinstance(reason, str) else 0
    parted = isinstance(line, str) and known.secrets_in(line) > named + told
    if not (named or parted):
        return response
    shown = who if not parted and _is_declared(who, request, known) else HIDDEN
    return replace(response, approver_id=shown, reason=_REASON if parted and reason else reason)


def _is_declared(who: str, request: ApprovalRequest, known: Approvals) -> bool:
    ids = (request.requested_by, *known.actors, *frozenset().union(*known.changed_by))
    return bool(known.people.meant_by(who)) or comparable_id(who) in map(comparable_id, ids)


__all__ = ["without_secrets"]
