"""The numbers of the events of a step key, kept as compactly as a long run needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api import EventType
from gert_core.kit.json_reader import loads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.trace.lines import TraceLines

_STARTED: Final = f'"type":"{EventType.STEP_START}"'.encode()
ONCE: Final = (str(EventType.FOR_EACH_ITEM), str(EventType.STEP_START), str(EventType.STEP_COMPLETE))


class FinishedLeaf(Struct, frozen=True, gc=False):
    """The numbers of the events that are still asked of most finished leaves, each 0 when there is none."""

    item: int
    start: int
    complete: int


Numbers = dict[str, list[int]] | FinishedLeaf
"""The numbers of a key's events: by type, unless three of them are all that is left to ask for."""


def finished(known: dict[str, list[int]]) -> Numbers:
    """Return the events of a finished leaf as compactly as they can be kept."""
    if len(known) > len(ONCE) or any(name not in ONCE or len(found) > 1 for name, found in known.items()):
        return known
    return FinishedLeaf(*(known[name][0] if name in known else 0 for name in ONCE))


def numbers_of(known: Numbers | None, type: str) -> Sequence[int]:  # noqa: A002 - event field
    """Return the numbers of the events of a type."""
    return by_type(known).get(type, ())


def by_type(known: Numbers | None) -> dict[str, list[int]]:
    """Return the numbers of events by their types."""
    if known is None or isinstance(known, dict):
        return known or {}
    numbers = (known.item, known.start, known.complete)
    return {name: [number] for name, number in zip(ONCE, numbers, strict=True) if number}


def first_starts(lines: TraceLines) -> Mapping[str, int]:
    """Return the number of the first ``step_start`` of each step, from the whole trace."""
    found: dict[str, int] = {}
    for number in range(1, len(lines) + 1):
        line = lines.line(number)
        if _STARTED in line:
            found.setdefault(str(loads(line).get("step_key")), number)
    return found


__all__ = ["ONCE", "FinishedLeaf", "Numbers", "by_type", "finished", "first_starts", "numbers_of"]
