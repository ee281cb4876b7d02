"""Explain unresolved references: misspelt, set later, set on another path, or local to a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.validation.domain.concurrent import known_order, within_disorder
from gert_core.validation.domain.context import FAILURE
from gert_core.validation.domain.environment import SCOPE
from gert_core.validation.domain.looped import OF_LOOPS
from gert_core.validation.domain.meant import kept_apart, shorter
from gert_core.validation.domain.positions import common_list
from gert_core.validation.domain.report import listing
from gert_core.validation.domain.shapes import ANY, follow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gert_core.documents.tree import Path, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.environment import Environment
    from gert_core.validation.domain.facts import FactTable
    from gert_core.validation.domain.positions import CommonList
    from gert_core.validation.domain.shapes import MissingMember, Shape

    Explanation = tuple[str, str, str | None]

_RULE = "unresolved-variable"
_FEW = 8
"""More steps that export the same output are not looked at."""
_SECOND_ROUND = 'if it is meant for a second round, give a value for the first: `{} | default ""`'


class UnresolvedReferences:
    """Explanations of references that do not resolve."""

    __slots__ = ("_definers", "_exporters", "ctx", "env", "facts", "leaked")

    def __init__(self, ctx: Context, env: Environment, facts: FactTable) -> None:
        self.ctx = ctx
        self.env = env
        self.facts = facts
        self.leaked: dict[str, StepNode] = {}
        """Loop variables whose loop is over, with the loop's step."""
        self._definers: dict[str, list[StepNode]] | None = None
        self._exporters: dict[str, list[tuple[str, StepNode]]] | None = None
        """By output the names under which steps export it."""

    def explain(
        self, path: Sequence[str], miss: MissingMember | None, step: StepNode | None, around: dict[Path, int]
    ) -> Explanation | None:
        """Return rule, message and hint for one reference of ``step``; None when nothing is certain."""
        if miss is not None:
            return self._member(path, miss)
        if path[0] in ("step", "scope") and path[0] not in self.env.names:
            return self._namespace(path, step, around)
        return self._root(path[0], path, step, around)

    def after_jump(
        self, path: Sequence[str], around: dict[Path, int], succeeded: Callable[[StepNode], bool]
    ) -> Shape | MissingMember | None:
        """Return what a path leads to that a later step sets, where a jump leads back here after it ``succeeded``."""
        start = 1 if path[0] == "step" and len(path) > 1 else 0
        name = path[start]
        for step in self._all_definers().get(name, [])[:_FEW] if self.ctx.flow.jumps else ():
            common = common_list(step, around)
            if common is None or common.loop is not None or (start and step.id != name):
                continue
            back = self.ctx.flow.of(common.block).leads_back(common.first, common.arm, common.then)
            if not back or not succeeded(step):
                continue
            facts = self.facts.of(step)
            if step.fields.for_each is not None:
                return ANY
            return follow(facts.shape if step.id == name else facts.outputs.get(name, ANY), path, start + 1)
        return None

    def _member(self, path: Sequence[str], miss: MissingMember) -> Explanation:
        shape, parent = miss.shape, _dotted(path[: miss.depth])
        if shape.origin:
            inside = {**(shape.item.fields or {}), **shape.item.beside} if shape.item is not None else {}
            member = miss.segment if miss.segment in inside else (next(iter(inside), "output"))
            return (
                _RULE,
                f"`{parent}` is a list, one result per item, so it has no `{miss.segment}`",
                f'write `index {parent} 0 "{member}"`, or give the for_each a `key`',
            )
        if (parent, miss.segment) == (".run", "status"):
            where = "use it inside `on_failure` or `finally` of the runbook itself"
            return _RULE, "`.run.status` exists only in the cleanup of the run", where
        if shape.kind == "object":
            known = shape.fields or shape.beside
            hint = shorter(path, self.env, (miss.depth,))
            hint = hint or self.ctx.report.did_you_mean(miss.segment, {**shape.beside, **known}, prefix=f"{parent}.")
            if hint is None and known:
                hint = f"it has {listing(known)}"
            return _RULE, f"`{parent}` has no `{miss.segment}`", hint
        if shape.kind == "list":
            return (
                _RULE,
                f"`{parent}` is a list, so it has no `{miss.segment}`",
                f"take one item first: `index {parent} 0`",
            )
        return _RULE, f"`{parent}` is of type {shape.kind} and has no `{miss.segment}`", None

    def _namespace(self, path: Sequence[str], step: StepNode | None, around: dict[Path, int]) -> Explanation | None:
        if path[0] == "step" and len(path) > 1:
            if path[1] in self.ctx.runbook.by_id:
                return self._root(path[1], path, step, around)
            if self.ctx.broken:
                return None
            hint = self.ctx.report.did_you_mean(path[1], self.ctx.runbook.by_id, prefix=".step.")
            return _RULE, f"`{_dotted(path)}`: there is no step `{path[1]}`", hint
        if path[0] == "step":
            return _RULE, "`.step` needs the id of a step: `.step.<id>.<output>`", None
        if self.env.open or within_disorder(step):
            return None
        return _RULE, f"no step before this one sets `{_dotted(path)}`", self._scopes("/".join(path[1:]))

    def _scopes(self, asked: str) -> str | None:
        report = self.ctx.report
        if not report.suggests:
            return None
        scopes = {
            "/".join(key[1:]) for key in self.env.names if isinstance(key, tuple) and key[0] == SCOPE and len(key) > 1
        }
        known = sorted(scope for scope in scopes if "*" not in scope)
        above = asked.rpartition("/")[0]  # without the output
        near = report.did_you_mean(asked, known, prefix=".scope.")
        if near is None and above and above not in scopes:
            near = report.did_you_mean(above, known, prefix=".scope.")
        return near or (
            f"the scopes set before it have {listing(known)}" if known else "no step before it has a `scope`"
        )

    def _root(
        self, name: str, path: Sequence[str], step: StepNode | None, around: dict[Path, int]
    ) -> Explanation | None:
        shown = _dotted(path)
        if name in self.ctx.binders:
            rule = "loop-variable-leak" if self._has_type(name) else _RULE
            return rule, f"`{shown}` exists only inside the block of a `{name}` step", None
        if name == FAILURE:
            return _RULE, f"`{shown}` exists only in cleanup", "use it inside `on_failure` or `finally`"
        loop = self.leaked.get(name)
        if loop is not None:
            return (
                "loop-variable-leak",
                f"`{shown}` is the loop variable of `{loop.id}` and exists only inside that loop",
                f"use the results of the loop, `.{loop.id}`",
            )
        if self.env.open or within_disorder(step):
            return None
        definers = self._all_definers().get(name, [])
        if definers == [step] and len(path) == 1 and (hint := self._exported_as(name)):
            return _RULE, f"`{shown}` is not defined", hint
        if definers and step is None:
            why = "and constants have their values before the first step"
            return _RULE, f"`{shown}` is set by `{definers[0].id}`, {why}", "read it in the steps that need it"
        if definers:
            return self._known_elsewhere(name, path, definers, step=step, around=around)
        hint = self._alone(name) if len(path) == 1 else shorter(path, self.env, (0,), (0, 2))
        hint = hint or self.ctx.report.did_you_mean(name, self.env.variable_names(), prefix=".")
        if name == "now":
            hint = "a resumed run must see the same time: read `.run.started`"
        if hint is None:
            later = self.ctx.report.did_you_mean(name, self._all_definers(), prefix=".")
            hint = f"{later[:-1]}, which is set later?" if later else None
        return _RULE, f"`{shown}` is not defined", hint

    def _known_elsewhere(
        self,
        name: str,
        path: Sequence[str],
        definers: list[StepNode],
        *,
        step: StepNode | None,
        around: dict[Path, int],
    ) -> Explanation | None:
        """Explain a name that exists elsewhere: local to a loop, set later, or set on other paths."""
        shown = _dotted(path)
        if any(self._jumps_before(definer, around) for definer in definers):
            return None
        first = definers[0]
        common = common_list(first, around)
        if common is not None and common.loop is not None and shown.endswith(f"{name}.status"):
            return (
                _RULE,
                f"`{shown}` is the status of a step inside the loop `{common.loop.id}` and exists only there",
                f"read the status of the loop, `.step.{common.loop.id}.status`, or of its items",
            )
        if common is not None and common.loop is not None and common.first < common.then:
            return (
                _RULE,
                f"`{shown}` is set by `{first.id}` inside the loop `{common.loop.id}` and does not exist after it",
                self._handed_on(first, path, common.loop),
            )
        if first.id == name and first is step:
            return _RULE, f"`{shown}` is used by step `{name}` itself, before it has run", _SECOND_ROUND.format(shown)
        if common is not None and common.first > common.then:
            return (
                _RULE,
                f"`{shown}` is set by `{first.id}`, which runs only later",
                f"move that step before this one; {_SECOND_ROUND.format(shown)}",
            )
        order = _order_hint(common, around) if common is not None else None
        return (
            _RULE,
            f"`{shown}` is set by `{first.id}`, but on no path that leads here",
            f'{order or "move the step that sets it before both paths"}, or use `{shown} | default ""`',
        )

    def _handed_on(self, step: StepNode, path: Sequence[str], loop: StepNode) -> str:
        """Return how to read behind a loop what a step inside it has: exported, where it can be, else of the items."""
        facts, source = self.facts.of(step), list(path[path[0] == "step" :])
        if source[0] == step.id:
            of_item = step.fields.for_each is not None and (len(source) != 2 or source[1] not in OF_LOOPS)
            source = source[2 if of_item else 1 :]
        if not source:
            return f"export the outputs of `{step.id}` that are needed and read those"
        name, whole = source[0], ".".join(source)
        field = name in facts.fields and name not in facts.outputs
        new = f"{step.id}_{source[-1]}" if field else name
        if known := self._exported_as(whole if field else name, by=step):
            return known
        if field:
            return f"add `export: {{{new}: {whole}}}` to `{step.id}` and read `.{new}`"
        if facts.known and not step.blocks and name not in facts.outputs and name not in step.fields.export:
            items = ", or read it of its items" if loop.fields.for_each is not None else ""
            return f"use it inside the loop{items}"
        return f"add `export: [{name}]` to `{step.id}` and read `.{name}`"

    def _alone(self, name: str) -> str | None:
        """Return how to read what a name that is not defined here is an output of a step before."""
        return self._exported_as(name) or kept_apart(name, self.ctx.steps, self.env, self.facts)

    def _exported_as(self, output: str, *, by: StepNode | None = None) -> str | None:
        """Return under which name an output is known here, where a step exports it under another."""
        if self._exporters is None:
            self._exporters = {}
            for step in self.ctx.steps:
                for name, source in step.fields.exports.items() if step.fields.export else ():
                    self._exporters.setdefault(source, []).append((name, step))
        for name, step in self._exporters.get(output, [])[:_FEW]:
            known = self.env.names.get(name)
            if by in (None, step) and known is not None and step in known.steps():
                many = ", one for each item" if step.fields.for_each is not None else ""
                return f"read `.{name}`: `{step.id}` exports it under that name{many}"
        return None

    def _jumps_before(self, definer: StepNode, around: dict[Path, int]) -> bool:
        """Return whether jumps can lead from the definer to here although it is later or on another path."""
        common = common_list(definer, around)
        if common is None or common.loop is not None or common.first == common.then:
            return False
        flow = self.ctx.flow.of(common.block)
        return flow.jumps and common.first > common.then and flow.precedes(common.first, common.arm, common.then)

    def _has_type(self, name: str) -> bool:
        return any(step.type.name == name for step in self.ctx.steps)

    def _all_definers(self) -> dict[str, list[StepNode]]:
        """Return every name that any step of the runbook sets, with the steps."""
        if self._definers is None:
            definers: dict[str, list[StepNode]] = {}
            for step in self.ctx.steps:
                definers.setdefault(step.id, []).append(step)
                names = set(step.fields.export)
                if step.fields.scope is None and step.fields.for_each is None:
                    names.update(self.facts.of(step).outputs)
                for name in names:
                    definers.setdefault(name, []).append(step)
            self._definers = definers
        return self._definers


def _dotted(path: Sequence[str]) -> str:
    return "." + ".".join(path)


def _order_hint(common: CommonList, around: dict[Path, int]) -> str | None:
    """Return which block is to come after which, where a step's blocks have an order and these two have none."""
    owner = next((step for step in common.block.steps if step.index == common.first == common.then), None)
    if owner is None or not any(one.block is not None and one.block.after for one in owner.blocks):
        return None
    order = known_order(owner)
    here = next((number for number, one in enumerate(owner.blocks) if one.path in around), None)
    if order is None or here is None or here in order.before[common.arm]:
        return None
    ours, theirs = (owner.blocks[number].block for number in (here, common.arm))
    return f"let `{ours.name}` come after `{theirs.name}`" if ours is not None and theirs is not None else None


__all__ = ["UnresolvedReferences"]
