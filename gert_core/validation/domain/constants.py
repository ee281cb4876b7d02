"""Check constants: their shapes, the templates in them, and cycles between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.validation.domain.environment import Entry
from gert_core.validation.domain.expressions import TemplateText, templates
from gert_core.validation.domain.shapes import of_value

if TYPE_CHECKING:
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.environment import Environment
    from gert_core.validation.domain.references import References


def check_constants(ctx: Context, env: Environment, refs: References) -> None:
    """Define every constant and check what their templates use: inputs and other constants."""
    constants = ctx.runbook.model.meta.constants
    for name, value in constants.items():
        env.set(name, Entry(of_value(value)))
    uses: dict[str, list[tuple[str, TemplateText, int]]] = {}
    refs.enter(None)
    for name, value in constants.items():
        found: list[TemplateText] = []
        templates(value, path=("meta", "constants", name), found=found)
        if not found:
            continue
        refs.check(found)
        uses[name] = [
            (reference.path[0], text, reference.offset)
            for text in found
            for reference in refs.compiled(text.value).references
            if reference.path[0] in constants
        ]
    _cycles(ctx, uses)


def _cycles(ctx: Context, uses: dict[str, list[tuple[str, TemplateText, int]]]) -> None:
    """Report each cycle once, at the reference that closes it."""
    done: set[str] = set()
    for start, first in uses.items():
        if start in done:
            continue
        trail: list[str] = [start]
        stack = [iter(first)]
        on_trail = {start}
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                name = trail.pop()
                on_trail.discard(name)
                done.add(name)
                continue
            target, text, offset = step
            if target in on_trail:
                circle = " → ".join([*trail[trail.index(target) :], target])
                ctx.add(
                    "unresolved-variable",
                    f"constant `{target}` depends on itself: {circle}",
                    path=text.path,
                    offset=offset,
                    hint="write one of them as a value without a template",
                )
            elif target not in done and target in uses:
                trail.append(target)
                on_trail.add(target)
                stack.append(iter(uses[target]))


__all__ = ["check_constants"]
