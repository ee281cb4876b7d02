"""Names of steps in tests: ids, step keys and parts of them, with items by key or by position."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.template import MappingVariables, TemplateError, compile_value, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.documents.scenario import ExpectationModel
    from gert_core.documents.tree import Runbook, StepNode

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


def _quoted(label: str) -> str:
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
        if wanted.item is not None and not _is_item(wanted.item, part.item, position(place)):
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


def _is_item(asked: str, label: str | None, place: int | None) -> bool:
    if label is None:
        return False
    if asked.isdecimal():
        return place == int(asked)
    return label in (asked, _quoted(asked))


# -- names that no step or item can have -------------------------------------------------------------------------------


def impossible_names(test: ExpectationModel, book: Runbook) -> Iterator[str]:
    """Yield a warning for each name in a test that belongs to a step but can be none of its keys."""
    for field, names in (("must_reach", test.must_reach), ("must_not_reach", test.must_not_reach)):
        for name in names:
            why = _impossible(name, book.by_id)
            if why is not None and not _is_inside(name, book):
                yield f"{field}: {name!r} cannot be reached: {why}"


def _is_inside(name: str, book: Runbook) -> bool:
    """Return whether a step of an included runbook can have a name; a path may begin with steps of those around it."""
    steps = [part for part in parts_of(name)[0] if isinstance(part, StepPart)]
    for one in book.included.values():
        by_id = one.runbook.by_id
        if steps[-1].id in by_id and (len(steps) > 1 or _impossible(name, by_id) is None):
            return True
    return False


def _impossible(name: str, by_id: Mapping[str, StepNode]) -> str | None:
    """Return why no execution can have a name; None when one can, or when its step is unknown."""
    parts, _ = parts_of(name)
    steps = [part for part in parts if isinstance(part, StepPart)]
    node: StepNode | None = None
    for part in reversed(steps):
        owner = node.within.owner if node is not None and node.within is not None else None
        if node is not None and (owner is None or owner.id != part.id):
            return f"step {node.id} is not directly inside step {part.id}"
        node = by_id.get(part.id)
        if node is None:
            return None
        why = _no_item(node, part.item) if part.item is not None else None
        if why is not None:
            return why
    return None


def _no_item(node: StepNode, item: str) -> str | None:
    loop = node.fields.for_each
    if loop is None:
        return f"step {node.id} has no for_each, so it has no items"
    if not item.isdecimal() and loop.key is None:
        return f"the for_each of step {node.id} has no key, so its items have numbers only"
    if not isinstance(loop.over, list):
        return None
    if item.isdecimal():
        return None if int(item) < len(loop.over) else f"step {node.id} has {len(loop.over)} items"
    if not compile_value(loop.over).static:
        return None
    try:
        key = compile_value(loop.key)
        labels = [to_text(key.render(MappingVariables({loop.as_: value}))) for value in loop.over]
    except TemplateError:  # it needs more than the item
        return None
    if any(_is_item(item, _quoted(label), None) for label in labels):
        return None
    return f"no item of step {node.id} has this key; it has {', '.join(labels[:8])}"


__all__ = ["StepPart", "impossible_names", "matches", "parts_of", "step_id_of"]
