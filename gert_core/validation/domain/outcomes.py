"""Find out what the outcomes of included runbooks have: the members of ``meta`` that any end of them gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Flow
from gert_core.validation.domain.shapes import ANY, Shape, declared_shape, joined, of_value

if TYPE_CHECKING:
    from gert_core.documents.tree import Included, StepNode

_TEXT: Final = declared_shape("string")


class Outcomes:
    """The shapes of the outcomes of included runbooks, each worked out once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, Shape] = {}

    def of(self, step: StepNode) -> Shape:
        """Return the shape of the outcome of what a step includes."""
        metas = [self._meta(node.included) for node in step.includes if node.included is not None]
        return Shape("object", fields={"category": _TEXT, "code": _TEXT, "meta": joined(metas)})

    def _meta(self, included: Included) -> Shape:
        found = self._known.get(included.name)
        if found is None:
            found = self._known[included.name] = _meta(included)
        return found


def _meta(included: Included) -> Shape:
    book, metas = included.runbook, []
    for step in book.walk():
        if step.type.flow is Flow.TERMINAL:
            outcome = book.functions.outcome(step)
            if outcome is None:  # its type tells nothing beforehand
                return ANY
            metas.append(of_value(dict(outcome.meta)))
    return joined(metas)


__all__ = ["Outcomes"]
