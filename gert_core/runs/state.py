"""The state of a run as its trace tells it: records of steps, tickets, and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.api.results import RunStatus, StepStatus

if TYPE_CHECKING:
    from collections.abc import Mapping


class StepState(Struct, kw_only=True):
    """One execution of a step, found by its key; values are as written, so masked."""

    key: str
    seq: int = 0
    """The number of its first event."""
    ended: int = 0
    """The number of its ``step_complete``."""
    step_id: str = ""
    type: str = ""
    status: str = "open"
    """``open`` before ``step_start``, ``running`` until ``step_complete``, then the step's status."""
    container: bool = False
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)
    started: str | None = None
    finished: str | None = None
    duration: str | None = None
    failure: dict[str, Any] | None = None
    reason: str | None = None
    idempotency_key: str | None = None
    contract: dict[str, Any] = field(default_factory=dict)
    writing: bool = False
    idempotent: bool = False
    risk: str | None = None
    decision: str = ""
    attempts: int = 0
    principal: Mapping[str, Any] | None = None

    @property
    def done(self) -> bool:
        """Whether ``step_complete`` is written."""
        return self.finished is not None

    @property
    def interrupted(self) -> bool:
        """A leaf that started and did not finish; only leaves are given an idempotency key."""
        return self.idempotency_key is not None and self.finished is None and not self.container

    @property
    def failed(self) -> bool:
        """Whether it came out ``failed`` or ``error``."""
        return self.status in (StepStatus.FAILED, StepStatus.ERROR)

    def to_json(self) -> dict[str, Any]:
        """The step as ``exec --json`` and ``runs show --json`` list it."""
        return {"step_key": self.key, "step_id": self.step_id, "type": self.type, "status": self.status}


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
    result: dict[str, Any] = field(default_factory=dict)
    """The data of the event that ended (or suspended) the run last."""
    steps: dict[str, StepState] = field(default_factory=dict)
    """By step key, in the order of their first events; voided records are not among them."""
    void: dict[str, StepState] = field(default_factory=dict)
    """Records that a ``run_resumed`` declared void, as they last were."""
    tickets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tickets submitted and not resolved, with the responses so far."""
    resumed: int = 0
    violations: int = 0
    started: str | None = None
    finished: str | None = None
    updated: str | None = None
    duration: str | None = None
    seq: int = 0

    @property
    def runbook(self) -> str:
        """The runbook's name."""
        return str(self.facts.get("runbook", ""))

    @property
    def over(self) -> bool:
        """Whether the run has come to an end (which a cancelled run has only until it is resumed)."""
        return self.finished is not None

    @property
    def pending(self) -> list[dict[str, Any]]:
        """The open tickets, as lists for people and machines show them."""
        names = ("ticket_id", "step_id", "step_key", "risk_level", "submitted", "expires_at")
        return [{name: ticket.get(name) for name in names} for ticket in self.tickets.values()]

    @property
    def unknown_outcomes(self) -> list[StepState]:
        """Leaves that started, did not finish, write and must not simply be repeated."""
        return [r for r in self.steps.values() if r.interrupted and r.writing and not r.idempotent]

    @property
    def risky_retries(self) -> list[StepState]:
        """Failing leaves that write and are not idempotent: part of what they do may have been done."""
        failing = [self.steps[key] for key in self.failing if key in self.steps]
        return [r for r in failing if r.failed and r.idempotency_key and r.writing and not r.idempotent]

    @property
    def progress(self) -> dict[str, Any]:
        """How much is done; a runbook's loops make a percentage a guess, so none is given."""
        leaves = [record for record in self.steps.values() if not record.container]
        return {
            "steps": len(leaves),
            "finished": sum(record.done for record in leaves),
            "failed": sum(record.failed for record in leaves),
            "skipped": sum(record.status == StepStatus.SKIPPED for record in leaves),
            "running": [record.key for record in leaves if record.interrupted],
        }

    @property
    def resume_point(self) -> dict[str, Any] | None:
        """Where ``gert resume`` would go on, and what it would need; ``None`` when nothing is left to do."""
        if self.status == RunStatus.COMPLETED:
            return None
        if unknown := self.unknown_outcomes:
            return {"needs": "reconcile", "steps": [record.key for record in unknown]}
        if self.tickets:
            return {"needs": "approval", "steps": [str(t.get("step_key")) for t in self.tickets.values()]}
        if self.over and self.status != RunStatus.CANCELLED:
            return {"needs": "retry", "steps": list(self.failing)}
        return {"needs": "resume", "steps": self.progress["running"]}

    @property
    def outputs(self) -> dict[str, Any]:
        """The names the run left, masked; known when it is over."""
        return dict(self.result.get("outputs") or {})

    @property
    def executed(self) -> list[StepState]:
        """The steps that are over, in the order they came to their end."""
        return sorted((r for r in self.steps.values() if r.done), key=lambda record: record.ended)

    def blocked_on(self) -> str:
        """One phrase for lists: what the run waits for."""
        point = self.resume_point
        if point is None or point["needs"] in ("retry", "resume"):
            return ""
        return f"{'unknown outcome' if point['needs'] == 'reconcile' else 'approval'}: {', '.join(point['steps'])}"

    def to_json(self) -> dict[str, Any]:
        """Everything, for the cache; not copied deeply, so encode it at once."""
        raw = {name: getattr(self, name) for name in self.__struct_fields__}
        for name in ("steps", "void"):
            raw[name] = {k: {n: getattr(r, n) for n in r.__struct_fields__} for k, r in raw[name].items()}
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> RunState:
        """The inverse of ``to_json``; raises ``TypeError`` or ``KeyError`` for anything else."""
        if set(raw) != set(cls.__struct_fields__):
            raise TypeError("not the fields of a run's state")
        records = {name: {key: StepState(**value) for key, value in raw[name].items()} for name in ("steps", "void")}
        return cls(**{**raw, **records})


def parent_key(key: str) -> str:
    """The key of the step that contains this one: the ``for_each`` of an item, else the block's owner; or empty."""
    if key.endswith("]"):
        return key[: key.rfind("[")]
    parent = key.rpartition("/")[0]
    above, _, number = parent.rpartition("/")
    return above if number.isdigit() else parent


__all__ = ["RunState", "StepState", "parent_key"]
