"""Check a runbook's head: sources and defaults of inputs, secrets, governance, outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.documents.limits import check_limits, choices, contradictions, has_limits
from gert_core.plugin.functions import member_names
from gert_core.plugin.kinds import INPUT
from gert_core.validation.domain.governance import check_rules
from gert_core.validation.domain.report import listing
from gert_core.validation.domain.secrets import check_secrets
from gert_core.validation.domain.shapes import type_hint
from gert_core.values import coerce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import InputResolver
    from gert_core.documents.runbook import InputModel
    from gert_core.validation.domain.context import Context


def check_head(ctx: Context) -> None:
    """Report findings about ``meta``."""
    meta, document = ctx.runbook.model.meta, ctx.runbook.document
    words: set[str] | None = None
    for name, declared in meta.inputs.items():
        if declared.from_ is not None:
            words = _first_words(ctx) if words is None else words
            _source(ctx, name, declared.from_, words)
        if has_limits(declared):
            _limits(ctx, name, declared)
        _default(ctx, name, declared)
    if meta.governance is not None:
        check_rules(ctx.report, document, meta.governance.rules, base=("meta", "governance", "rules"))
    check_secrets(ctx.report, document, meta.secrets, base=("meta", "secrets"), who="the runbook", environ=ctx.environ)
    if meta.on_outcome:
        from gert_core.validation.domain.told import check_told

        check_told(ctx.report, document, {"meta": {"on_outcome": meta.on_outcome}}, ctx.registry)


def _first_words(ctx: Context) -> set[str]:
    """Return the words ``from`` may begin with: resolvers, and the members they have in this project."""
    words: set[str] = set()
    for prefix, resolver in ctx.registry.input_resolvers().items():
        words.add(prefix)
        words.update(_members(ctx, resolver))
    return words


def _members(ctx: Context, resolver: InputResolver) -> Sequence[str]:
    """Return the members of a resolver in this project."""
    registry, name = ctx.registry, resolver.name
    return member_names(resolver, registry.project_info(INPUT, name, ctx.project), registry.providers(INPUT, name))


def _source(ctx: Context, name: str, source: str, words: set[str]) -> None:
    """Check a ``from``: ``prefix/rest``, ``member.rest`` or only a prefix; a prefix with members needs one of them."""
    slash, dot = source.find("/"), source.find(".")
    ends = [at for at in (slash, dot) if at >= 0]
    word = source[: min(ends)] if ends else source
    path = ("meta", "inputs", name, "from")
    if word not in words:
        near = ctx.report.did_you_mean(word, words) or f"known sources: {listing(sorted(words)) or 'none'}"
        ctx.add(
            "provider-unknown",
            f"input `{name}` comes from `{source}`, and `{word}` is not a known source",
            path=path,
            hint=f"{near}; {ctx.registry.provider_hint(INPUT, word)}",
        )
        return
    resolver = ctx.registry.input_resolvers().get(word)
    if resolver is None or resolver.names is None:
        return
    members = _members(ctx, resolver)
    member = source[len(word) + 1 :].split(".", 1)[0]
    if member not in members:
        ctx.add(
            "provider-unknown",
            f"input `{name}` comes from `{source}`, and the project configures no provider `{member}`",
            path=path,
            hint=ctx.report.did_you_mean(member, members)
            or f"add `{member or 'NAME'}` under `providers` in the project file",
        )


def _default(ctx: Context, name: str, declared: InputModel) -> None:
    if declared.default is None:
        return
    try:
        value = coerce(declared.default, declared.type)
    except ValueError as error:
        why = "" if declared.secret else f": {error}"
        ctx.add(
            "input-type",
            f"the default of input `{name}` does not fit its type {declared.type}{why}",
            path=("meta", "inputs", name, "default"),
            hint=type_hint(declared.type),
        )
        return
    if not any(contradictions(declared)):
        try:
            check_limits(declared, value)
        except ValueError as error:
            ctx.add(
                "input-type",
                f"the default of input `{name}` is not accepted: {error}",
                path=("meta", "inputs", name, "default"),
                hint=f"write one of {known}" if (known := choices(declared)) else "change the default, or the limit",
            )


def _limits(ctx: Context, name: str, declared: InputModel) -> None:
    """Report limits that contradict the type or each other."""
    path = ("meta", "inputs", name)
    found = list(contradictions(declared))
    for place, message, hint in found:
        ctx.add("input-type", f"input `{name}`: {message}", path=(*path, *place), hint=hint)
    if found or declared.type not in ("string", "int", "float"):
        return
    for index, value in enumerate(declared.enum or ()):
        try:
            coerce(value, declared.type)
        except ValueError as error:
            why = f"the value is not of type {declared.type}" if declared.secret else str(error)
            message, place = f"input `{name}`: {why}", (*path, "enum", index)
            ctx.add("input-type", message, path=place, hint=type_hint(declared.type))


__all__ = ["check_head"]
