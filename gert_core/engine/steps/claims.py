"""Claim the one execution that an approval is for, in the ledger of the runs.

A trace alone cannot tell: a run directory restored from an older copy shows an approval and no execution. So the claim
is on disk, outside the run, before ``step_start`` is written, and is marked as used before anything is done.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, RunError
from gert_core.stores.ledger import ledger_key
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from gert_core.api import ApprovalRequest, Ledger
    from gert_core.engine.steps.execution import StepExecution


class ExecutionClaim:
    """The claim of this process on an approval that nothing was done under so far."""

    __slots__ = ("_key", "_ledger", "_owner")

    def __init__(self, ledger: Ledger, key: str, owner: str) -> None:
        self._ledger = ledger
        self._key = key
        self._owner = owner

    def use(self, execution: StepExecution) -> None:
        """Mark the approval as used; the start of the step is on disk before that, and nothing is done before it."""
        execution.services.journal.sync()
        at = timestamp(execution.services.backend.now(execution))
        if not self._ledger.settle(self._key, self._owner, "unknown", at):
            raise RunError(
                f"another process executes step {execution.key} under the same approval",
                kind=ErrorKind.RUN_LOCKED,
                hint="there are two copies of the directory of this run; find out which one is to go on",
            )


def claim(execution: StepExecution, request: ApprovalRequest) -> bool:
    """Return whether the step may be executed under its approval, and keep the claim for its start.

    A process that was killed between claim and start did nothing, so its claim is taken over. An execution that was
    started under this ticket and interrupted, and may be repeated, goes on under the claim it has.
    """
    facts, recorded = execution.facts, execution.services.recorded
    if facts.store is None or facts.mode != "real":
        return True
    ledger = facts.store.ledger()
    # The ticket is the hash of run, step and request, which has the number of the ticket among those of the step.
    key = ledger_key("approval", facts.run_id, execution.key, request.ticket_id)
    owner = f"{facts.run_id} {secrets.token_hex(8)}"
    at = timestamp(execution.services.backend.now(execution))
    while (held := ledger.claim(key, owner, at)).owner != owner:
        if held.state != "open":
            return recorded is not None and recorded.started_under(execution.key, request.ticket_id)
        ledger.settle(key, held.owner, "failed", at)
    execution.claim = ExecutionClaim(ledger, key, owner)
    return True


__all__ = ["ExecutionClaim", "claim"]
