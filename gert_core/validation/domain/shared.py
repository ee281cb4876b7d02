"""Find steps that certainly ran: their block came through, or who reads them runs on the same condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Flow
from gert_core.documents.tree import StepNode
from gert_core.validation.domain.flow import guarded
from gert_core.validation.domain.tested import HANDLED, STATUSES, SUCCESS

if TYPE_CHECKING:
    from gert_core.validation.domain.expressions import TemplateText
    from gert_core.validation.domain.flow import FlowMap
    from gert_core.validation.domain.references import References
    from gert_core.validation.domain.tested import Excluded

SKIPPED: Final = frozenset({"skipped"})


def came_through(step: StepNode, known: Excluded, flow: FlowMap) -> bool:
    """Return whether the block that a step stands in is known to have come to its end without a failure."""
    block = step.within
    if block is None or block.owner is None or block.block is None or block.cleanup or block.block.runs != (1, 1):
        return False
    owner = block.owner
    if owner.type.flow is not Flow.IN_ORDER or owner.fields.for_each is not None or flow.of(block).jumps:
        return False
    handled = any(other.handles for other in owner.blocks)
    if handled and (owner.id, HANDLED) not in known:
        return False
    return known.get((owner.id,), frozenset()) >= STATUSES - {SUCCESS}


def runs_with(step: StepNode, reader: StepNode, text: TemplateText, refs: References) -> bool:
    """Return whether a step was not skipped if a text of ``reader`` is read, because both have the same ``when``.

    That may be the ``when`` of a step around the reader. It stands behind the step in the same list, and nothing that
    the condition asks about may have changed in between.
    """
    if refs.jumps or not guarded(step) or step.fields.for_each is not None:
        return False
    holder: StepNode | None = reader
    while holder is not None and holder.within is not step.within:
        holder = holder.within.owner if holder.within is not None else None
    if holder is None or holder.index <= step.index or holder.fields.when != step.fields.when:
        return False
    if holder.fields.for_each is not None or text.path == (*holder.path, "when"):
        return False
    compiled = refs.compiled(step.fields.when, condition=True)
    return all(_stays(reference.path, step, refs) for reference in compiled.references)


def _stays(path: tuple[str, ...], step: StepNode, refs: References) -> bool:
    """Return whether what a path reads now is what it read before a step."""
    head = path[1] if path[0] == "step" and len(path) > 1 else path[0]
    if head == "run":
        return True
    entry = refs.env.names.get(head)
    if entry is None:
        return False
    setter = entry.origin
    if isinstance(setter, StepNode):
        return setter.within is step.within and setter.index < step.index
    return setter is None


__all__ = ["SKIPPED", "came_through", "runs_with"]
