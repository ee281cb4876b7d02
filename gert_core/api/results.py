"""The results of steps and blocks, and the outcome of a run."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.api.error_kinds import ErrorKind

if TYPE_CHECKING:
    from collections.abc import Mapping


class StepStatus(StrEnum):
    """The status of one executed step."""

    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    ERROR = "error"


class BlockStatus(StrEnum):
    """The status of a block; the core acts on everything but ``success``, and on failures unless they are caught."""

    SUCCESS = "success"
    FAILED = "failed"
    ERROR = "error"
    DENIED = "denied"
    SUSPENDED = "suspended"
    CANCELLED = "cancelled"
    ENDED = "ended"
    SKIPPED = "skipped"


class RunStatus(StrEnum):
    """The status of a run; an outcome exists only for ``completed``."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    ERROR = "error"
    CANCELLED = "cancelled"
    APPROVAL_PENDING = "approval_pending"
    ANSWER_PENDING = "answer_pending"
    BLOCKED = "blocked"
    QUEUED = "queued"


class OutcomeCategory(StrEnum):
    """The categories of outcomes; domain meaning goes into ``code`` and ``meta``."""

    RESOLVED = "resolved"
    ESCALATED = "escalated"
    NO_ACTION = "no_action"
    NEEDS_RCA = "needs_rca"


class Principal(Struct, frozen=True, kw_only=True):
    """Who did something: ``kind`` is ``system``, ``human`` or ``agent``."""

    kind: str = "system"
    id: str = "kernel"
    role: str | None = None
    model: str | None = None

    def to_json(self) -> dict[str, str]:
        """Return the shape written to the trace; absent fields are left out."""
        out = {"kind": self.kind, "id": self.id}
        if self.role is not None:
            out["role"] = self.role
        if self.model is not None:
            out["model"] = self.model
        return out


class Outcome(Struct, frozen=True, kw_only=True):
    """The outcome of a run."""

    category: str
    code: str = ""
    meta: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the shape of ``outcome`` in traces and ``--json``."""
        return {"category": str(self.category), "code": self.code, "meta": dict(self.meta)}


class Completed(Struct, frozen=True, kw_only=True):
    """The result of a step that succeeded; ``detail`` is shown and traced but is not a variable."""

    outputs: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)
    detail: Mapping[str, object] = field(default_factory=dict)
    principal: Principal | None = None


class Failed(Struct, frozen=True, kw_only=True):
    """The result of a step that was executed and did not succeed: a non-zero exit, a false assertion, a rejection."""

    kind: str
    message: str
    outputs: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)
    detail: Mapping[str, object] = field(default_factory=dict)
    principal: Principal | None = None
    retryable: bool = True
    """False: another attempt would fail as well, so ``retry`` makes none."""


class Errored(Struct, frozen=True, kw_only=True):
    """The result of a step that could not be executed: no program, a timeout, an invalid answer.

    ``outputs`` are those it had so far; outputs that violate the contract are dropped, and the error stays.
    ``acted`` False: nothing was done outside gert, so that ``--retry-failed`` may run the step again whatever its
    contract.
    """

    kind: str
    message: str
    outputs: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)
    detail: Mapping[str, object] = field(default_factory=dict)
    principal: Principal | None = None
    acted: bool = True
    retryable: bool = True
    """False: another attempt would fail as well, so ``retry`` makes none."""


class Ended(Struct, frozen=True, kw_only=True):
    """The result that ends the run with this outcome; only types with flow ``TERMINAL`` may return it."""

    outcome: Outcome


Result = Completed | Failed | Errored | Ended
"""What a step type's ``run`` returns."""


class StepProblem(Exception):  # noqa: N818 - it is a result raised from depth, not a fault
    """An error that ends the step with a kind and a message; raised by the step context or a step.

    ``failed`` True makes the step ``failed`` instead of ``error``. ``acted`` False: the call that raised it did nothing
    outside gert, because the program was not started. ``retryable`` False: another attempt would fail as well.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        failed: bool = False,
        detail: Mapping[str, object] | None = None,
        acted: bool = True,
        retryable: bool = True,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.failed = failed
        self.detail = dict(detail or {})
        self.acted = acted
        self.retryable = retryable


class Declined(StepProblem):
    """A person declined to answer (``reject REASON``, or ``no`` to a confirmation); unhandled, the step has failed."""

    def __init__(self, reason: str, *, principal: Principal | None = None) -> None:
        super().__init__(ErrorKind.REJECTED, reason, failed=True, acted=False, retryable=False)
        self.principal = principal


class Undecided(Exception):  # noqa: N818 - not an error: the value is not known in this mode
    """The need for a value that is known only in a real run (dry-run and probe)."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is known only in a real run")
        self.what = what


__all__ = [
    "BlockStatus",
    "Completed",
    "Declined",
    "Ended",
    "Errored",
    "Failed",
    "Outcome",
    "OutcomeCategory",
    "Principal",
    "Result",
    "RunStatus",
    "StepProblem",
    "StepStatus",
    "Undecided",
]
