"""Tell where an open ticket stands by the answers to it, as far as is known before its run checks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import ErrorKind
from gert_core.approvals.checks import AnswerResult, Approvals, Tally, assess, mark_of
from gert_core.approvals.requests import comparable_id
from gert_core.governance.people import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.api import ApprovalRequest, ApprovalResponse
    from gert_core.approvals.checks import AnswerAssessment

_NOT_KNOWN_HERE: Final = frozenset(
    {ErrorKind.SIGNATURE_KEY_MISSING, ErrorKind.SIGNATURE_KEY_UNUSABLE, ErrorKind.SIGNATURE_ALGORITHM}
)
"""Why a signature cannot be verified by somebody who has other keys or plugins than the run."""

UNCHECKED: Final = Approvals(actors=frozenset(), schemes=lambda _: None, environ={})
"""What answers are checked against where neither policies nor keys are known."""


class TicketStanding(Struct, frozen=True, kw_only=True):
    """The answers to a ticket: who approved so that it counts, whose signature cannot be verified here, a rejection."""

    approved: dict[str, str] = {}
    """Approver ids as they were given, by person."""
    unverified: tuple[str, ...] = ()
    rejected: bool = False
    refused: dict[str, str] = {}
    """By comparable id of the approver why an approval does not count."""
    heard: tuple[ApprovalResponse, ...] = ()
    """Those of the answers that the run has not set aside."""


def standing(
    answers: Iterable[ApprovalResponse],
    request: ApprovalRequest,
    known: Approvals,
    *,
    set_aside: Mapping[tuple[object, ...], str] | None = None,
) -> TicketStanding:
    """Check the answers to a ticket as its run will; one that does not count there takes nothing from anybody.

    ``set_aside`` are those that the run has read and set aside, with why: it is right, whatever is known here.
    """
    aside = set_aside or {}
    found = [(answer, _set_aside(answer, aside)) for answer in answers]
    heard = tuple(answer for answer, why in found if why is None)
    refused = {comparable_id(answer.approver_id): why for answer, why in found if why is not None}
    tally, unverified, rejected = _counted(heard, request, known, refused)
    if rejected:
        return TicketStanding(approved=tally.approvers, rejected=True, heard=heard)
    open_ = {who: shown for who, shown in unverified.items() if who not in tally.approvers}
    refused = {who: why for who, why in refused.items() if who not in open_}
    return TicketStanding(approved=tally.approvers, unverified=tuple(open_.values()), refused=refused, heard=heard)


def _set_aside(answer: ApprovalResponse, aside: Mapping[tuple[object, ...], str]) -> str | None:
    """Return why the run set an answer aside; a name with a secret of the run in it is not in its trace."""
    why = aside.get(mark_of(answer))
    return aside.get(mark_of(replace(answer, approver_id=HIDDEN))) if why is None else why


def assess_next(
    response: ApprovalResponse, answers: Iterable[ApprovalResponse], request: ApprovalRequest, known: Approvals
) -> AnswerAssessment | None:
    """Check an answer that is about to be given behind others; return why it would not count, None when it may.

    What only the run can verify may count.
    """
    tally, _, _ = _counted(answers, request, known)
    checked = assess(response, request, known, tally=tally)
    if checked.result is AnswerResult.COUNTED or checked.kind in {ErrorKind.APPROVAL_REJECTED, *_NOT_KNOWN_HERE}:
        return None
    return checked


def has_idle_signature(response: ApprovalResponse, request: ApprovalRequest, known: Approvals) -> bool:
    """Return whether an answer has a signature that no key verifies where none is required."""
    if response.signature is None:
        return False
    checked = assess(response, request, known, tally=Tally())
    return not checked.verified and checked.kind not in _NOT_KNOWN_HERE


def counts_alone(response: ApprovalResponse, request: ApprovalRequest, known: Approvals) -> bool:
    """Return whether an answer has an effect by itself, as far as is known here, whatever others there are."""
    checked = assess(response, request, known, tally=Tally())
    return checked.result is AnswerResult.COUNTED or checked.kind == ErrorKind.APPROVAL_REJECTED


def _counted(
    answers: Iterable[ApprovalResponse],
    request: ApprovalRequest,
    known: Approvals,
    refused: dict[str, str] | None = None,
) -> tuple[Tally, dict[str, str], bool]:
    """Return which answers count, whose signature cannot be verified here, and whether one is a rejection.

    In ``refused`` it is noted why others do not count.
    """
    tally = Tally()
    unverified: dict[str, str] = {}
    for answer in answers:
        checked = assess(answer, request, known, tally=tally)
        if checked.result is AnswerResult.COUNTED:
            tally.add(answer, checked)
        elif checked.kind == ErrorKind.APPROVAL_REJECTED:
            return tally, unverified, True
        elif checked.kind in _NOT_KNOWN_HERE:
            unverified[comparable_id(answer.approver_id)] = answer.approver_id
        elif refused is not None:
            refused[comparable_id(answer.approver_id)] = checked.message
    return tally, unverified, False


__all__ = ["UNCHECKED", "TicketStanding", "assess_next", "counts_alone", "has_idle_signature", "standing"]
