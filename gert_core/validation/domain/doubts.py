"""Warn about outputs that may be missing where they are read, as far as no test says that their step succeeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Flow
from gert_core.validation.domain.certainty import (
    FAILED,
    default_of,
    has_begun,
    is_certain,
    is_protected,
    may_end_before,
    own_statuses,
    possible,
    why_uncertain,
)
from gert_core.validation.domain.context import FAILURE
from gert_core.validation.domain.expressions import offset_of
from gert_core.validation.domain.flow import guarded
from gert_core.validation.domain.looped import is_item, items_on, reads_results
from gert_core.validation.domain.positions import common_list
from gert_core.validation.domain.shared import SKIPPED, came_through, runs_with
from gert_core.validation.domain.tested import (
    DEFINED,
    NOTHING,
    STATUSES,
    SUCCESS,
    both,
    may_test,
    tested,
    without_step,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.documents.tree import StepNode
    from gert_core.template import Reference
    from gert_core.validation.domain.environment import Entry
    from gert_core.validation.domain.expressions import TemplateText
    from gert_core.validation.domain.references import References
    from gert_core.validation.domain.shapes import Shape
    from gert_core.validation.domain.tested import Excluded

_ANSWERED = frozenset({SUCCESS, "failed"})
"""A program that failed has answered: who tests that there was no error may read what it said."""
_RAN = frozenset({SUCCESS, *FAILED})


class Doubts:
    """What conditions around the current place tell about steps."""

    __slots__ = ("known", "refs")

    def __init__(self, refs: References) -> None:
        self.refs = refs
        self.known: Excluded = NOTHING
        """The statuses that steps certainly do not have here."""

    def tests(self, text: object, *, holds: bool = True) -> Excluded:
        """Return the statuses that steps do not have where a condition ``holds``, or where it does not."""
        if not isinstance(text, str) or not may_test(text):
            return NOTHING
        compiled = self.refs.compiled(text, condition=True)
        if compiled.tests is None:
            compiled.tests = tested(compiled.template)
        return compiled.tests[0 if holds else 1]

    def passed(self, step: StepNode) -> Excluded:
        """Return the statuses that steps do not have behind a step because a test of them would have ended the run."""
        if step.type.flow is Flow.TERMINAL:
            return self.tests(step.fields.when, holds=False)
        found: Excluded = {}
        if step.type.flow is Flow.ONE_OF and not guarded(step) and step.fields.for_each is None:
            for block in step.blocks:
                if block.block is not None and not self.refs.ctx.flow.of(block).falls:
                    found = both((found, self.tests(block.block.condition, holds=False)))
        return found

    def learn(self, excluded: Excluded) -> None:
        """Add to what is known."""
        if excluded:
            self.known = both((self.known, excluded)) if self.known else excluded

    def succeeded(self, step: StepNode, text: TemplateText, *, path: tuple[str, ...]) -> bool:
        """Return whether tests, also those in a text itself, tell that a step has what a path in the text leads to."""
        if self._certain([step], path, self.known):
            return True
        template = self.refs.compiled(text.value, condition=text.condition).template
        return is_protected(template, path, lambda more: self._certain([step], path, both((self.known, more))))

    def check(
        self, entries: Sequence[Entry], reader: StepNode, text: TemplateText, *, reference: Reference, kind: str
    ) -> bool:
        """Warn if the output that a reference of ``reader`` leads to may be missing; return whether it may.

        ``entries`` are the variables that it leads over: loops, and what their items have.
        """
        path = reference.path
        if path[0] == FAILURE:
            if len(path) > 1 and not entries[0].holds:
                self._check_failure(text, reference, kind)
            return True
        doubtful = [steps for entry in entries if (steps := self._doubtful(entry, reader, text, path))]
        if not doubtful:
            return False
        step = doubtful[0][0]
        item, begins = self._item(step, path), not self._reads_results(step, path)
        early = begins and may_end_before(step, item)
        why = why_uncertain(step, item=is_item(item), begins=begins)
        why = f"`until` may end `{step.id}` before it" if early else why
        where = self._where([steps[0] for steps in doubtful], path)
        self._warn(text, reference, path, kind, why=why, where=where)
        return True

    def _warn(
        self, text: TemplateText, reference: Reference, path: tuple[str, ...], kind: str, *, why: str, where: str = ""
    ) -> None:
        shown = "." + ".".join(path)
        fallback = default_of(kind, shown, kernel=shown in str(text.value))
        self.refs.ctx.add(
            "maybe-undefined",
            f"`{shown}` may be undefined: {why}",
            path=text.path,
            hint=f"write `{fallback}`{where}",
            offset=offset_of(text.value, path=path, offset=reference.offset),
        )

    def _doubtful(
        self, entry: Entry, reader: StepNode, text: TemplateText, path: tuple[str, ...]
    ) -> Sequence[StepNode]:
        """Return the steps that set a variable if it may be missing where a text reads a path over it."""
        refs = self.refs
        by_id = refs.ctx.runbook.by_id
        if is_certain(entry, refs.ctx.flow, refs.around()):
            return ()
        steps = list(entry.steps()) or [by_id[name] for name in path[:2] if name in by_id]
        shared: Excluded = {(step.id,): SKIPPED for step in steps if runs_with(step, reader, text, refs)}
        known = both((self.known, shared)) if shared else self.known
        if not steps or self._certain(steps, path, known):
            return ()
        if text.lenient and any(step.path[: len(reader.path)] == reader.path for step in steps):
            return ()
        template = refs.compiled(text.value, condition=text.condition).template
        if is_protected(template, path, lambda more: self._certain(steps, path, both((known, more)))):
            return ()
        return steps

    def _where(self, steps: Sequence[StepNode], path: tuple[str, ...]) -> str:
        """Return the end of the hint for a path whose steps may not have run: which tests make it certain."""
        asked: list[tuple[str, ...]] = []
        for step in steps:
            item = self._item(step, path) if not self._reads_results(step, path) else ()
            looped = step.fields.for_each is not None and step.id != self.refs.item
            if may_end_before(step, item) or (looped and item and not is_item(item)):
                return ""
            if not item and not self._in_view(step):
                return ""
            if item and not is_item(item) and asked == [item[:-1]]:
                asked.pop()  # the status of a step inside an item is there whatever became of the item
            asked.append(item or (("step", step.id) if looped else (step.id,)))
        shown = " and ".join(f"`.{'.'.join(one)}.status`" for one in asked)
        return f", or read it only where {shown} {'is' if len(asked) == 1 else 'are'} `success`"

    def check_outcome(self, entry: Entry, text: TemplateText, *, reference: Reference, shape: Shape) -> None:
        """Warn about a member of an outcome's ``meta`` that only some ends of the included runbook give."""
        refs, path = self.refs, reference.path
        step = next((step for step in entry.steps() if step.type.included_outcome), None)
        if step is None:
            return
        field, start = step.type.included_outcome, 1 if path[0] == "step" else 0
        inside = path[start] == step.id and field in path
        target = path[start : path.index(field) + 1] if inside else (step.id, field)

        def given(known: Excluded) -> bool:
            return shape.lacks <= known.get(target, frozenset())

        template = refs.compiled(text.value, condition=text.condition).template
        if given(self.known) or is_protected(template, path, lambda more: given(both((self.known, more)))):
            return
        shown = "." + ".".join(path)
        fallback = default_of(shape.kind, shown, kernel=shown in str(text.value))
        named = ", ".join(f"`{node.block.name}`" for node in step.includes if node.block is not None)
        refs.ctx.add(
            "maybe-undefined",
            f"`{shown}` may be undefined: not every end of {named} gives it ({', '.join(sorted(shape.lacks))})",
            path=text.path,
            hint=f"write `{fallback}`, or give it in every `end` of that runbook",
            offset=offset_of(text.value, path=path, offset=reference.offset),
        )

    def check_optional(self, text: TemplateText, *, reference: Reference, kind: str) -> None:
        """Warn about an output that its contract does not require, where no test says that it is there."""
        refs, path = self.refs, reference.path
        own = without_step(path)

        def given(known: Excluded) -> bool:
            return any((DEFINED, *own[:length]) in known for length in range(1, len(own) + 1))

        if text.lenient or given(self.known):
            return
        template = refs.compiled(text.value, condition=text.condition).template
        if is_protected(template, path, lambda more: given(both((self.known, more)))):
            return
        self._warn(text, reference, path, kind, why="the output is not required")

    def _check_failure(self, text: TemplateText, reference: Reference, kind: str) -> None:
        """Warn about a member of `.failure` where there need not have been one."""
        path, target = reference.path, (FAILURE,)
        template = self.refs.compiled(text.value, condition=text.condition).template
        if target in self.known or is_protected(template, path, lambda known: target in known):
            return
        shown = "." + ".".join(path)
        fallback = default_of(kind, shown, kernel=shown in str(text.value))
        self.refs.ctx.add(
            "maybe-undefined",
            f"`{shown}` may be undefined: `.failure` is null when nothing failed",
            path=text.path,
            hint=f"write `{fallback}`, or read it only in a step with `when: '{{{{ .failure }}}}'`",
            offset=offset_of(text.value, path=path, offset=reference.offset),
        )

    def _certain(self, steps: Sequence[StepNode], path: tuple[str, ...], known: Excluded) -> bool:
        """Return whether one of the steps that set what a path leads to is known to have succeeded, or answered."""
        own, by_id = without_step(path), self.refs.ctx.runbook.by_id
        targets = items_on(path, by_id, self.refs.members, item=self.refs.item)
        whole = max((len(target) for target in targets), default=int(own[0] in by_id))
        if any((DEFINED, *own[:length]) in known for length in range(whole + 1, len(own) + 1)):
            return True  # or a part of it is, behind what is there in any case: a step or an item
        if targets and not any(may_end_before(step, self._item(step, path)) for step in steps):
            left = STATUSES - known.get(targets[-1], frozenset())
            if SUCCESS in left and left <= _ANSWERED:
                return True
        for step in steps:
            excluded = known.get((step.id,), frozenset())
            left = possible(step, self.refs.ctx.flow, self.refs.around())
            if left - own_statuses(step) and came_through(step, known, self.refs.ctx.flow):
                left = own_statuses(step)
            if self._reads_results(step, path):
                begun = "not_run" not in left - excluded or (DEFINED, *own[:1]) in known
                return begun or has_begun(step, self.refs.around())
            item = self._item(step, path)
            if step.id == self.refs.item:  # one item, which has come to its end
                left = own_statuses(step)
            if len(item) > 2:
                left, excluded = STATUSES, known.get(item, frozenset())
            elif item:
                came_out = own_statuses(step)
                ended = left - excluded <= came_out | {"skipped"}  # by itself and not by an item that failed
                left = came_out if ended else STATUSES
                if may_end_before(step, item):
                    left, known = STATUSES, NOTHING  # nothing is known of an item that is not in the result
                excluded = known.get(item, frozenset()) | (FAILED if excluded >= FAILED else frozenset())
            left -= excluded
            if left <= _RAN and self._is_field(step, path):
                return True
            if SUCCESS in left and left <= _ANSWERED:
                return True
        return False

    def _reads_results(self, step: StepNode, path: tuple[str, ...]) -> bool:
        """Return whether a path reads what is there once a loop has begun."""
        return reads_results(step, without_step(path), item=self.refs.item)

    def _in_view(self, step: StepNode) -> bool:
        """Return whether the status of a step is readable here: of one inside a loop it is so only there."""
        common = common_list(step, self.refs.around())
        return common is None or common.loop is None

    def _is_field(self, step: StepNode, path: tuple[str, ...]) -> bool:
        """Return whether a path reads what a step has by its type, after a failure too; an outcome it has not then."""
        own = path[1:] if path[0] == "step" else path
        return (
            len(own) > 1 and own[0] == step.id and own[1] in step.type.fields and own[1] != step.type.included_outcome
        )

    def _item(self, step: StepNode, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return the item of a loop, or the step inside an item, whose output a path reads; nothing for other paths."""
        targets = items_on(path, self.refs.ctx.runbook.by_id, self.refs.members, item=self.refs.item)
        for target in targets:
            if step.id == target[-2 if is_item(target) else -1]:
                return target
        around = [target for target in targets if is_item(target)]
        return (*around[-1], step.id) if around else ()


__all__ = ["Doubts"]
