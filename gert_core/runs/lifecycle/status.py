"""Where a run stands: its status, what it waits for, and where it would go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.api.results import RunStatus
from gert_core.runs.lifecycle.words import lifecycle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState


class Waiting(Struct, frozen=True):
    """One thing that a run waits for.

    ``kind`` is ``approval``, ``answer``, ``unblock`` or ``reconcile``; ``key`` is the step's, for ``unblock`` the key
    that unblocks the run.
    """

    kind: str
    key: str

    def __str__(self) -> str:
        """Return it as one word."""
        return f"{self.kind}:{self.key}"

    def to_json(self) -> dict[str, str]:
        """Return an entry of ``blocked_on``."""
        return {"kind": self.kind, "key": self.key}


class Standing(Struct, frozen=True, kw_only=True):
    """Where a run stands, as ``gert runs status`` prints it."""

    run_id: str
    status: str
    lifecycle: str | None
    last_event_seq: int
    last_event_type: str | None
    updated_at: str | None
    blocked_on: tuple[Waiting, ...] = ()
    failure_reason: str | None = None
    cost: Mapping[str, Any] | None = None
    """What its steps cost; ``None``: no step recorded a cost."""
    lease: Mapping[str, Any] | None = None
    """Who executes it, where its store knows that."""

    def to_json(self) -> dict[str, object]:
        """Return the document of ``gert runs status --json``."""
        return {
            "run_id": self.run_id,
            "status": self.status,
            "lifecycle": self.lifecycle,
            "last_event_seq": self.last_event_seq,
            "last_event_type": self.last_event_type,
            "updated_at": self.updated_at,
            "blocked_on": [one.to_json() for one in self.blocked_on],
            "failure_reason": self.failure_reason,
            "cost": self.cost,
            "lease": self.lease,
        }


class ResumePoint(Struct, frozen=True, kw_only=True):
    """Where a run would go on, and what it needs before it does."""

    last_seq: int
    last_step_key: str | None
    needs: str | None
    """``unblock``, ``reconcile``, ``approval``, ``answer``, ``retry`` or ``resume``; ``None``: nothing is left."""
    steps: tuple[str, ...] = ()
    """The keys of the steps that it is about."""
    blocked_on: tuple[Waiting, ...] = field(default_factory=tuple)

    def to_json(self) -> dict[str, object]:
        """Return the document of ``gert runs resume-point --json``."""
        return {
            "last_seq": self.last_seq,
            "last_step_key": self.last_step_key,
            "needs": self.needs,
            "steps": list(self.steps),
            "blocked_on": [one.to_json() for one in self.blocked_on],
        }


def standing_of(info: RunInfo, *, lease: Mapping[str, Any] | None = None) -> Standing:
    """Return where a run stands; of one that cannot be read, why not is the reason of the failure."""
    state = info.state
    if state is None:
        return Standing(
            run_id=info.run_id,
            status=info.status,
            lifecycle=None,
            last_event_seq=0,
            last_event_type=None,
            updated_at=None,
            failure_reason=info.problem,
        )
    return Standing(
        run_id=info.run_id,
        status=str(info.status),
        lifecycle=lifecycle(info.status),
        last_event_seq=state.seq,
        last_event_type=state.last_type,
        updated_at=state.updated,
        blocked_on=() if info.moved is not None else waiting_for(state, live=info.live),
        failure_reason=failure_reason(state),
        lease=lease,
    )


def resume_point_of(state: RunState, *, live: bool = False) -> ResumePoint:
    """Return where a run would go on; while a process executes it, it needs nothing."""
    found = None if live else state.resume_point
    return ResumePoint(
        last_seq=state.seq,
        last_step_key=state.last_key,
        needs=None if found is None else found["needs"],
        steps=() if found is None else tuple(found["steps"]),
        blocked_on=waiting_for(state, live=live),
    )


def waiting_for(state: RunState, *, live: bool = False) -> tuple[Waiting, ...]:
    """Return everything that a run waits for; ``live`` when a process is executing it."""
    return tuple(_waiting(state, live=live))


def _waiting(state: RunState, *, live: bool) -> Iterator[Waiting]:
    if state.status == RunStatus.COMPLETED or state.aborted:
        return
    # What is being executed has an outcome when it ends; it is unknown only when its process has gone.
    if not live:
        yield from (Waiting("reconcile", record.key) for record in state.unknown_outcomes)
    yield from (Waiting("approval", str(ticket.get("step_key"))) for ticket in state.tickets.values())
    if not state.over:
        asking = dict.fromkeys(str(question["step_key"]) for question in state.unanswered)
        yield from (Waiting("answer", key) for key in asking)
    if not state.over or state.status == RunStatus.CANCELLED:
        yield from (Waiting("unblock", key) for key in dict.fromkeys(hold.key for hold in state.holds))


def failure_reason(state: RunState) -> str | None:
    """Return in one sentence why a run failed or was cancelled; ``None`` for any other."""
    if not state.over or state.status == RunStatus.COMPLETED:
        return None
    if failures := state.failures:
        first = failures[0]
        return f"step {first.key}: {first.message}" if first.key else first.message
    reason = state.result.get("reason")
    return None if reason is None else str(reason)


__all__ = [
    "ResumePoint",
    "Standing",
    "Waiting",
    "failure_reason",
    "resume_point_of",
    "standing_of",
    "waiting_for",
]
