"""Find the steps of a runbook that call tools or start programs, and which of them certainly run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api import UNKNOWN, Flow
from gert_core.contracts import Contracts, find_action
from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import Contract
    from gert_core.documents.tree import BlockNode, Runbook, StepNode, ToolNode
    from gert_core.engine.resume.remaining import Remaining


class Use(Struct, frozen=True, kw_only=True):
    """A step that calls a tool; ``certain``: it runs unless a step before it fails, and its failure ends the run."""

    step: StepNode
    tool: ToolNode
    action: str
    runbook: Runbook
    certain: bool
    unchanged: bool
    """Whether no step before it may have changed anything outside the run, such as the programs that are installed."""
    document: str = ""
    """The path of the included runbook that it is in; empty for the runbook that is run."""
    prefix: str = ""
    """The beginning of its key, inside a runbook that is included."""


class Start(Struct, frozen=True, kw_only=True):
    """A step whose type starts a program by itself; otherwise as ``Use``."""

    step: StepNode
    program: str
    runbook: Runbook
    certain: bool
    unchanged: bool
    document: str = ""
    prefix: str = ""


def uses(runbook: Runbook, contracts: Contracts, remaining: Remaining | None = None) -> Iterator[Use | Start]:
    """Yield the steps that call tools or start programs, in the order of the document; of a resumed run, the rest."""
    needing = runbook.tools or runbook.included
    if needing or any(step.type.program is not None for step in runbook.by_id.values()):
        yield from _Walk(runbook, contracts, remaining=remaining).lists(certain=remaining is None or remaining.certain)


class _Walk:
    def __init__(
        self,
        runbook: Runbook,
        contracts: Contracts,
        *,
        remaining: Remaining | None,
        document: str = "",
        prefix: str = "",
        at: str | None = "",
        changed: bool = False,
    ) -> None:
        self._runbook = runbook
        self._contracts = contracts
        self._document = document
        self._prefix = prefix
        self._changed = changed
        self._remaining = remaining
        self._at = at
        self._inert: set[str] = set()
        """The types of steps of which nothing is to be noted unless they declare or jump: most of a long runbook."""

    def lists(self, *, certain: bool) -> Iterator[Use | Start]:
        # Where failures of the runbook are handled, a step that fails for want of something is not the end of it,
        # unless it stands in what runs last.
        handled = any(block.handles for block in self._runbook.lists)
        for block in self._runbook.lists:
            sure = certain and (runs_once(block) if block.cleanup else not handled)
            at = f"{self._at}@{block.name}/" if block.cleanup and self._at is not None else self._at
            yield from self.block(block, certain=sure, at=at)

    def _included(self, step: StepNode, *, certain: bool, at: str | None) -> Iterator[Use | Start]:
        for number, node in enumerate(step.includes, len(step.blocks)):
            assert node.included is not None  # noqa: S101 - only such nodes are there
            book, prefix = node.included.runbook, f"{self._prefix}{step.id}/{number}/"
            name = node.included.name
            inner = _Walk(
                book,
                Contracts(book),
                remaining=self._remaining,
                document=name,
                prefix=prefix,
                at=None if at is None else f"{at}{number}/",
                changed=self._changed,
            )
            yield from inner.lists(certain=certain)
            self._changed = inner._changed

    def block(self, block: BlockNode, *, certain: bool, at: str | None) -> Iterator[Use | Start]:
        """Yield those of a list; ``at`` is the beginning of their keys, None where it is known only when they run."""
        for step in block.steps:
            fields = step.fields
            if step.type.name in self._inert and fields.contract is None and fields.next is None:
                continue
            if self._remaining is not None and at is not None and self._remaining.over(f"{at}{step.id}"):
                certain = certain and not may_leave(step)
                continue
            own = certain and fields.when is None and fields.for_each is None and not fields.continue_on_fail
            use = self._runbook.functions.tool_use(step)
            contract = None
            if use is not None:
                tool = self._runbook.tools[use.tool]
                action = find_action(tool, use.action)[0]
                contract = tool.contracts[action] if fields.contract is None else None
                yield Use(
                    step=step,
                    tool=tool,
                    action=action,
                    runbook=self._runbook,
                    certain=own,
                    unchanged=not self._changed,
                    document=self._document,
                    prefix=self._prefix,
                )
            elif (program := self._runbook.functions.program(step)) is not None:
                yield Start(
                    step=step,
                    program=program,
                    runbook=self._runbook,
                    certain=own,
                    unchanged=not self._changed,
                    document=self._document,
                    prefix=self._prefix,
                )
            if step.includes:
                once = at is not None and fields.for_each is None
                yield from self._included(step, certain=own, at=f"{at}{step.id}/" if once else None)
            if step.blocks:
                together = own and step.type.flow in (Flow.ALL_OF, Flow.IN_ORDER)
                handled = not all(map(runs_once, step.blocks))
                for number, inner in enumerate(step.blocks):
                    sure = together and (runs_once(inner) if inner.cleanup else not handled)
                    inside = f"{at}{step.id}/{number}/" if sure and at is not None else None
                    yield from self.block(inner, certain=sure, at=inside)
            if not self._changed:
                self._changed = _may_change(contract or self._contracts.of(step))
                if not self._changed and use is None and _is_inert(step):
                    self._inert.add(step.type.name)
            certain = certain and not may_leave(step)


def _is_inert(step: StepNode) -> bool:
    """Return whether all leaves of the type have the same contract as this one and call no tool."""
    kind = step.type
    return (
        kind.flow is Flow.LEAF
        and kind.tool_use is None
        and kind.program is None
        and step.fields.contract is None
        and not callable(load_target(kind.contract))
    )


def _may_change(contract: Contract) -> bool:
    return contract.writing or not set(UNKNOWN.effects).isdisjoint(contract.effects)


def runs_once(block: BlockNode) -> bool:
    """Return whether a block runs exactly once; beside one that does not, a failure may be handled."""
    return block.block is not None and block.block.runs == (1, 1)


def may_leave(step: StepNode) -> bool:
    """Return whether the steps behind it in its list may never run: it ends the run or jumps, at any depth."""
    if step.type.flow is Flow.TERMINAL or step.fields.next is not None:
        return True
    return bool(step.blocks) and any(
        (inner.block is not None and inner.block.jump is not None) or any(map(may_leave, inner.steps))
        for inner in step.blocks
    )


__all__ = ["Start", "Use", "may_leave", "runs_once", "uses"]
