"""Find steps that are certainly denied or need an approval before a real run begins; end the run with a denied one."""

from __future__ import annotations

import time
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import Flow, OutcomeCategory
from gert_core.engine.flow.frame import Frame
from gert_core.engine.steps.execution import StepExecution
from gert_core.engine.uses import may_leave, runs_once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.resume.remaining import Remaining
    from gert_core.engine.run import Run
    from gert_core.engine.signals import Signal
    from gert_core.engine.steps.compiled import CompiledRunbook
    from gert_core.governance import Decision, Policies


class Restricted(Struct, frozen=True, kw_only=True, eq=False):
    """A step that is reached unless one before it ends the run, and that the policies restrict as it is written."""

    step: StepNode
    decision: Decision
    policies: Policies
    """Those that decided: an included runbook may add some."""
    prefix: str
    """The beginning of its key."""
    depth: int
    category: str | None = None
    """The category of its outcome, if it ends the run."""
    documents: tuple[str, ...] = ()
    """The paths of the included runbooks that it is in, the outermost first."""


def certain_denial(
    compiled: CompiledRunbook,
    policies: Policies,
    documents: IncludedDocuments | None,
    remaining: Remaining | None = None,
) -> Restricted | None:
    """Return the first step that is certainly denied; of a resumed run, the first one that is not over."""
    found = _Walk(compiled, policies, documents, remaining=remaining).lists()
    return next((one for one in found if one.decision.denied), None)


def certain_approvals(
    compiled: CompiledRunbook,
    policies: Policies,
    documents: IncludedDocuments | None,
    remaining: Remaining | None = None,
) -> dict[str, Restricted]:
    """Return by key the steps that certainly need an approval and end the run without one."""
    walk = _Walk(compiled, policies, documents, remaining=remaining)
    found = takewhile(lambda one: not one.decision.denied, walk.lists())
    needed = {f"{one.prefix}{one.step.id}": one for one in found if not one.step.fields.continue_on_fail}
    return {key: one for key, one in needed.items() if remaining is None or not remaining.asked(key)}


class _Walk:
    """Follows what certainly runs; a denial cannot be caught, but a failure before it can."""

    def __init__(
        self,
        compiled: CompiledRunbook,
        policies: Policies,
        documents: IncludedDocuments | None,
        *,
        remaining: Remaining | None,
        prefix: str = "",
        depth: int = 0,
        names: tuple[str, ...] = (),
    ) -> None:
        self._compiled = compiled
        self._policies = policies
        self._documents = documents
        self._remaining = remaining
        self._prefix = prefix
        self._depth = depth
        self._names = names

    def lists(self) -> Iterator[Restricted]:
        runbook = self._compiled.runbook
        certain = self._remaining is None or self._remaining.certain
        if certain and not any(block.handles for block in runbook.lists):
            yield from self._block(runbook.root, self._prefix, self._depth)

    def _block(self, block: BlockNode, prefix: str, depth: int) -> Iterator[Restricted]:
        for step in block.steps:
            fields = step.fields
            if fields.when is None and fields.for_each is None and not self._is_over(f"{prefix}{step.id}"):
                if step.type.flow in (Flow.LEAF, Flow.TERMINAL):
                    yield from self._leaf(step, prefix, depth)
                elif not fields.continue_on_fail:
                    yield from self._inside(step, f"{prefix}{step.id}/", depth + 1)
            if may_leave(step):
                return

    def _is_over(self, key: str) -> bool:
        """Return whether a step of a resumed run is over; one that was denied is still what ends the run."""
        return self._remaining is not None and self._remaining.over(key) and not self._remaining.denied(key)

    def _leaf(self, step: StepNode, prefix: str, depth: int) -> Iterator[Restricted]:
        category = None
        if step.type.flow is Flow.TERMINAL:
            outcome = self._compiled.runbook.functions.outcome(step)
            category = None if outcome is None else str(outcome.category)
            if category not in list(OutcomeCategory):  # known when the step is rendered
                return
        levels = self._compiled.contracts.levels(step)
        gate = self._compiled.runbook.functions.gate(step)
        decision = self._policies.decide_levels(levels, outcome=category, gate=gate)
        if decision.denied or decision.needs_approval:
            yield Restricted(
                step=step,
                decision=decision,
                policies=self._policies,
                prefix=prefix,
                depth=depth,
                category=category,
                documents=self._names,
            )

    def _inside(self, step: StepNode, prefix: str, depth: int) -> Iterator[Restricted]:
        if step.type.flow in (Flow.ALL_OF, Flow.IN_ORDER) and all(map(runs_once, step.blocks)):
            for number, block in enumerate(step.blocks):
                if block.cleanup:  # what it tidies up after would not have been done
                    break
                yield from self._block(block, f"{prefix}{number}/", depth)
        for number, node in enumerate(step.includes, len(step.blocks)):
            assert node.included is not None  # noqa: S101 - only such nodes are there
            assert self._documents is not None  # noqa: S101 - there is something to include
            name = node.included.name
            inner = _Walk(
                self._documents.compiled[name],
                self._documents.policies(self._policies, name),
                self._documents,
                remaining=self._remaining,
                prefix=f"{prefix}{number}/",
                depth=depth,
                names=(*self._names, name),
            )
            yield from inner.lists()


def deny(run: Run, denial: Restricted, frame: Frame) -> Signal | None:
    """Write the decision about the step as if the run had come to it; return what ends the run."""
    from gert_core.engine.flow.included import IncludedRun

    for name in denial.documents:
        documents = run.facts.documents
        assert documents is not None  # noqa: S101 - the step is in one of them
        policies = documents.policies(run.facts.policies, name)
        facts = replace(run.facts, compiled=documents.compiled[name], policies=policies, document=name)
        run = IncludedRun(facts, run.services, run)
    inside = Frame(layer=run.variables(), prefix=denial.prefix, deadline=frame.deadline, depth=denial.depth)
    key = inside.open_key(denial.step.id)
    execution = StepExecution(run, run.facts.compiled.step(denial.step), inside, key=key, layer=inside.layer)
    execution.began = time.perf_counter()
    run.services.progress.warn(f"step {key} is certainly denied, so no step is run", step=execution.info)
    done = execution.govern(denial.category)
    assert done is not None  # noqa: S101 - the same policies decide about the same contract
    return done.signal


__all__ = ["Restricted", "certain_denial", "deny"]
