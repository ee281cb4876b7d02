"""Check ``for_each``: what it iterates over, and the shapes of the loop variable and of one result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.template import MappingVariables, TemplateError, compile_value, infer, to_text
from gert_core.validation.domain.environment import Entry
from gert_core.validation.domain.expressions import TemplateText, templates
from gert_core.validation.domain.references import OF_STEPS
from gert_core.validation.domain.shapes import ANY, Shape, collection, declared_shape, mapped, of_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.parts import ForEachModel
    from gert_core.documents.tree import StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import FactTable
    from gert_core.validation.domain.references import References

_MANY: Final = 64
"""The keys of longer lists are not looked at."""
_SIMPLE: Final = r"[A-Za-z0-9_-]+"


def check_for_each(ctx: Context, refs: References, step: StepNode) -> Shape:
    """Check ``over`` and ``max_parallel``; return the shape of one item."""
    loop = step.fields.for_each
    if loop is None:
        return ANY
    found: list[TemplateText] = []
    templates(loop.over, path=(*step.path, "for_each", "over"), found=found)
    templates(loop.max_parallel, path=(*step.path, "for_each", "max_parallel"), found=found)
    if found:
        refs.check(found)
    _key(ctx, refs, step)
    if not isinstance(loop.over, str):
        return item_of(of_value(loop.over))
    compiled = refs.compiled(loop.over)
    if compiled.error is not None:
        return ANY
    kind = infer(compiled.template, refs.kind)
    if kind not in ("list", "object", "any"):
        ctx.add(
            "for-each-shape",
            f"`over` gives a value of type {kind}; a loop iterates over a list or a map",
            path=(*step.path, "for_each", "over"),
            hint="use `split`, or make the value a list",
        )
        return ANY
    only = compiled.references[0] if len(compiled.references) == 1 else None
    if only is not None and only.source.lstrip(".") == ".".join(only.path):
        shape = refs.find(only.path)
        return item_of(shape) if isinstance(shape, Shape) else ANY
    return ANY


def _key(ctx: Context, refs: References, step: StepNode) -> None:
    """Report a ``key`` that does not depend on the item: it is the same for all of them, and keys must differ."""
    loop = step.fields.for_each
    if loop is None or loop.key is None or (isinstance(loop.over, list) and len(loop.over) <= 1):
        return
    compiled = refs.compiled(loop.key)
    if compiled.error is not None or any(found.path[0] == loop.as_ for found in compiled.references):
        return
    ctx.add(
        "for-each-shape",
        f"the key `{loop.key}` is the same for every item: it does not use `.{loop.as_}`",
        path=(*step.path, "for_each", "key"),
        hint=f'write a template, such as `key: "{{{{ .{loop.as_} }}}}"`, or leave `key` out to get a list',
    )


def known_keys(loop: ForEachModel) -> list[str] | None:
    """Return the keys of all items, or their numbers; None where runs alone tell, or where one needs quotes."""
    if not isinstance(loop.over, list) or not 0 < len(loop.over) <= _MANY:
        return None
    if loop.key is None:
        return [str(number) for number in range(len(loop.over))]
    try:
        template = compile_value(loop.key)
        asked = all(found.path[0] == loop.as_ for found in template.references())
        if not asked or not compile_value(loop.over).static:
            return None
        keys = [to_text(template.render(MappingVariables({loop.as_: value}))) for value in loop.over]
    except TemplateError:
        return None
    return keys if all(re.fullmatch(_SIMPLE, key) for key in keys) else None


def item_of(shape: Shape) -> Shape:
    """Return the shape of the loop variable in a loop over ``shape``."""
    if shape.kind == "list":
        return shape.item or ANY
    if shape.kind == "object":
        return Shape("object", fields={"key": declared_shape("string"), "value": shape.item or ANY})
    return ANY


def members_of(step: StepNode, changed: Mapping[object, Entry], facts: FactTable, *, depth: int) -> dict[str, Entry]:
    """Return what is readable of one item of a loop over blocks: the names that its steps set, and the steps.

    Values from outside the loop, which has ``depth`` loops around it, do not belong to an item.
    """
    loop = step.fields.for_each
    own = {step.type.name, loop.as_ if loop is not None else ""}
    found: dict[str, Entry] = {}
    for key, entry in changed.items():
        if isinstance(key, str) and key not in own:
            setters = tuple(one for one in entry.steps() if one.path[: len(step.path)] == step.path)
            holds = entry.holds if entry.holds > depth + 1 else 0
            found[key] = Entry(entry.shape, setters, sure=entry.sure, stays=entry.stays, holds=holds)
    for inner in step.inside():
        if inner.id not in found:  # it is not on the paths that go on, but has a status
            found[inner.id] = Entry(facts.of(inner).shape, inner, sure=False)
    return found


def result_of(step: StepNode, members: Mapping[str, Entry], facts: FactTable) -> Shape:
    """Return the shape of one result of a loop over blocks: the names in it, and the steps that are read beside it."""
    inside = [inner.id for inner in step.inside()]
    beside = {**facts.of(step).beside, **{name: members[name].shape for name in inside}}
    names = {name: entry.shape for name, entry in members.items() if name not in inside}
    return Shape("object", fields=names, beside=beside)


def results_of(step: StepNode, item: Shape, keys: Sequence[str] | None) -> Shape:
    """Return the shape of the results of a loop: of a keyed one whose ``keys`` are known there are no others."""
    if keys is None:
        return collection(item, keyed=step.fields.for_each is not None and step.fields.for_each.key is not None)
    return mapped(item, keys, beside=(*OF_STEPS, *step.type.fields))


__all__ = ["check_for_each", "item_of", "known_keys", "members_of", "result_of", "results_of"]
