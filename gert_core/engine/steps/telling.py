"""The calls of a step context that concern the run as a whole: pauses, summaries and artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from gert_core.api import Json
    from gert_core.engine.steps.execution import StepExecution


class Telling:
    """Base of the step context; what is seldom used is imported on use."""

    _paused: tuple[str, ...] = ()
    """The keys of the pauses that were requested so far."""

    if TYPE_CHECKING:

        def _enter(self, *, acts: bool = False, cleanup: bool = False) -> StepExecution: ...

        def _faults(self) -> AbstractContextManager[None]: ...

    def pause(self, key: str, *, reason: str = "", metadata: Mapping[str, Json] | None = None) -> None:
        from gert_core.engine.steps.pausing import pause

        execution = self._enter(acts=True)
        self._paused = (*self._paused, key)
        with self._faults():
            pause(execution, key, reason=reason, metadata=metadata, number=self._paused.count(key))

    def summarise(self, type: str, payload: Mapping[str, object]) -> None:  # noqa: A002 - the event's field name
        from gert_core.engine.steps.summaries import check_summary, summarise

        execution = self._enter()
        check_summary(type, payload)
        with self._faults():
            summarise(execution, type, payload)

    def artifact(self, key: str) -> Any:
        from gert_core.engine.steps.summaries import read_artifact

        return read_artifact(self._enter(), key)


__all__ = ["Telling"]
