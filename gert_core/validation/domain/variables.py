"""Walk the steps in order with the variables that may be defined at each point, and check what they use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import Flow
from gert_core.documents.partial import hides_variables
from gert_core.validation.domain.artifacts import artifact_templates, check_artifact_names
from gert_core.validation.domain.cleanup import clean_up
from gert_core.validation.domain.concurrent import known_order
from gert_core.validation.domain.constants import check_constants
from gert_core.validation.domain.environment import (
    BEGUN,
    BELOW,
    EACH,
    EXPORT,
    NAMESPACE,
    SCOPE,
    Entry,
    Environment,
    doubtful,
    perhaps,
)
from gert_core.validation.domain.exports import check_exports, check_promoted, exported, inside
from gert_core.validation.domain.expressions import TemplateText, texts
from gert_core.validation.domain.flow import guarded, jump_of, may_fail
from gert_core.validation.domain.inputs import check_inputs
from gert_core.validation.domain.iteration import check_for_each, known_keys, members_of, result_of, results_of
from gert_core.validation.domain.references import References
from gert_core.validation.domain.scopes import WRITTEN_IN_FEW, check_fields, scope_segments
from gert_core.validation.domain.shapes import ANY, Shape, collection, declared_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import Facts, FactTable

_DECIDING: Final = (Flow.TERMINAL, Flow.ONE_OF)
"""Flows of steps whose tests are known to have passed, or not to, where the run goes on behind them."""


class VariableWalk:
    """One walk over a runbook's steps."""

    __slots__ = ("ctx", "env", "exporting", "facts", "refs")

    def __init__(self, ctx: Context, facts: FactTable) -> None:
        self.ctx = ctx
        self.facts = facts
        self.env = Environment()
        self.exporting = False
        """Whether a step so far exports something."""
        self.refs = References(ctx, self.env, facts)

    def run(self) -> None:
        """Check constants, then every step in order."""
        self.env.open = hides_variables(self.ctx.gaps)
        for name, declared in self.ctx.runbook.model.meta.inputs.items():
            self.env.set(name, Entry(declared_shape(declared.type)))
        check_constants(self.ctx, self.env, self.refs)
        book, mark = self.ctx.runbook, self.env.mark()
        self.walk(book.root, sure=True)
        if book.cleanup:
            self.refs.closing = True
            clean_up(self, [book.root], book.cleanup, self.env.rewind(mark), continues=False)

    def walk(self, block: BlockNode, *, sure: bool) -> None:
        """Check the steps of a list in order."""
        holds, sure = sure, sure and not self.ctx.flow.of(block).jumps
        doubts, expected = self.refs.doubts, 0
        known = doubts.known
        for step in block.steps:
            place = step.path[-1]
            if place != expected:
                self.env.open = True  # there is a step that could not be read before this one
            self._step(step, sure=sure, holds=holds)
            if step.type.flow in _DECIDING:
                doubts.learn(doubts.passed(step))
            expected = place + 1 if isinstance(place, int) else 0
        doubts.known = known
        if self.ctx.broken:
            raw = block.block.steps if block.block is not None else self.ctx.runbook.document.value.get("steps")
            if isinstance(raw, list) and len(raw) > expected:
                self.env.open = True

    def _step(self, step: StepNode, *, sure: bool, holds: bool) -> None:
        fields, refs = step.fields, self.refs
        known = refs.doubts.known
        facts = self.facts.of(step)
        refs.enter(step)
        loop, when = fields.for_each, fields.when
        mark = self.env.enter_item() if loop is not None else 0
        item: Shape | None = None
        if loop is not None:
            item = check_for_each(self.ctx, refs, step)
            self.env.set(loop.as_, Entry(item))
        found: list[TemplateText] = []
        if when is not None:
            refs.check([TemplateText(when, True, (*step.path, "when"))])
            refs.doubts.learn(refs.doubts.tests(when))
        if not WRITTEN_IN_FEW.isdisjoint(step.raw):
            check_fields(self.ctx, step, item, found)
        plan = self.ctx.plans.of(type(step.body))
        texts(step.raw, plan, path=step.path, found=found)
        later: list[TemplateText] = []
        if step.blocks and step.type.flow is Flow.IN_ORDER:
            later = [text for text in found if text.condition and text.path[-1] != "when"]
            found = [text for text in found if text not in later]
        if found:
            refs.check(found)
        if plan.takes_inputs or step.includes:
            check_inputs(self.ctx, refs, step, facts)
        skipped = when is not None and when is not True
        lacking = skipped or fields.continue_on_fail
        if step.blocks:
            inner = self.env.mark()
            self._blocks(step, later=later)
            if lacking:
                self._doubt(inner)
            if not sure:
                self.env.join(inner)
        if fields.artifacts:
            self._artifacts(step, facts)
        result = facts.result
        if loop is not None:
            if loop.until is not None:
                self._until(step, facts, loop.until)
            result = self._leave_loop(step, mark)
        refs.doubts.known = known
        if not facts.known and fields.scope is None:
            self.env.open = True
        certain = loop is not None or not lacking
        self._define(step, facts, result, sure=sure and not skipped, holds=holds and certain)
        most = jump_of(step)[1]
        if isinstance(most, str):
            refs.enter(step)
            refs.check([TemplateText(most, False, (*step.path, "next", "max"))])

    def _doubt(self, mark: int) -> None:
        """Take back that what a step's blocks set certainly exists."""
        for key, entry in self.env.rewind(mark).items():
            self.env.set(key, doubtful(entry, self.env.names.get(key)))

    def _artifacts(self, step: StepNode, facts: Facts) -> None:
        """Check the templates of artifacts, which see the step's own outputs."""
        check_artifact_names(self.ctx, step)
        if not (found := artifact_templates(step)):
            return
        mark = self.env.mark()
        self.refs.enter(step)
        for name, shape in {**facts.outputs, step.id: facts.shape}.items():
            self.env.set(name, Entry(shape))
        self.refs.check(found)
        self.env.rewind(mark)

    # -- blocks ------------------------------------------------------------------------------------------------

    def _blocks(self, step: StepNode, *, later: list[TemplateText]) -> None:
        env, kind = self.env, step.type.flow
        if kind is Flow.IN_ORDER:
            cleanup = [block for block in step.blocks if block.cleanup]
            blocks = step.blocks[: len(step.blocks) - len(cleanup)]
            rounds: dict[object, Entry] = {}
            mark = env.mark()
            for block in blocks:
                # A failure in it may be handled by a later block, which then runs without what it would have set.
                rounds |= self._in_order(step, block, stops=block is not blocks[-1] and may_fail(block))
            if cleanup:
                clean_up(self, blocks, cleanup, env.rewind(mark), continues=step.fields.continue_on_fail)
            self.refs.enter(step, inside=[block.path for block in step.blocks if block.repeats])
            self._with_binds(step, later, rounds)
            return
        order = known_order(step) if kind is Flow.ALL_OF else None
        outcomes: list[dict[object, Entry]] = []
        doubts, known = self.refs.doubts, self.refs.doubts.known
        before: dict[int, dict[object, Entry]] = {}
        for number in order.sequence if order is not None else range(len(step.blocks)):
            block, start = step.blocks[number], env.mark()
            for earlier in before if order is not None else ():
                if order is not None and earlier in order.before[number]:
                    for key, entry in before[earlier].items():
                        env.set(key, entry)
            mark = env.mark()
            self._bind(step, block)
            asked = block.block.condition if kind is Flow.ONE_OF and block.block is not None else None
            others = doubts.known  # an arm is taken by its test and because those before it do not hold
            doubts.learn(doubts.tests(asked))
            self.walk(block, sure=True)
            doubts.known = others
            doubts.learn(doubts.tests(asked, holds=False))
            changed = before[number] = env.rewind(mark)
            env.rewind(start)
            if block.repeats:
                changed = {key: entry for key, entry in changed.items() if entry.stays}
            # VariableWalk set by a path that always ends the run do not exist after the step.
            if self.ctx.flow.of(block).falls or step.fields.continue_on_fail:
                outcomes.append(changed)
        doubts.known = known
        env.merge(outcomes, every=kind is Flow.ALL_OF)
        self.refs.enter(step)

    def _in_order(self, step: StepNode, block: BlockNode, *, stops: bool) -> dict[object, Entry]:
        """Check a block that runs in turn; return what its rounds set, which only the step's conditions see."""
        env = self.env
        repeats = block.repeats
        if repeats:
            self._namespace((step.type.name, step.id), step, sure=False)
            env.define((SCOPE, step.type.name, step.id, BELOW), ANY, step, sure=False, stays=True)
        mark = env.mark()
        self._bind(step, block)
        inner = block.block
        if inner is not None and inner.runs[1] != 1:
            self._earlier_rounds(block)
        self.walk(block, sure=inner is None or inner.runs[0] > 0)
        changed = env.rewind(mark)
        for key, entry in changed.items():
            if entry.stays or (not repeats and key != step.type.name):
                env.set(key, perhaps(entry, env.names.get(key)) if stops else entry)
        if not repeats:
            return {}
        env.hide(changed)
        return {key: entry for key, entry in changed.items() if key != step.type.name}

    def _earlier_rounds(self, block: BlockNode) -> None:
        """Define what an earlier round may have set: the steps of a block see it until they have run again."""
        for step in block.steps:
            facts, loop = self.facts.of(step), step.fields.for_each
            for name, source in step.fields.exports.items():
                shape = inside(exported(facts) if loop is None else facts.result, source)
                shape = shape if loop is None else collection(shape, keyed=loop.key is not None)
                self.env.set(name, perhaps(Entry(shape, step), self.env.names.get(name)))
            if loop is not None:
                self.env.set(step.id, Entry(collection(facts.result, keyed=loop.key is not None), sure=False))
                continue
            self.env.set(step.id, Entry(facts.shape, sure=False))
            for name, shape in facts.outputs.items() if step.fields.scope is None else ():
                self.env.set(name, perhaps(Entry(shape, step), self.env.names.get(name)))
            for inner in step.blocks:
                if not inner.repeats:
                    self._earlier_rounds(inner)

    def _bind(self, step: StepNode, block: BlockNode) -> None:
        if block.block is not None and block.block.binds:
            bound = {name: declared_shape(kind) for name, kind in block.block.binds.items()}
            self.env.set(step.type.name, Entry(Shape("object", fields=bound)))

    def _with_binds(self, step: StepNode, later: list[TemplateText], rounds: Mapping[object, Entry]) -> None:
        """Check conditions that are evaluated after the blocks: what the blocks bind and set is still defined there."""
        if not later:
            return
        mark = self.env.mark()
        for key, entry in rounds.items():
            self.env.set(key, entry)
        for block in step.blocks:
            self._bind(step, block)
        self.refs.check(later)
        self.env.rewind(mark)

    def _leave_loop(self, step: StepNode, mark: int) -> Shape:
        """Take back what an item has set, except exports; return the shape of the result of one item."""
        loop = step.fields.for_each
        assert loop is not None  # noqa: S101 - asked by the caller
        changed = self.env.leave_item(mark)
        self.env.hide({key: entry for key, entry in changed.items() if key != loop.as_})
        self.refs.unresolved.leaked[loop.as_] = step
        if not step.blocks or self.env.open:
            return self.facts.of(step).result
        members = self.refs.members[step.id] = members_of(step, changed, self.facts, depth=self.env.depth)
        return result_of(step, members, self.facts)

    def _until(self, step: StepNode, facts: Facts, until: object) -> None:
        """Check the condition that ends a for_each early: it sees the item with its results and steps."""
        mark = self.env.mark()
        certain = not guarded(step) and not step.fields.continue_on_fail
        self.env.define(step.id, facts.shape, step, sure=True, holds=certain)
        for name, shape in facts.outputs.items() if not step.blocks else ():
            self.env.define(name, shape, step, sure=True, holds=certain)
        self.refs.enter(step, inside=[step.path])
        self.refs.item = step.id
        self.refs.check([TemplateText(until, True, (*step.path, "for_each", "until"))])
        self.refs.item = None
        self.env.rewind(mark)

    # -- what a step defines -----------------------------------------------------------------------------------

    def _define(self, step: StepNode, facts: Facts, result: Shape, *, sure: bool, holds: bool) -> None:
        env, fields = self.env, step.fields
        export, scope = fields.export, fields.scope
        if export:
            check_exports(self.ctx, env, step, facts, result)
        if self.exporting and scope is None and fields.for_each is None:
            check_promoted(self.ctx, env, step, facts)
        if fields.for_each is not None:
            self._define_loop(step, result, sure=sure, holds=holds)
            return
        env.define(step.id, facts.shape, step, sure=sure, holds=holds)
        outputs = facts.outputs
        if scope is not None:
            segments, templated = scope_segments(scope)
            self._namespace(segments, step, sure=sure)
            if templated or not facts.known:
                env.define((SCOPE, *segments, BELOW), ANY, step, sure=sure, stays=True, holds=holds)
            else:
                for name, shape in outputs.items():
                    env.define((SCOPE, *segments, name), shape, step, sure=sure, stays=True, holds=holds)
        else:
            for name, shape in outputs.items():
                env.define(name, shape, step, sure=sure, holds=holds)
        for name, source in fields.exports.items() if export else ():
            env.define(name, inside(exported(facts), source), step, sure=sure, stays=True, holds=holds)
            self._export(name, step)

    def _define_loop(self, step: StepNode, item: Shape, *, sure: bool, holds: bool) -> None:
        """Define the results of a for_each under its id: a list, or a map when it has a key."""
        env, fields = self.env, step.fields
        keyed = fields.for_each is not None and fields.for_each.key is not None
        until = fields.for_each.until if fields.for_each is not None else None
        items = holds and not guarded(step) and not fields.continue_on_fail and until is None
        keys = known_keys(fields.for_each) if fields.for_each is not None else None
        env.define(step.id, results_of(step, item, keys if keyed else None), step, sure=sure, holds=items)
        env.define((BEGUN, step.id), NAMESPACE, step, sure=sure, holds=holds)
        if fields.scope is not None:
            segments, templated = scope_segments(fields.scope)
            self._namespace(segments, step, sure=sure)
            places = [BELOW] if templated else keys if keys is not None and not step.blocks else [EACH]
            for place in places:
                env.define((SCOPE, *segments, place), item, step, sure=sure, stays=True, holds=items)
        for name, source in fields.exports.items():
            if name not in env.names or env.names[name].origin is not None:
                shape = collection(inside(item, source), keyed=keyed)
                env.define(name, shape, step, sure=sure and (EXPORT, name) not in env.names, stays=True, holds=holds)
                self._export(name, step)

    def _export(self, name: str, step: StepNode) -> None:
        self.exporting = True
        # Never sure, so that the steps that exported it before stay known.
        self.env.define((EXPORT, name), NAMESPACE, step, sure=False, stays=True)

    def _namespace(self, segments: tuple[str, ...], step: StepNode, *, sure: bool) -> None:
        """Define every scope above and including ``segments``."""
        for length in range(len(segments) + 1):
            self.env.define((SCOPE, *segments[:length]), NAMESPACE, step, sure=sure, stays=True)


__all__ = ["VariableWalk"]
