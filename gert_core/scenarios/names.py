"""Names of steps in tests: ids, step keys and parts of them, with items by key or by position."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PART: Final = re.compile(r"(?:(?P<number>\d+)|(?P<id>[^/\[#]+)(?:#(?P<visit>\d+))?(?:\[(?P<item>[^\]]*)\])?)(?:/|\Z)")


class StepPart(Struct, frozen=True):
    """One step in a name: its id, which execution of it, and which item of its loop."""

    id: str
    visit: str | None = None
    item: str | None = None


@lru_cache(maxsize=1024)  # the scenarios of a runbook name the same steps
def parts_of(name: str) -> tuple[tuple[StepPart | str, ...], bool]:
    """Return the steps and block numbers of a name or step key in order, and whether it is a well-formed one."""
    found: list[StepPart | str] = []
    at = 0
    while at < len(name):
        match = _PART.match(name, at)
        if match is None:
            return tuple(found), False
        found.append(match["number"] or StepPart(match["id"], match["visit"], match["item"]))
        at = match.end()
    return tuple(found), bool(found) and isinstance(found[-1], StepPart)


def quoted(label: str) -> str:
    """Return the label of an item as it is in step keys."""
    from urllib.parse import quote  # only names of items need it

    return quote(label, safe="")


def step_id_of(name: str) -> str:
    """Return the step id in a name: ``restart`` of ``triage/1/restart#2`` and of ``restart[0]``."""
    parts, _ = parts_of(name)
    last = parts[-1] if parts else name
    return last.id if isinstance(last, StepPart) else name


def matches(name: str, key: str, position: Callable[[str], int | None]) -> bool:
    """Return whether a name means a step key; ``position`` gives the place of an item by its key.

    A name may leave out steps from the front, and block numbers anywhere. Without a path it means every execution of
    the step; without an item every item; a number always means the item at that place.
    """
    asked, sound = parts_of(name)
    if not sound:
        return name == key
    exact = len(asked) > 1
    at = len(asked) - 1
    for part, place in _from_the_end(key):
        if at < 0:
            return True
        wanted = asked[at]
        if isinstance(part, str) or isinstance(wanted, str):
            if part == wanted:
                at -= 1
            elif isinstance(wanted, str):
                return False
            continue
        if part.id != wanted.id or ((exact or wanted.visit) and (wanted.visit or "1") != (part.visit or "1")):
            return False
        if wanted.item is not None and not is_item(wanted.item, part.item, position(place)):
            return False
        at -= 1
    return at < 0


def _from_the_end(key: str) -> Iterator[tuple[StepPart | str, str]]:
    """Yield the parts of a step key, the last one first, each with the key up to and including it."""
    parts, _ = parts_of(key)
    while parts:
        yield parts[-1], key
        parts = parts[:-1]
        key = key[: _cut(key)]


def _cut(key: str) -> int:
    """Return where the last part of a key begins, the separator before it left out."""
    return max(key.rfind("/", 0, len(key)), 0)


def is_item(asked: str, label: str | None, place: int | None) -> bool:
    """Return whether an item with this label in step keys, at this place, is the one that is asked for."""
    if label is None:
        return False
    if asked.isdecimal():
        return place == int(asked)
    return label in (asked, quoted(asked))


__all__ = ["StepPart", "is_item", "matches", "parts_of", "quoted", "step_id_of"]
