"""The blocks of a step: identified by handles or equal blocks, their frames, and their results for the type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import BlockResult, BlockStatus, ErrorKind, Undecided
from gert_core.engine.flow.frame import Frame, again_in
from gert_core.engine.signals import NOT_STARTED, Rank
from gert_core.engine.steps.passes import Passes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import Block
    from gert_core.documents.tree import BlockNode
    from gert_core.engine.cancel import Deadline
    from gert_core.engine.signals import Signal
    from gert_core.engine.state import Layer
    from gert_core.engine.steps.execution import StepExecution


class StepBlocks:
    """The blocks of one execution of a step."""

    __slots__ = ("_declared", "_nodes", "handles", "passes")

    def __init__(self, execution: StepExecution) -> None:
        compiled = execution.compiled
        self.passes = Passes(execution)
        self._nodes = compiled.nodes
        self._declared = compiled.blocks
        self.handles: Sequence[Block] = compiled.blocks
        """The blocks as the type lists them once its templates are rendered, then those of included runbooks."""
        if compiled.list_blocks is not None and not compiled.body.static:
            included = compiled.blocks[len(compiled.node.blocks) :]
            self.handles = (*compiled.list_blocks(execution.step), *included)

    def node(self, block: Block) -> BlockNode:
        """Return the block of the document for a block or handle."""
        return self._nodes[self._number(block, None)]

    def nodes(self, blocks: Sequence[Block]) -> list[BlockNode]:
        """Return the blocks of the document for several; equal ones are told apart by their position in the list."""
        return [self._nodes[self._number(block, place)] for place, block in enumerate(blocks)]

    def _number(self, block: Block, place: int | None) -> int:
        """Return the number of a block: a handle's own, else that of the block with the same or with equal steps.

        Where several blocks have equal steps, the name decides between them, then the place.
        """
        declared, handle = self._declared, self._handle(block, place)
        if handle is not None and handle < len(declared) and declared[handle].steps is block.steps:
            return handle
        found = [n for n, one in enumerate(declared) if one.steps is block.steps]
        found = found or [n for n, one in enumerate(declared) if one.steps == block.steps]
        if handle is not None and handle in found:
            return handle
        found = [n for n in found if declared[n].name == block.name] or found
        if place is not None and place in found:
            return place
        if len(found) == 1:
            return found[0]
        what = "equals several of" if found else "is not one of"
        raise RuntimeError(f"block {block.name!r} {what} this step's blocks: take it from ctx.blocks")

    def _handle(self, block: Block, place: int | None) -> int | None:
        """Return the number of a handle, None for other blocks."""
        handles = self.handles
        if place is not None and place < len(handles) and handles[place] is block:
            return place
        return next((number for number, handle in enumerate(handles) if handle is block), None)


def block_result(signal: Signal | None, outputs: Mapping[str, object], node: BlockNode) -> BlockResult:
    """Return the result of a block for its step's type."""
    if signal is not None and is_outcome(signal, node):
        return BlockResult(status=BlockStatus.ENDED, outcome=signal.outcome)
    if signal is None:
        return BlockResult(status=BlockStatus.SUCCESS, outputs=outputs)
    if signal is NOT_STARTED:
        message = "a block that it comes after did not succeed"
        return BlockResult(status=BlockStatus.SKIPPED, kind=ErrorKind.UPSTREAM_FAILED, message=message)
    status = BlockStatus(signal.status) if signal.rank is Rank.FAILED else BlockStatus[signal.rank.name]
    if not signal.failures:
        return BlockResult(status=status, outputs=outputs)
    first = signal.failures[0]
    return BlockResult(status=status, kind=first.kind, message=first.message, failed_key=first.key, outputs=outputs)


def is_outcome(signal: Signal, node: BlockNode) -> bool:
    """Return whether a signal is the end of an included runbook, which ends nothing around it."""
    return node.included is not None and signal.rank is Rank.ENDED


def require_outcomes(results: list[BlockResult], nodes: Sequence[BlockNode]) -> list[BlockResult]:
    """Return the results; raise ``Undecided`` when only a real run knows the outcome of an included runbook."""
    for result, node in zip(results, nodes, strict=True):
        if node.included is not None and result.status is BlockStatus.ENDED and result.outcome is None:
            raise Undecided(f"the outcome of {node.name}")
    return results


def child_frame(
    execution: StepExecution,
    layer: Layer,
    *,
    key: int | None,
    branch: Mapping[str, object] | None,
    caught: bool,
    within: Deadline | None = None,
    quiet: bool = False,
    ignored_doubts: int | None = None,
    passed: str = "",
) -> Frame:
    """Return the frame of one pass over a block; its key prefix is determined here, in the calling thread.

    ``passed`` tells the pass apart from others over the block, beyond what the step's own key does.
    """
    middle = "" if key is None else f"{key}/"
    return Frame(
        layer=layer,
        prefix=f"{execution.key}/{middle}",
        deadline=within or execution.deadline,
        branch=branch,
        depth=execution.frame.depth + 1,
        caught=caught or execution.frame.caught,
        continues=execution.continues and not caught,
        base=within or execution.frame.base,
        quiet=quiet or execution.frame.quiet,
        ignored_doubts=execution.frame.ignored_doubts if ignored_doubts is None else ignored_doubts,
        passed=f"{execution.frame.passed}{again_in(execution.key)}{passed}",
    )


__all__ = ["StepBlocks", "block_result", "child_frame", "is_outcome", "require_outcomes"]
