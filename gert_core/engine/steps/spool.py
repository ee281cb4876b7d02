"""Keep what a tool writes that takes long; nothing is imported or made for one that does not."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.runs.outputs import CallOutput

_lock: Final = threading.Lock()


class CallSpool:
    """The output of one call of a tool by a step."""

    __slots__ = ("_execution", "_number", "_output")

    def __init__(self, execution: StepExecution) -> None:
        self._execution = execution
        self._number = execution.calls
        self._output: CallOutput | None = None

    def write(self, stream: int, data: bytes) -> None:
        """Take the next part of the output."""
        if self._output is None:
            self._output = self._begin()
        self._output.write(stream, data)

    def close(self) -> None:
        """Take the end of the output."""
        if self._output is not None:
            self._output.close()

    def _begin(self) -> CallOutput:
        from gert_core.runs.outputs import OutputFiles

        execution = self._execution
        run, stored = execution.run.top, execution.facts.stored
        assert stored is not None  # noqa: S101 - asked by the caller
        with _lock:
            if run.outputs is None:
                run.outputs = OutputFiles(stored, run.services.masker, run.services.progress.warn)
            files = run.outputs
        return files.call(execution.key, attempt=execution.attempt, number=self._number)


__all__ = ["CallSpool"]
