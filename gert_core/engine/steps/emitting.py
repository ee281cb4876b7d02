"""Write the events of a step's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, RunError
from gert_core.engine.signals import Rank
from gert_core.trace.events import CORE_EVENTS
from gert_core.trace.writer import EventDataError

if TYPE_CHECKING:
    from gert_core.engine.steps.execution import StepExecution


def check_event(type: str, data: Mapping[str, object]) -> None:  # noqa: A002 - the event's field name
    """Raise ``TypeError`` for what is not an event, ``RunError`` for an event of the core."""
    if not isinstance(type, str) or not type or not isinstance(data, Mapping):
        raise TypeError("an event has a name and a map of data")
    if type in CORE_EVENTS:
        raise RunError(f"a step must not write the event {type}: the core does", kind=ErrorKind.EVENT_RESERVED)


def emit(execution: StepExecution, type: str, data: Mapping[str, object]) -> None:  # noqa: A002 - the event's field name
    """Write an event of a step; raise ``TypeError`` when its data is not JSON."""
    if is_left_open(execution):
        return  # the events of the step are written when it is entered again
    masker = execution.services.masker
    try:
        if masker.count:
            # The values of a step's fields are never gert's own; nor are names that its type does not declare.
            own = execution.compiled.type.events.get(type, {})
            data = {name if name in own else masker.mask(name): masker.mask(value) for name, value in data.items()}
        execution.add(type, data)
    except EventDataError as error:
        raise TypeError(f"the data of event {type!r} is not JSON: {error.__context__}") from None


def is_left_open(execution: StepExecution) -> bool:
    """Return whether the step stays open because of a signal, and is entered again when the run is resumed."""
    worst = execution.signals.worst
    return worst is not None and worst.rank in (Rank.SUSPENDED, Rank.CANCELLED)


__all__ = ["check_event", "emit", "is_left_open"]
