"""Pause a step until somebody unblocks the run: the request is on disk before the process ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, EventType, StepProblem
from gert_core.engine.signals import Rank, Signal, Unwind
from gert_core.engine.steps.claims import go_on
from gert_core.runs.holds import key_fault
from gert_core.trace.writer import EventDataError

if TYPE_CHECKING:
    from gert_core.api import Json
    from gert_core.engine.steps.execution import StepExecution


def pause(execution: StepExecution, key: str, *, reason: str, metadata: Mapping[str, Json] | None, number: int) -> None:
    """Return when this pause of the step, the ``number``-th one with the key, was unblocked; else suspend the run.

    In other modes than real nothing waits.
    """
    given = {} if metadata is None else metadata
    if (fault := key_fault(key)) is not None or not isinstance(reason, str) or not isinstance(given, Mapping):
        raise TypeError(f"the key of a pause {fault}" if fault else "a pause takes a text as reason, a map as metadata")
    facts, services = execution.facts, execution.services
    if facts.mode != "real":
        return
    state, masker = services.journal.state, services.masker
    if masker.mask_text(key) != key:
        raise TypeError("the key of a pause has a secret in it")
    if number <= state.released.get(execution.key, {}).get(key, 0):
        go_on(execution, "unblocked")
        return
    if not any(hold.step_key == execution.key and hold.key == key for hold in state.holds):
        _refuse(execution)
        data: dict[str, object] = {"step_id": execution.compiled.id, "unblock_key": key}
        data |= {"reason": masker.mask_text(reason), "metadata": masker.mask(dict(given))}
        if execution.acted:
            data["acted"] = True
        try:
            execution.add(EventType.PAUSE_REQUESTED, data, fresh=True)
        except EventDataError as error:
            raise TypeError(f"the metadata of a pause is not JSON: {error.__context__}") from None
        services.journal.sync()
    services.progress.paused(execution.info, key)
    execution.signals.add([Signal(rank=Rank.SUSPENDED, blocked=(key,))])
    raise Unwind


def _refuse(execution: StepExecution) -> None:
    """Raise ``StepProblem`` when the step cannot be left open."""
    if execution.deadline.cancelled:
        raise StepProblem(ErrorKind.CANCELLED, "the run was cancelled")
    if execution.deadline.stopped:
        raise StepProblem(ErrorKind.TIMEOUT, "the deadline of the step passed before it paused")
    if execution.facts.stored is None:
        raise StepProblem(ErrorKind.PAUSE_REFUSED, "this run is not kept, so that nothing could resume it")
    if execution.acted and not execution.contract.repeatable:
        raise StepProblem(
            ErrorKind.PAUSE_REFUSED, "the step acted before it paused, and its contract does not allow to repeat that"
        )


__all__ = ["pause"]
