"""Check common fields of steps: scopes and visibility, paths whose segments ``/`` or ``.`` separates, and who acts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.api import Severity
from gert_core.validation.domain.expressions import templates

if TYPE_CHECKING:
    from gert_core.documents.tree import StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.expressions import TemplateText
    from gert_core.validation.domain.shapes import Shape

_SEPARATOR: Final = r"[/.]"
_SEGMENT: Final = r"[\w-]+"
_GLOB: Final = r"[\w-]+|\*{1,2}"
_EXPRESSION: Final = r"(?s)\{\{(?:(?!\{\{).)*?\}\}"
"""A second ``{{`` ends it: searching up to the end of the text for each would take long."""
_STAND_IN: Final = "x"
_AGENT: Final = ("id", "role")


WRITTEN_IN_FEW: Final = frozenset({"for_each", "description", "principal", "scope", "visibility"})
"""The fields that ``check_fields`` is about; most steps have none of them."""


def check_fields(ctx: Context, step: StepNode, item: Shape | None, found: list[TemplateText]) -> None:
    """Check common fields of a step; their templates are added to those that are found."""
    fields = step.fields
    if fields.for_each is not None and fields.for_each.key is not None:
        templates(fields.for_each.key, path=(*step.path, "for_each", "key"), found=found)
    if fields.description is not None:
        templates(fields.description, path=(*step.path, "description"), found=found)
    if fields.principal is not None:
        _check_principal(ctx, step, item)
        templates(step.raw.get("principal"), path=(*step.path, "principal"), found=found)
    if fields.scope is not None and "scope" in step.raw:  # one of a step around it is checked there
        _check_scope(ctx, step)
        templates(fields.scope, path=(*step.path, "scope"), found=found)
    if fields.visibility is not None:
        _check_visibility(ctx, step)


def scope_segments(scope: str) -> tuple[tuple[str, ...], bool]:
    """Return the literal segments of a scope, and whether a template follows them."""
    literal, brace, _ = scope.partition("{{")
    parts = re.split(_SEPARATOR, literal)
    if brace:
        parts.pop()
    return tuple(part for part in parts if part), bool(brace)


def _check_scope(ctx: Context, step: StepNode) -> None:
    """Report a scope that is not a path of simple names."""
    scope = step.fields.scope
    if scope is None:
        return
    literal = re.sub(_EXPRESSION, _STAND_IN, scope)
    if "{{" in literal:
        return  # a template that is not closed is reported separately
    wrong = next((part for part in re.split(_SEPARATOR, literal) if not re.fullmatch(_SEGMENT, part)), None)
    if wrong is not None:
        what = f"the segment `{wrong}` is not a simple name" if wrong else "it has an empty segment"
        ctx.add(
            "scope-syntax",
            f"`{scope}` is not a valid scope: {what}",
            path=(*step.path, "scope"),
            hint="write names separated by `/`, such as `round/0`",
        )


def _check_principal(ctx: Context, step: StepNode, item: Shape | None) -> None:
    """Report a principal that is to come from the items of a loop that name none; ``item`` is their shape."""
    loop = step.fields.for_each
    if step.fields.principal != "item":
        return
    if loop is None or loop.key is None:
        hint = "add `for_each` with a `key` over maps with `id` and `role`"
        if loop is not None:
            hint = f'add `key: "{{{{ .{loop.as_}.id }}}}"` to the `for_each`'
        ctx.add(
            "for-each-shape",
            "`principal: item` needs a `for_each` with a `key`, whose items name agents",
            path=(*step.path, "principal"),
            hint=hint,
        )
    elif (lacking := _lacking(loop.over, item)) is not None:
        who, names, others = lacking
        ctx.add(
            "for-each-shape",
            f"`principal: item` needs items that name agents by `id` and `role`, and {who} no {names}",
            path=(*step.path, "principal"),
            severity=Severity.WARNING if others else None,
            hint="give every item texts `id` and `role`, or name who acts: "
            "`principal: {kind: agent, id: NAME, role: ROLE}`",
        )


def _lacking(over: object, item: Shape | None) -> tuple[str, str, bool] | None:
    """Return which items name no agent, what they lack, and whether others do; None where all may."""
    if isinstance(over, list) and over:
        held = [value if isinstance(value, dict) else {} for value in over]
        missing = [[name for name in _AGENT if not isinstance(value.get(name), str)] for value in held]
        which = [number for number, names in enumerate(missing) if names]
        if not which:
            return None
        others = len(which) < len(over)
        who = f"item {which[0]} has" if others else "they have"
        return who, _and_no(missing[which[0]]), others
    if item is None or item.kind == "any" or (item.kind == "object" and item.fields is None):
        return None
    names = [name for name in _AGENT if name not in (item.fields or {})]
    return ("they have", _and_no(names), False) if names else None


def _and_no(names: list[str]) -> str:
    return " and no ".join(f"`{name}`" for name in names)


def _check_visibility(ctx: Context, step: StepNode) -> None:
    """Report patterns that can match no variable."""
    rule = step.fields.visibility
    if rule is None:
        return
    for name, patterns in (("allow", rule.allow or ()), ("deny", rule.deny)):
        for index, pattern in enumerate(patterns):
            wrong = next((part for part in re.split(_SEPARATOR, pattern) if not re.fullmatch(_GLOB, part)), None)
            if wrong is None:
                continue
            what = f"`{wrong}` is neither a name nor `*` or `**`" if wrong else "it has an empty segment"
            hint = "`*` matches one whole segment, `**` any number of them"
            if pattern.startswith("."):
                hint = f"write it without the leading dot: `{pattern.lstrip('.')}`"
            ctx.add(
                "visibility-glob",
                f"the pattern `{pattern}` can match nothing: {what}",
                path=(*step.path, "visibility", name, index),
                hint=hint,
            )


__all__ = ["WRITTEN_IN_FEW", "check_fields", "scope_segments"]
