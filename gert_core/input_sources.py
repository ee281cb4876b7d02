"""Tell which resolver answers which inputs: bindings of ``from:``, and one batch per source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from gert_core.api import InputBinding
from gert_core.documents.limits import check_limits
from gert_core.plugin.functions import member_names
from gert_core.values import coerce, coerce_text, parse_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gert_core.api import InputResolver, Services
    from gert_core.documents.runbook import InputModel
    from gert_core.plugin.states import PluginInfo

    PluginsOf = Callable[[InputResolver], Sequence[PluginInfo]]
    ServicesFor = Callable[[InputResolver], Services]


class Batch(Struct, kw_only=True):
    """Bindings that one resolver answers in one call; ``source`` is their source in the trace."""

    resolver: InputResolver
    source: str
    bindings: list[InputBinding] = field(default_factory=list)


def coerce_any(value: object, type: str) -> object:  # noqa: A002 - the document's word
    """Coerce text from the command line, or data from files and providers."""
    return coerce_text(value, type) if isinstance(value, str) else coerce(value, type)


def has_default(model: InputModel) -> bool:
    """Return whether the document gives the input a default (``default: null`` does not count)."""
    return model.default is not None


def binding_of(name: str, model: InputModel) -> InputBinding:
    first, path = split_source(str(model.from_))
    del first

    def check(value: object) -> object:
        try:
            coerced = coerce_any(value, model.type)
        except ValueError as error:
            raise ValueError(f"the value is not of type {model.type}" if model.secret else str(error)) from None
        check_limits(model, coerced)
        return coerced

    return InputBinding(
        name=name,
        source=str(model.from_),
        path=path,
        type=model.type,
        default=model.default,
        has_default=has_default(model),
        required=bool(model.required),
        description=model.description or "",
        secret=bool(model.secret),
        check=check,
        parse=parse_data,
        choices=() if model.secret else tuple(model.enum or ()),
    )


def split_source(source: str) -> tuple[str, str]:
    """Split ``from:`` into first word and path; in ``cmdb.server.name`` the path keeps the first word."""
    slash, dot = source.find("/"), source.find(".")
    if slash >= 0 and (dot < 0 or slash < dot):
        return source[:slash], source[slash + 1 :]
    if dot >= 0:
        return source[:dot], source
    return source, ""


def member_words(resolvers: Mapping[str, InputResolver], services: ServicesFor, plugins: PluginsOf) -> dict[str, str]:
    """Return the further first words of resolvers that have members: ``{"cmdb": "provider"}``."""
    words: dict[str, str] = {}
    for prefix, resolver in resolvers.items():
        for word in member_names(resolver, services(resolver).project, plugins(resolver)):
            words.setdefault(word, prefix)
    return words


def batches_of(
    bindings: Iterable[InputBinding], resolvers: Mapping[str, InputResolver], members: Mapping[str, str]
) -> Sequence[Batch]:
    """Return one batch per source, interactive ones last; bindings without a resolver are left open."""
    batches: dict[str, Batch] = {}
    for binding in bindings:
        word, path = split_source(binding.source)
        resolver = resolvers.get(word)
        if resolver is None and word in members:
            resolver = resolvers[members[word]]
        if resolver is None:
            continue
        source = resolver.name
        if resolver.names is not None:
            member = path.split(".", 1)[0]
            if member not in members:
                continue
            source = f"{resolver.name}/{member}"
        batches.setdefault(source, Batch(resolver=resolver, source=source)).bindings.append(binding)
    return sorted(batches.values(), key=lambda batch: batch.resolver.interactive)


def unreachable_inputs(
    declared: Mapping[str, InputModel], resolvers: Mapping[str, InputResolver], members: Mapping[str, str]
) -> frozenset[str]:
    """Return the inputs whose ``from:`` has no resolver."""
    bindings = [binding_of(name, model) for name, model in declared.items() if model.from_]
    reached = {b.name for batch in batches_of(bindings, resolvers, members) for b in batch.bindings}
    return frozenset(binding.name for binding in bindings) - reached


__all__ = [
    "Batch",
    "batches_of",
    "binding_of",
    "coerce_any",
    "has_default",
    "member_words",
    "split_source",
    "unreachable_inputs",
]
