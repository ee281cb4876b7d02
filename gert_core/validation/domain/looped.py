"""Follow paths over items of loops, also of loops inside one another: what they lead over, and what may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Flow
from gert_core.validation.domain.context import FAILURE
from gert_core.validation.domain.environment import BEGUN, SCOPE
from gert_core.validation.domain.flow import guarded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.tree import StepNode
    from gert_core.validation.domain.environment import Entry, Environment
    from gert_core.validation.domain.tested import Target

    Members = Mapping[str, Mapping[str, Entry]]
    """Of loops over blocks, by id: what is readable of one item."""

OF_LOOPS: Final = ("failed", "skipped")
_NEVER: Final = frozenset(
    {"status", "attempts", "retry_count", "passed", "handled", "iterations", "exit_code", FAILURE, *OF_LOOPS}
)
"""What a step has whether it ran or not."""


def outputs_on(
    path: Sequence[str], env: Environment, by_id: Mapping[str, StepNode], members: Members, *, item: str | None
) -> list[Entry]:
    """Return the variables that a path to an output leads over, outermost first; none if it is there in any case.

    By the id ``item`` one item is read and not the results of its loop.
    """
    names, head, rest = env.names, path[0], path[1:]
    if head == SCOPE and head not in names:
        kept = env.scope([part for segment in rest for part in segment.split("/")])
        return [kept[0]] if kept is not None else []
    if head == "step" and head not in names and rest:
        head, rest = rest[0], rest[1:]
    entry, step = names.get(head), by_id.get(head)
    found = [entry] if entry is not None else []
    if found and step is not None and reads_results(step, (head, *rest), item=item):
        return [names.get((BEGUN, step.id), found[0])]
    while found and step is not None:
        if not rest or rest[0] in _NEVER:
            return found[:-1]
        if step.fields.for_each is None or step.id == item:
            return found
        rest = rest[1:]
        inner = members.get(step.id, {}).get(rest[0]) if rest else None
        if _is_there(step, rest, inner):  # with the item, which is there when its loop has begun
            return found if len(found) > 1 and not _always_begins(step) else found[:-1]
        if inner is None:
            return found
        found.append(inner)
        step, rest = by_id.get(rest[0]), rest[1:]
    return found


def reads_results(step: StepNode, own: Sequence[str], *, item: str | None) -> bool:
    """Return whether a path reads all results of a loop, or one of them, as they are."""
    looped = step.fields.for_each is not None and step.id != item
    return looped and own[0] == step.id and len(own) < 3 and own[-1] not in _NEVER


def _is_there(step: StepNode, rest: Sequence[str], inner: Entry | None) -> bool:
    """Return whether an item of a loop has something whether it ran or not: it may be null, but may be read."""
    if not rest or rest[0] in _NEVER:
        return True
    if inner is not None:
        return len(rest) > 1 and rest[1] in _NEVER
    return rest[0] in step.type.fields and not (len(rest) > 1 and rest[0] == step.type.included_outcome)


def _always_begins(step: StepNode) -> bool:
    """Return whether a loop inside the item of another one is entered whenever that item comes to its end."""
    node = step
    while node.within is not None and node.within.owner is not None:
        block, owner = node.within, node.within.owner
        if block.block is None or block.block.runs[0] < 1 or block.cleanup or owner.type.flow is Flow.ONE_OF:
            return False
        if any(one.fields.next is not None for one in block.steps):
            return False
        if owner.fields.for_each is not None:
            return True
        if guarded(owner) or owner.fields.continue_on_fail:
            return False
        node = owner
    return False


def items_on(path: Sequence[str], by_id: Mapping[str, StepNode], members: Members, *, item: str | None) -> list[Target]:
    """Return the items that a path leads over, the outermost first, and last a step inside one if it ends in such."""
    segments = tuple(path[1:] if path[0] == "step" else path)
    found: list[Target] = []
    length, step = 1, by_id.get(segments[0]) if segments[0] != item else None
    while step is not None and step.fields.for_each is not None and len(segments) > length:
        found.append(segments[: length + 1])
        name = segments[length + 1] if len(segments) > length + 1 else None
        if name is None or name not in members.get(step.id, ()) or name not in by_id:
            return found
        length, step = length + 2, by_id[name]
    if found and step is not None and step.fields.for_each is None:
        found.append(segments[:length])
    return found


def is_item(target: Target) -> bool:
    """Return whether what is asked about is an item: ids and keys take turns, and it ends in a key."""
    return len(target) > 0 and len(target) % 2 == 0


__all__ = ["OF_LOOPS", "is_item", "items_on", "outputs_on", "reads_results"]
