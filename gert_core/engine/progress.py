"""What a host may watch while a run goes on; every method does nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest, Outcome, StepStatus
    from gert_core.engine.signals import Signal
    from gert_core.engine.steps.execution import StepExecution


class Progress:
    """Base of listeners; methods may be called from several threads at once."""

    def started(self, execution: StepExecution) -> None:
        """A step begins."""

    def finished(self, execution: StepExecution, status: StepStatus, data: Mapping[str, Any], duration: float) -> None:
        """A step has its result."""

    def recalled(self, execution: StepExecution) -> None:
        """A step returned its recorded result."""

    def left(self, execution: StepExecution, signal: Signal) -> None:
        """A step is left open: the run was cancelled, or one of its blocks was suspended."""

    def pending(self, execution: StepExecution, request: ApprovalRequest) -> None:
        """A step waits for an approval that will come later."""

    def possible(self, outcome: Outcome) -> None:
        """An end was reached (in dry-run: one of the possible ones)."""

    def arm(self, execution: StepExecution, name: str, why: str) -> None:
        """An undecided arm is looked at (dry-run and probe)."""

    def warn(self, message: str, *, execution: StepExecution | None = None) -> None:
        """Something the person should know; the run goes on."""


__all__ = ["Progress"]
