"""The state of a run as its trace records it: steps, tickets, and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.results import RunStatus, StepStatus
from gert_core.runs.holds import Hold  # noqa: TC001 - read by msgspec at run time
from gert_core.runs.times import RunTimes, between

if TYPE_CHECKING:
    from collections.abc import Mapping


MODES: Final = ("real", "dry-run", "probe", "replay")
KEPT: Final = ("real", "probe")
"""The modes whose runs have a directory, and are listed, without being asked for."""
ABORTED: Final = "aborted"
"""The reason of a cancelled run that was ended for good, after its cleanup."""


class Failure(Struct, frozen=True, kw_only=True):
    """Why a step did not succeed; ``key`` is the step's, empty when it is the run that failed."""

    key: str
    step_id: str
    status: str
    kind: str
    message: str

    def to_json(self) -> dict[str, str]:
        """Return the ``failure`` object of results."""
        return {
            "step_key": self.key,
            "step_id": self.step_id,
            "status": self.status,
            "kind": self.kind,
            "message": self.message,
        }


class StepState(Struct, kw_only=True, gc=False):
    """One execution of a step, found by its key.

    It has no values: inputs and outputs stay in the trace, because a run may have a hundred thousand steps.
    """

    key: str
    ended: int = 0
    """The number of its ``step_complete``; 0 before that."""
    step_id: str = ""
    type: str = ""
    status: str = "open"
    """``open`` before ``step_start``, ``running`` until ``step_complete``, then the step's status."""
    container: bool = False
    quiet: bool = False
    """Whether it is shown as part of the step around it, for which its failure is an answer."""
    acts: bool = False
    """Whether it may have acted: its ``step_start`` has an idempotency key, and no event says that nothing started."""
    asking: bool = False
    """Whether it has done nothing but ask since it started, and its last question is not answered."""
    writing: bool = False
    idempotent: bool = False
    computes: bool = False
    """Whether it touches nothing outside the run, and does the same with the same inputs."""
    description: str | None = None
    duration: str | None = None
    waited: str | None = None
    """How long it waited for people, which its duration leaves out; None when it did not."""
    failure: dict[str, Any] | None = None
    """Kind and message, also of a step that was denied or not approved; masked as in the trace."""
    reason: str | None = None
    attempts: int = 1
    """How often it was attempted since it was last started."""
    detail: dict[str, Any] | None = None
    """What a step that did not succeed recorded beside its failure."""

    @property
    def done(self) -> bool:
        """Return whether ``step_complete`` is written."""
        return self.ended > 0

    @property
    def unrepeatable(self) -> bool:
        """Return whether it may have taken effect and must not simply run again; a question is just asked again."""
        return self.acts and self.writing and not self.idempotent and not self.asking

    @property
    def interrupted(self) -> bool:
        """Return whether this is a leaf that started and did not finish."""
        return self.acts and not self.ended and not self.container

    @property
    def failed(self) -> bool:
        """Return whether it came out ``failed`` or ``error``."""
        return self.status in (StepStatus.FAILED, StepStatus.ERROR)

    def to_json(self) -> dict[str, object]:
        """Return the step as ``exec --json`` and ``runs show --json`` list it.

        A step with blocks has what it recorded beside its failure, such as which of them were not started.
        """
        shown: dict[str, object] = {
            "step_key": self.key,
            "step_id": self.step_id,
            "type": self.type,
            "status": self.status,
        }
        if self.attempts > 1:
            shown["attempts"] = self.attempts
        shown |= {"duration": self.duration, "waited": self.waited}
        return {**shown, "detail": self.detail} if self.container and self.detail else shown


class StepQuestions(Struct, kw_only=True):
    """The questions of one execution of a step; ``since`` is the number of its first one."""

    since: int
    open: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name what was asked and is not answered: ``seq``, ``asked`` (when), and the question itself."""


class RunState(Struct, kw_only=True):
    """Where a run stands."""

    run_id: str = ""
    status: str = RunStatus.RUNNING
    outcome: dict[str, Any] | None = None
    failure: dict[str, Any] | None = None
    failing: list[str] = field(default_factory=list)
    """Keys of the steps that made the run fail."""
    facts: dict[str, Any] = field(default_factory=dict)
    """``run_start``'s data: runbook, hashes, actor, inputs and their sources ..."""
    secret_inputs: dict[str, str] = field(default_factory=dict)
    """By name of a secret input where its value came from, such as ``env/PASSWORD``."""
    result: dict[str, Any] = field(default_factory=dict)
    """The data of the event that ended (or suspended) the run last."""
    steps: dict[str, StepState] = field(default_factory=dict)
    """By step key, in the order of their first events; voided records are not among them."""
    void: dict[str, StepState] = field(default_factory=dict)
    """Records that a ``run_resumed`` declared void, as they last were."""
    tickets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tickets submitted and not resolved, with the responses so far."""
    questions: dict[str, StepQuestions] = field(default_factory=dict)
    """By step key what its current execution asked people."""
    holds: list[Hold] = field(default_factory=list)
    """What blocks the run until somebody unblocks it, in the order it began."""
    released: dict[str, dict[str, int]] = field(default_factory=dict)
    """By step key and unblock key how many pauses of its current execution were unblocked."""
    summaries: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By type: the latest ``run_summary`` with its number and step key."""
    decision: dict[str, Any] | None = None
    """The last decision of the policies, with its number and step key."""
    approvals: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By step key how the last approval that it needed stands."""
    resumed: int = 0
    changed_by: list[frozenset[str]] = field(default_factory=list)
    """The names of each person who resumed it with changed documents or stated results."""
    aborting: bool = False
    """Whether it was resumed only to be ended: every later process continues that."""
    violations: int = 0
    warnings: list[dict[str, Any]] = field(default_factory=list)
    """The first violations of contracts: step key, kind, message and severity."""
    started: str | None = None
    finished: str | None = None
    updated: str | None = None
    duration: str | None = None
    """How long all processes of the run together were at work."""
    waited: str | None = None
    """How long the run waited for people; None when it did not."""
    times: RunTimes = field(default_factory=RunTimes)
    seq: int = 0
    last_type: str | None = None
    """The type of the last event."""
    last_key: str | None = None
    """The key of the step that had an event last."""

    @property
    def runbook(self) -> str:
        """Return the runbook's name."""
        return str(self.facts.get("runbook", ""))

    @property
    def mode(self) -> str:
        """Return the mode it was executed in; empty where the trace does not say."""
        return str(self.facts.get("mode", ""))

    @property
    def fail_on(self) -> tuple[str, ...]:
        """Return the categories of outcomes that were to be told by the exit code when the run began."""
        found = self.facts.get("fail_on")
        return tuple(map(str, found)) if isinstance(found, list) else ()

    @property
    def began(self) -> bool:
        """Return whether the run began: the trace of one that did not has no first event."""
        return bool(self.facts)

    @property
    def resumable(self) -> bool:
        """Return whether there is something to resume: other modes than real only look ahead or back."""
        return self.began and self.mode in ("real", "") and self.status != RunStatus.COMPLETED and not self.aborted

    @property
    def over(self) -> bool:
        """Return whether the run has come to an end (which a cancelled run has only until it is resumed)."""
        return self.finished is not None

    def suspended_for(self, now: str) -> str | None:
        """Return how long no process has worked because people have to answer; ``None`` for any other run."""
        if self.status not in (RunStatus.APPROVAL_PENDING, RunStatus.ANSWER_PENDING, RunStatus.BLOCKED):
            return None
        return between(self.updated, now)

    @property
    def aborted(self) -> bool:
        """Return whether it was ended for good, so that there is nothing to resume."""
        return self.status == RunStatus.CANCELLED and self.result.get("reason") == ABORTED

    @property
    def pending(self) -> list[dict[str, object]]:
        """Return the open tickets, as lists for people and machines show them."""
        names = ("ticket_id", "step_id", "step_key", "risk_level", "submitted", "expires_at")
        return [{name: ticket.get(name) for name in names} for ticket in self.tickets.values()]

    @property
    def unanswered(self) -> list[dict[str, Any]]:
        """Return the questions of steps that are not over, as lists for people and machines show them."""
        found = []
        for key, asked in self.questions.items():
            record = self.steps.get(key)
            if record is not None and not record.done:
                step = {"step_key": key, "step_id": record.step_id}
                found += [{**step, **question} for question in asked.open.values()]
        return found

    @property
    def blocked(self) -> bool:
        """Return whether the run cannot be resumed before somebody unblocks it.

        Where a pause is not all that a run waits for, other branches go on when it is resumed.
        """
        return self.status == RunStatus.BLOCKED or any(hold.step_key is None for hold in self.holds)

    @property
    def artifacts(self) -> dict[str, dict[str, Any]]:
        """Return what steps kept, by key: step key, value and, where there is one, schema."""
        lead = "artifact::"
        found = {name[len(lead) :]: told for name, told in self.summaries.items() if name.startswith(lead)}
        return {key: {"step_key": told.get("step_key"), **(told.get("payload") or {})} for key, told in found.items()}

    @property
    def unknown_outcomes(self) -> list[StepState]:
        """Return the leaves that started, did not finish, write and must not simply be repeated."""
        return [r for r in self.steps.values() if r.interrupted and r.unrepeatable]

    @property
    def risky_retries(self) -> list[StepState]:
        """Return the failing leaves that write and are not idempotent: they may have taken effect in part."""
        failing = [self.steps[key] for key in self.failing if key in self.steps]
        return [r for r in failing if r.failed and r.unrepeatable]

    @property
    def unapproved(self) -> list[str]:
        """Return the failing steps that were not approved: rejected, too late or malformed. They are not retried."""
        failing = [self.steps[key] for key in self.failing if key in self.steps]
        return [record.key for record in failing if record.reason == ErrorKind.APPROVAL_REJECTED]

    @property
    def progress(self) -> dict[str, object]:
        """Return how much is done; loops make a percentage a guess, so none is given."""
        leaves = [record for record in self.steps.values() if not record.container]
        return {
            "steps": len(leaves),
            "finished": sum(record.done for record in leaves),
            "failed": sum(record.failed and not record.quiet for record in leaves),
            "skipped": sum(record.status == StepStatus.SKIPPED for record in leaves),
            "running": [record.key for record in leaves if record.interrupted],
        }

    @property
    def resume_point(self) -> dict[str, Any] | None:
        """Return where ``gert resume`` would go on and what it would need; ``None`` when nothing is left to do."""
        if not self.resumable:
            return None
        if self.blocked:
            return {"needs": "unblock", "steps": list(dict.fromkeys(h.step_key for h in self.holds if h.step_key))}
        if unknown := self.unknown_outcomes:
            return {"needs": "reconcile", "steps": [record.key for record in unknown]}
        if self.tickets:
            return {"needs": "approval", "steps": [str(t.get("step_key")) for t in self.tickets.values()]}
        if self.status == RunStatus.ANSWER_PENDING and (unanswered := self.unanswered):
            return {"needs": "answer", "steps": list(dict.fromkeys(str(one["step_key"]) for one in unanswered))}
        if self.over and self.status != RunStatus.CANCELLED:
            return {"needs": "retry", "steps": list(self.failing)}
        return {"needs": "resume", "steps": self.progress["running"]}

    @property
    def outputs(self) -> dict[str, object]:
        """Return the promoted and exported names with their values, masked; known when the run is over."""
        return dict(self.result.get("outputs") or {})

    @property
    def executed(self) -> list[StepState]:
        """Return the steps that are over, in the order they ended."""
        return sorted((r for r in self.steps.values() if r.done), key=lambda record: record.ended)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Return why the run did not complete, the failure that decided it first."""
        first: Mapping[str, object] = self.failure or {}
        found = []
        for key in self.failing or ([str(first.get("step_key") or "")] if first else []):
            record = self.steps.get(key)
            if key == (first.get("step_key") or ""):
                data, step_id, status = first, str(first.get("step_id", "")), str(first.get("status", ""))
            elif record is not None and record.failure is not None:
                data, step_id, status = record.failure, record.step_id, record.status
            else:
                continue
            kind, message = str(data.get("kind", "")), str(data.get("message", ""))
            found.append(Failure(key=key, step_id=step_id, status=status, kind=kind, message=message))
        return tuple(found)


def parent_key(key: str) -> str:
    """Return the key of the containing step: the ``for_each`` of an item, else the block's owner; or empty."""
    if key.endswith("]"):
        return key[: key.rfind("[")]
    parent = key.rpartition("/")[0]
    above, _, number = parent.rpartition("/")
    if number.startswith("@"):  # the cleanup of the run, around which there is no step, or of an included runbook
        parent, (above, _, number) = above, above.rpartition("/")
    return above if number.isdigit() else parent


__all__ = ["ABORTED", "KEPT", "MODES", "Failure", "RunState", "StepQuestions", "StepState", "parent_key"]
