"""Approvals that were asked for and not given, and steps that were denied: no resumed run gets past them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, EventType, RunError, StepStatus
from gert_core.api.steps import Flow
from gert_core.approvals.binding import DOCUMENTS
from gert_core.engine.resume.numbers import first_starts
from gert_core.engine.steps.compiled import summary_of
from gert_core.governance.rules import Act
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from gert_core.api import TraceEvent
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.secrets import Masker
    from gert_core.trace.lines import TraceLines

OPEN: Final = "waits for approval"
REJECTED: Final = "was rejected"
DENIED: Final = "was denied"

_APPROVED: Final = "approved"
_ASKED: Final[Mapping[str, str]] = {Act.REQUIRE_APPROVAL: OPEN, Act.DENY: DENIED}


class OpenGates:
    """The steps of a recorded run that needed an approval or were denied, by key, with what became of it.

    A step demands an approval itself, or a policy does. Who changes the documents of a run between two processes, or a
    secret input, cannot take the question away, have it skipped, or put what comes behind it elsewhere.
    """

    def __init__(self, leaves: Collection[str], lines: TraceLines) -> None:
        """Take the keys, as they become known, of the steps that were opened without blocks and have no result."""
        self._leaves = leaves
        self._lines = lines
        self.changed = False
        """Whether documents changed since the run began, which was allowed."""
        self._found: dict[str, str] = {}
        self._tolerated: dict[str, str] = {}
        """Those that were rejected, where that failed the step and the documents of then said what follows."""
        self._approved: dict[str, int] = {}
        """Those among them that were approved and did not end, with the number of that event."""
        self._documents: dict[str, object] = {}
        """The digests of the documents that approvals were asked for with."""
        self._passed: dict[str, int] = {}
        """Steps that were asked about, with the number of the event that did so first."""
        self._reopened: dict[str, int] = {}
        """Those among them that came to an end and are to be asked about again."""
        self._given: dict[str, int] = {}
        """The number of the last event that approved each step."""
        self._spent: dict[str, int] = {}
        """Those of steps that are to be asked about again: they open nothing any more."""
        self._begun: Mapping[str, int] | None = None
        self._repeated: set[str] = set()
        """Steps in front of those that are executed again, if they are what they were."""

    def go_on_with(self, *, changed: bool) -> None:
        """Take note whether documents changed: others cannot say what follows on a rejection, which is final."""
        self.changed = changed
        if changed:
            self._found = self._tolerated | self._found

    def reopen(self, keys: Iterable[str]) -> None:
        """Take note of steps that are to be executed again: those that were asked about are open again."""
        for key in keys:
            if key in self._passed and self._found.get(key) is None:
                self._found[key] = OPEN
                self._reopened[key] = self._passed[key]
                self._spent[key] = self._given.get(key, 0)

    def __bool__(self) -> bool:
        return bool(self._found)

    def take(self, event: TraceEvent, key: str) -> None:
        """Take note of an event of a step."""
        if (what := _asked(event)) is not None:
            asked = event.type == EventType.APPROVAL_SUBMITTED
            if asked:
                self._documents[key] = (event.data.get("request") or {}).get(DOCUMENTS)
                self._passed.setdefault(key, event.seq)
                self._approved.pop(key, None)
                self._tolerated.pop(key, None)
            if asked or what == DENIED or key not in self._found:  # who continues a step decides about it once more
                self._found[key] = what
        elif key not in self._found:
            return
        elif event.type == EventType.APPROVAL_RESOLVED:
            if event.data.get("approved"):
                self._approved[key] = self._given[key] = event.seq
            else:
                self._found[key] = REJECTED
        elif event.type == EventType.STEP_COMPLETE and self._is_over(key, str(event.data.get("status"))):
            if self._found.pop(key) == REJECTED:
                self._tolerated[key] = REJECTED
            self._approved.pop(key, None)
            self._reopened.pop(key, None)

    def _is_over(self, key: str, status: str) -> bool:
        """Return whether a step is over: approved, or rejected where that fails it and nothing else."""
        if self._found[key] == REJECTED:
            return status == StepStatus.FAILED
        return key in self._approved and status != StepStatus.SKIPPED

    def ends_the_run(self, key: str) -> bool:
        """Return whether the run ends without the approval, because a changed step cannot say that it goes on then."""
        return self.changed and key in self._found

    def waits(self, execution: StepExecution) -> bool:
        """Return whether a step has to wait until an approval is given that was asked for beside it.

        Raise ``RunError`` for a step that would run in place of such an approval, or behind it. While documents are
        those of the start, a step beside it goes on, and one that was opened before. A changed runbook cannot say that
        a step stands beside it, or that it is the one which was opened.
        """
        key, leaf, state = execution.key, execution.compiled.leaf, execution.services.journal.state
        if not leaf:
            self.refuse_replaced(key)
        if not (self.changed and leaf):
            if key in state.steps or key in state.void:
                return False
        elif self._asks_again(execution):
            return False
        beside = False
        for gate, what in self._found.items():
            around = not leaf and gate.startswith((f"{key}/", f"{key}["))
            if key == gate or around or self._settled(execution, gate, what) or self._goes_on(execution, gate):
                continue
            if not _beside(execution, gate) or (self.changed and what != OPEN):
                raise self._refusal(f"step {key} would run without the approval of step {gate}, which {what}")
            beside = True
        return beside and self.changed

    def _asks_again(self, execution: StepExecution) -> bool:
        """Return whether a step only asks once more for an approval that it was given for other documents."""
        compiled = execution.compiled
        return (
            compiled.gated and not compiled.contract.writing and execution.key in execution.services.journal.state.void
        )

    def _goes_on(self, execution: StepExecution, gate: str) -> bool:
        """Return whether a step that was opened goes on in a changed runbook while another one waits for approval.

        Where that one was approved before, and is asked about again, only what it did not open does.
        """
        key, leaf = execution.key, execution.compiled.leaf
        opened = self.changed and leaf and key in self._found and (key in self._leaves or key in self._reopened)
        if gate not in self._reopened:
            return opened
        if self._begun is None:
            self._begun = first_starts(self._lines)  # few runs need it
        if self._begun.get(key, self._reopened[gate]) < self._reopened[gate]:
            self._repeated.add(key)
            return True
        return opened and _beside(execution, gate)

    def confirm(self, execution: StepExecution, masker: Masker) -> None:
        """Raise ``RunError`` for a step in front of an approval that does not do what it did there the first time."""
        if execution.key not in self._repeated or not execution.compiled.leaf:
            return
        assert self._begun is not None  # noqa: S101 - it was looked at then
        before = self._lines.data(self._begun[execution.key])
        summary = summary_of(execution.contract)
        now = {"type": execution.compiled.type.name, "contract_summary": summary, "inputs": execution.inputs}
        same = all(canonical(masker.unmask(before.get(name))) == canonical(one) for name, one in now.items())
        if not same or "idempotency_key" not in before:  # without one it was skipped
            gate = next(iter(self._reopened))
            raise self._refusal(f"step {execution.key} changed, and would run without the approval of step {gate}")

    def refuse_replaced(self, key: str) -> None:
        """Raise ``RunError`` for blocks or items in a changed runbook where an approval was asked for."""
        if self.changed and (what := self._found.get(key)) is not None:
            raise self._refusal(f"step {key} would run without the approval of step {key}, which {what}")

    def refuse_waiting(self) -> None:
        """Raise ``RunError`` for a run that waits for an approval that no open ticket asks for."""
        for gate, what in self._found.items():
            raise self._refusal(
                f"the run would wait for the approval of step {gate}, which {what} and is not asked for"
            )

    def refuse_skipped(self, key: str) -> None:
        """Raise ``RunError`` for a step that would not run although it, or one in it, was asked about or denied."""
        for gate, what in self._found.items():
            if gate == key or gate.startswith((f"{key}/", f"{key}[")):
                raise self._refusal(f"step {key} would be skipped without the approval of step {gate}, which {what}")

    def _settled(self, execution: StepExecution, gate: str, what: str) -> bool:
        """Return whether a step may run: what was asked for was given, or it is cleanup after a refusal."""
        state = execution.services.journal.state
        record, approval = state.steps.get(gate), state.approvals.get(gate, {})
        if record is not None and record.status in (StepStatus.SUCCESS, StepStatus.FAILED, StepStatus.ERROR):
            # In a changed runbook something else may have its key, and come to an end without any approval, unless
            # the approval is for these documents.
            old = (self._approved.get(gate), self._spent.get(gate))
            fresh = approval.get("seq") not in old or self._same(execution, gate)
            if not self.changed or (approval.get("status") == _APPROVED and fresh):
                return True
        if not self.changed and gate in state.void:
            return True  # it is decided anew when the run comes to it again
        if not execution.frame.cleanup or not self.changed:
            return execution.frame.cleanup
        # What acts may have been put into the cleanup of a changed runbook from behind the approval.
        refused = record is not None and record.status == StepStatus.SKIPPED and record.failure is not None
        over = refused or what != OPEN or execution.run.top.abort is not None
        return over and (not execution.compiled.leaf or _touches_nothing(execution))

    def _same(self, execution: StepExecution, gate: str) -> bool:
        """Return whether an approval was asked for with the documents of today."""
        return self._documents.get(gate) == execution.run.documents

    def _refusal(self, message: str) -> RunError:
        return RunError(
            message,
            kind=ErrorKind.DRIFT if self.changed else ErrorKind.RESUME_DIVERGED,
            hint="an approval that was asked for cannot be taken out of a run; start a new run",
        )


def _asked(event: TraceEvent) -> str | None:
    """Return how a step stands by an event: an approval was asked for, it was denied, or None."""
    if event.type == EventType.APPROVAL_SUBMITTED:
        return OPEN
    if event.type != EventType.GOVERNANCE_DECISION:
        return None
    return _ASKED.get(str(event.data.get("decision")))


def _touches_nothing(execution: StepExecution) -> bool:
    """Return whether a step acts on nothing by its type: what a tool declares may have changed with the documents."""
    compiled = execution.compiled
    outside = compiled.use is not None or compiled.type.program is not None or compiled.type.calls_tools
    return execution.contract.pure and not outside


def _beside(execution: StepExecution, gate: str) -> bool:
    """Return whether a step and a gate are in different branches of one step, or in different items of a loop."""
    mine, other = execution.key.split("/"), gate.split("/")
    at = next((n for n, (one, two) in enumerate(zip(mine, other, strict=False)) if one != two), 0)
    if not mine[at].isdigit():
        return "[" in mine[at] and mine[at].partition("[")[0] == other[at].partition("[")[0]
    around = execution.run.top.facts.runbook.find("/".join(mine[:at]))
    return around is not None and around[1].type.flow is Flow.ALL_OF


__all__ = ["OpenGates"]
