"""Check exports: only outputs of the step, and only to a name that is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.validation.domain.report import listing

if TYPE_CHECKING:
    from gert_core.documents.tree import StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.environment import Environment
    from gert_core.validation.domain.facts import Facts


def check_exports(ctx: Context, env: Environment, step: StepNode, facts: Facts) -> None:
    """Report names a step cannot export; ``env`` is the state before the step's own outputs."""
    for index, name in enumerate(step.fields.export):
        path = (*step.path, "export", index)
        collects = bool(step.blocks) and step.fields.for_each is not None
        if facts.known and not collects and name not in facts.outputs:
            known = listing(facts.outputs) if facts.outputs else "none"
            ctx.add(
                "export-undeclared",
                f"step `{step.id}` has no output `{name}` to export",
                path=path,
                hint=ctx.report.did_you_mean(name, facts.outputs) or f"its outputs: {known}",
            )
            continue
        holder = _holder(ctx, env, step, name)
        # A loop whose export name is taken keeps its results under its id and warns; it does not fail.
        if holder and step.fields.for_each is None:
            ctx.add(
                "export-collision",
                f"`{name}` cannot be exported: {holder} has that name",
                path=path,
                hint=f"remove it from `export` and read it as `.{step.id}.{name}`{_where(step)}",
            )


def _where(step: StepNode) -> str:
    """Return where the outputs of a step are read by its id: those of a step in a loop only in that loop."""
    return " inside the loop" if any(step.loops_around()) else ""


def _holder(ctx: Context, env: Environment, step: StepNode, name: str) -> str | None:
    """Return what certainly has the name already; names that only some paths set are left to the run."""
    meta = ctx.runbook.model.meta
    if name in meta.inputs:
        return "an input"
    if name in meta.constants:
        return "a constant"
    entry = env.names.get(name)
    if entry is None or not entry.sure:
        return None
    if entry.origin is None:
        return "a loop variable"
    other = next(entry.steps(), step)
    return None if other is step or other.id == name else f"step `{other.id}`"


__all__ = ["check_exports"]
