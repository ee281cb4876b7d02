"""Find out what the outcomes of included runbooks have: the members of ``meta`` that any end of them gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Flow
from gert_core.validation.domain.shapes import ANY, Shape, declared_shape, joined, of_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import Include, Outcome
    from gert_core.documents.tree import Included, StepNode

_TEXT: Final = declared_shape("string")


class Outcomes:
    """The shapes of the outcomes of included runbooks, each worked out once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[str, ...]], Shape] = {}

    def of(self, step: StepNode, includes: Sequence[Include]) -> Shape:
        """Return the shape of the outcome of what a step includes."""
        accepted = {include.path: tuple(include.accepts) for include in includes}
        metas = [
            self._meta(node.included, accepted.get(node.block.name, ()))
            for node in step.includes
            if node.included is not None and node.block is not None
        ]
        return Shape("object", fields={"category": _TEXT, "code": _TEXT, "meta": joined(metas)})

    def _meta(self, included: Included, accepts: tuple[str, ...]) -> Shape:
        found = self._known.get((included.name, accepts))
        if found is None:
            found = self._known[included.name, accepts] = _meta(included, accepts)
        return found


def _meta(included: Included, accepts: tuple[str, ...]) -> Shape:
    book = included.runbook
    ends: list[Outcome] = []
    for step in book.walk():
        if step.type.flow is Flow.TERMINAL:
            outcome = book.functions.outcome(step)
            if outcome is None:  # its type tells nothing beforehand
                return ANY
            ends.append(outcome)
    shape = joined([of_value(dict(end.meta)) for end in ends])
    if shape.fields is None:
        return shape
    seen = [end for end in ends if not accepts or end.category in accepts]
    return Shape("object", fields={name: _lacking(name, one, seen) for name, one in shape.fields.items()})


def _lacking(name: str, shape: Shape, ends: Sequence[Outcome]) -> Shape:
    """Return the shape of a member of ``meta`` with the categories of the ends that do not give it."""
    lacks = frozenset(str(end.category) for end in ends if name not in end.meta)
    if not lacks:
        return shape
    fields: Mapping[str, Shape] | None = shape.fields
    return Shape(shape.kind, fields=fields, item=shape.item, origin=shape.origin, beside=shape.beside, lacks=lacks)


__all__ = ["Outcomes"]
