"""Claim the one execution that an approval is for, in the ledger of the runs.

A trace alone cannot tell: a run directory restored from an older copy shows an approval and no execution, or one that
did not go on. So there is a claim for each time that the step goes on: with its start, another attempt, the end of a
pause or an answer, all of which the trace tells. Each claim is on disk, outside the run, and is marked as used before
anything is done; the last one says that the execution is over.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, RunError
from gert_core.engine.steps.attempts import add_attempt
from gert_core.stores.ledger import ledger_key
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from gert_core.api import ApprovalRequest, Ledger
    from gert_core.engine.steps.execution import StepExecution

_OVER: Final = "over"


class ExecutionClaim:
    """The claims of this process on the execution that an approval is for."""

    __slots__ = ("_claimed", "_ledger", "_number", "_owner", "_parts")

    def __init__(self, execution: StepExecution, ledger: Ledger, request: ApprovalRequest, number: int) -> None:
        run_id = execution.facts.run_id
        self._ledger = ledger
        # The ticket is the hash of run, step and request, which has the number of the ticket among those of the step.
        self._parts = ("approval", run_id, execution.key, request.ticket_id)
        self._owner = f"{run_id} {secrets.token_hex(8)}"
        self._number = number
        """How often the step went on under the approval before, as the trace tells."""
        self._claimed = False

    def take(self, execution: StepExecution) -> bool:
        """Return whether the execution is to go on here: it is not over, and no process went on from this place."""
        if self._number:
            if not self._take(execution, _OVER):
                return False
            if self._take(execution, self._number - 1):  # by a process that was killed before it did anything
                self._settle(execution, self._number - 1)
        self._claimed = self._take(execution, self._number)
        return self._claimed

    def start(self, execution: StepExecution) -> None:
        """Use the claim for a step that starts; one that asks again where it was left has not gone on."""
        recorded = execution.services.recorded
        if recorded is None or not recorded.asking(execution.key):
            self.use(execution)

    def use(self, execution: StepExecution) -> None:
        """Mark that the step goes on; the trace tells so on disk before that, and nothing is done before it."""
        execution.services.journal.sync()
        if not self._claimed:
            self._take(execution, self._number)
        if not self._settle(execution, self._number):
            raise RunError(
                f"another process executes step {execution.key} under the same approval",
                kind=ErrorKind.RUN_LOCKED,
                hint="there are two copies of the directory of this run; find out which one is to go on",
            )
        self._number += 1
        self._claimed = False

    def end(self, execution: StepExecution) -> None:
        """Mark that the execution is over; what was done is recorded whether or not that can be written."""
        try:
            if self._take(execution, _OVER):
                self._settle(execution, _OVER)
        except RunError as error:
            execution.services.progress.warn(f"step {execution.key}: {error.message}", step=execution.info)

    def _take(self, execution: StepExecution, name: int | str) -> bool:
        """Claim a place of the execution; return False when it was used. One that is only claimed is taken over."""
        key, at = self._key(name), _now(execution)
        while (held := self._ledger.claim(key, self._owner, at)).owner != self._owner:
            if held.state != "open":
                return False
            self._ledger.settle(key, held.owner, "failed", at)
        return True

    def _settle(self, execution: StepExecution, name: int | str) -> bool:
        return self._ledger.settle(self._key(name), self._owner, "unknown", _now(execution))

    def _key(self, name: int | str) -> str:
        return ledger_key(*self._parts, name) if name else ledger_key(*self._parts)


def claim(execution: StepExecution, request: ApprovalRequest) -> bool:
    """Return whether the step may be executed under its approval, and keep the claim for when it goes on.

    A process that was killed between claim and start did nothing, so its claim is taken over. An execution that was
    started under this ticket and interrupted, and may be repeated, continues under a claim of its own.
    """
    facts, recorded = execution.facts, execution.services.recorded
    if facts.store is None or facts.mode != "real":
        return True
    number = 0 if recorded is None else recorded.went_on(execution.key, request.ticket_id)
    made = ExecutionClaim(execution, facts.store.ledger(), request, number)
    if not made.take(execution):
        return False
    execution.claim = made
    return True


def go_on(execution: StepExecution, reason: str) -> None:
    """Trace that a step which only asked so far goes on: it may act now, and is not simply repeated after a crash."""
    journal = execution.services.journal
    record = journal.state.steps.get(execution.key)
    if record is not None and record.asking:
        add_attempt(execution, reason)
        journal.sync()
        if execution.claim is not None:
            execution.claim.use(execution)


def _now(execution: StepExecution) -> str:
    return timestamp(execution.services.backend.now(execution))


__all__ = ["ExecutionClaim", "claim", "go_on"]
