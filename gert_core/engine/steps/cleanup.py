"""What the cleanup blocks of one execution share: their deadline, and the failure that they are told of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.engine.signals import Rank, Signal
from gert_core.engine.state import FAILURE
from gert_core.kit.time_spans import duration_text
from gert_core.template import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.tree import BlockNode
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.secrets import Masker


_FIELD: Final = "cleanup_timeout"
"""The field that the limit is mostly written in."""


class Cleanup:
    """The cleanup of one execution of a step.

    The step's own timeout does not end it, nor those around it: they may be why it runs. It ends with the run, with a
    cleanup that it is part of, and when its own time is over.
    """

    __slots__ = ("_execution", "deadline")

    def __init__(self, execution: StepExecution, first: BlockNode) -> None:
        assert first.block is not None  # noqa: S101 - a cleanup block has a declaration
        self._execution = execution
        self.deadline = execution.frame.base.within(first.block.timeout, limit=_limit(execution, first.block.timeout))

    def names(self, caught: Sequence[Signal]) -> Mapping[str, object]:
        """Return the variables of a cleanup block: the first failure of the other blocks, kept or ``caught``."""
        execution = self._execution
        signals = [*caught, *execution.signals.seen]
        found = failure_variable(signals, execution.services.masker)
        if found is None and execution.run.doubts > execution.doubts:
            return {FAILURE: failure_symbol()}
        return {FAILURE: found}


def _limit(execution: StepExecution, seconds: float) -> str:
    """Return what a step is told that is ended because all of a cleanup takes too long."""
    named = f" (`{_FIELD}`)" if _FIELD in type(execution.step).model_fields else ""
    return f"the time of the cleanup of step {execution.key} is up: all of it may take {duration_text(seconds)}{named}"


def failure_variable(signals: Sequence[Signal], masker: Masker) -> dict[str, str] | None:
    """Return what templates read at ``.failure``, or None when nothing failed."""
    failures = tuple(failure for signal in signals for failure in signal.failures)
    if not failures:
        return None
    first = Signal(rank=Rank.FAILED, failures=failures).first
    return {
        "step": first.step_id,
        "key": first.key,
        "kind": first.kind,
        "message": masker.mask_text(first.message) if masker.count else first.message,
        "status": first.status,
    }


def failure_symbol() -> Symbol:
    """Return the failure that only a real run knows."""
    return Symbol(f"{{{{ .{FAILURE} }}}}")


__all__ = ["FAILURE", "Cleanup", "failure_symbol", "failure_variable"]
