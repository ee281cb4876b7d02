"""Find names in tests that no step or item can have, in the runbook or in those that it includes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.scenarios.names import StepPart, is_item, parts_of, quoted
from gert_core.template import MappingVariables, TemplateError, compile_value, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.documents.scenario import ExpectationModel
    from gert_core.documents.tree import BlockNode, Runbook, StepNode

    Part = StepPart | str
    Call = tuple[StepNode, int]
    """A step that includes a runbook, and the number of its block in step keys."""

_CLEANUP: Final = "@"
"""The beginning of the part of a step key that stands for the cleanup of a runbook."""


def impossible_names(test: ExpectationModel, book: Runbook) -> Iterator[str]:
    """Yield a warning for each name in a test that belongs to a step but can be none of its keys."""
    names = [("must_reach", name) for name in test.must_reach] + [("must_not_reach", n) for n in test.must_not_reach]
    if not names:
        return
    books = _Books(book)
    for field, name in names:
        why = books.impossible(name)
        if why is not None:
            yield f"{field}: {name!r} cannot be reached: {why}"


class _Books:
    """The runbook of a test with those that it includes, and the steps that include each of them."""

    __slots__ = ("_books", "_calls")

    def __init__(self, book: Runbook) -> None:
        self._books = [book, *(one.runbook for one in book.included.values())]
        self._calls: dict[str, list[Call]] = {}
        for one in self._books if book.included else ():
            for step in one.walk():
                for number, node in enumerate(step.includes, len(step.blocks)):
                    if node.included is not None:
                        self._calls.setdefault(node.included.runbook.document.file, []).append((step, number))

    def impossible(self, name: str) -> str | None:
        """Return why no execution can have a name; None when one can, or when its step is unknown."""
        *around, last = parts_of(name)[0] or ("",)
        reasons: list[str] = []
        if not isinstance(last, StepPart):
            return None
        for book in self._books:
            step = book.by_id.get(last.id)
            if step is None:
                continue
            if (why := self._refused(book, step, last, around)) is None:
                return None
            reasons.append(why)
        return reasons[0] if reasons else None

    def _refused(self, book: Runbook, step: StepNode, part: StepPart, around: Sequence[Part]) -> str | None:
        """Return why a step of a runbook cannot be what a part means, with the parts before it."""
        if part.item is not None and (why := _no_item(step, part.item)) is not None:
            return why
        if not around or step.within is None:
            return None
        block = step.within
        if block.owner is not None:
            number = block.owner.blocks.index(block) if _counts(block) else None
            return self._refused_around(book, step, [(block.owner, number)], around)
        *rest, before = around
        if block.cleanup and isinstance(before, str):
            return f"step {step.id} is in {_CLEANUP}{block.name}"
        if block.cleanup and isinstance(before, StepPart) and before.id == f"{_CLEANUP}{block.name}":
            around = rest
        return self._refused_around(book, step, self._calls.get(book.document.file, []), around) if around else None

    def _refused_around(
        self, book: Runbook, step: StepNode, owners: Sequence[tuple[StepNode, int | None]], around: Sequence[Part]
    ) -> str | None:
        """Return why none of the steps that a step may be directly inside of is what the parts before it mean."""
        *rest, part = around
        asked = part if isinstance(part, str) else None
        if isinstance(part, str):
            if not rest:
                return None
            *rest, part = rest
        reason = None
        for owner, number in owners:
            if not isinstance(part, StepPart) or part.id != owner.id:
                continue
            if asked is not None and number is not None and asked != str(number):
                reason = f"step {step.id} is in block {number} of step {owner.id}"
                continue
            home = self._home(owner, book)
            why = self._refused(home, owner, part, rest)
            if why is None:
                return None
            reason = why
        named = part.id if isinstance(part, StepPart) else part
        inside = f", but inside step {owners[0][0].id}" if owners else ""
        return reason or f"step {step.id} is not directly inside step {named}{inside}"

    def _home(self, step: StepNode, first: Runbook) -> Runbook:
        """Return the runbook that a step is in."""
        return next((book for book in (first, *self._books) if book.by_id.get(step.id) is step), first)


def _counts(block: BlockNode) -> bool:
    """Return whether the number in a step key is that of the block, not of one of its rounds.

    Cleanup has a number of its own, whether or not there is other cleanup in front of it.
    """
    return block.block is None or (block.block.runs[1] == 1 and not block.cleanup)


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
    if any(is_item(item, quoted(label), None) for label in labels):
        return None
    return f"no item of step {node.id} has this key; it has {', '.join(labels[:8])}"


__all__ = ["impossible_names"]
