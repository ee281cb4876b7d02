"""Resolve the inputs of a run: command line, file, resolvers, default, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from gert_core.api import GertError, InputBinding, InputError
from gert_core.api.giving import FILE, GIVEN, Giving
from gert_core.documents.limits import check_limits, has_limits
from gert_core.documents.undeclared import refuse_undeclared
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.functions import cause, member_names, named
from gert_core.plugin.lazy import load_target
from gert_core.plugin.printing import aside
from gert_core.template import Symbol
from gert_core.values import coerce, coerce_text, parse_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gert_core.api import Deadline, InputResolver, Services
    from gert_core.documents.runbook import InputModel
    from gert_core.plugin.states import PluginInfo

    PluginsOf = Callable[[InputResolver], Sequence[PluginInfo]]
    ServicesFor = Callable[[InputResolver], Services]


class ResolvedInputs(Struct, frozen=True, kw_only=True):
    """Every declared input with its value and its source.

    ``events`` are the data of one ``input_resolved`` event per input, in document order; they leave out the
    value of a secret input. ``secrets`` are those values, for the masker.
    """

    values: Mapping[str, object]
    sources: Mapping[str, str]
    events: tuple[Mapping[str, object], ...]
    secrets: Mapping[str, object] = field(default_factory=dict)


def resolve_inputs(
    declared: Mapping[str, InputModel],
    *,
    host_vars: Mapping[str, object],
    resolvers: Mapping[str, InputResolver],
    services: ServicesFor,
    deadline: Deadline,
    plugins: PluginsOf = lambda resolver: (),
    scenario: Mapping[str, object] | None = None,
    file_vars: Mapping[str, object] | None = None,
    ask: bool = True,
    place: Callable[[str], str] | None = None,
    giving: Giving | None = None,
) -> ResolvedInputs:
    """Resolve the values of all declared inputs.

    Order: ``host_vars`` (``--var``), ``file_vars`` (``--input``), the source in ``from:`` (interactive ones last),
    default, null. A ``scenario`` replaces files and resolvers. ``services`` returns what a resolver is called with,
    ``plugins`` the plugin that provides it. Without ``ask`` no resolver is called: what it would answer is a symbol.
    One ``InputError`` names everything that is missing or invalid. ``place`` gives file and line of a declaration,
    ``giving`` the words of the surface.
    """
    giving = giving or Giving()
    refuse_undeclared(host_vars, declared, giving=giving)
    refuse_undeclared(file_vars or {}, declared, giving=FILE)
    members = _member_words(resolvers, services, plugins) if any(model.from_ for model in declared.values()) else {}
    work = _Resolution(declared, giving, place)
    work.take_all(host_vars, source=GIVEN)
    if scenario is not None:
        work.take_all({n: v for n, v in scenario.items() if n in declared}, source="scenario")
    else:
        work.take_all(file_vars or {}, source="file")
        for batch in _batches(work.open_bindings(), resolvers, members):
            if not ask:
                work.leave_open(batch)
                continue
            if batch.resolver.interactive and work.errors:
                break  # no questions for a run that cannot start
            owners = plugins(batch.resolver)
            work.call_resolver(batch, services=services(batch.resolver), deadline=deadline, plugins=owners)
    return work.finish(resolvers=resolvers, members=members)


class _Batch(Struct, kw_only=True):
    """Bindings that one resolver answers in one call; ``source`` is their source in the trace."""

    resolver: InputResolver
    source: str
    bindings: list[InputBinding] = field(default_factory=list)


class _Resolution:
    """The state of resolving: values and sources so far, and the errors."""

    def __init__(
        self, declared: Mapping[str, InputModel], giving: Giving, place: Callable[[str], str] | None = None
    ) -> None:
        self.declared = declared
        self.giving = giving
        self.place = place
        self.values: dict[str, object] = {}
        self.sources: dict[str, str] = {}
        self.errors: list[str] = []
        self.failed: set[str] = set()
        self.asked: set[str] = set()
        """Inputs whose source gave a value."""
        self.hints: list[str] = []
        self.kinds: set[str] = set()

    def take_all(self, given: Mapping[str, object], *, source: str) -> None:
        for name, value in given.items():
            if name not in self.sources:
                self.take(name, value, source=source)

    def take(self, name: str, value: object, *, source: str) -> None:
        """Coerce and keep a value; null counts as given and is kept for an optional input."""
        model = self.declared[name]
        try:
            coerced = None if value is None else coerce_any(value, model.type)
        except ValueError as error:
            self.add_error(name, self._wrong_type(name, model, error, source=source))
            return
        if coerced is not None and has_limits(model):
            try:
                check_limits(model, coerced)
            except ValueError as error:
                self.add_error(name, self._outside(name, model, error, source=source))
                return
        self.values[name] = coerced
        self.sources[name] = source

    def _outside(self, name: str, model: InputModel, error: ValueError, *, source: str) -> str:
        """Return the message about a value outside of the limits, with the place of the declaration."""
        why = "its value is secret and not shown" if model.secret else str(error)
        return f"the input {name!r}{self.giving.source(source)} is not accepted: {why}{self._declared(name)}"

    def _wrong_type(self, name: str, model: InputModel, error: ValueError, *, source: str) -> str:
        """Return the message about a value of another type, with its source and the place of the declaration."""
        told = f" from {model.from_}" if name in self.asked else self.giving.source(source)
        why = "; its value is secret and not shown" if model.secret else f": {error}"
        return f"the input {name!r}{told} must be {model.type}{why}{self._declared(name)}"

    def _declared(self, name: str) -> str:
        return f" (declared at {self.place(name)})" if self.place is not None else ""

    def add_error(self, name: str, message: str) -> None:
        self.errors.append(message)
        self.kinds.add(InputError.default_kind)
        self.failed.add(name)

    def open_bindings(self) -> list[InputBinding]:
        return [
            _binding(name, model)
            for name, model in self.declared.items()
            if model.from_ and name not in self.sources and name not in self.failed
        ]

    def leave_open(self, batch: _Batch) -> None:
        """Keep a symbol for each value of a batch, known only in a real run."""
        for binding in batch.bindings:
            self.values[binding.name] = Symbol(f"{{{{ .{binding.name} }}}}")
            self.sources[binding.name] = batch.source

    def call_resolver(
        self, batch: _Batch, *, services: Services, deadline: Deadline, plugins: Sequence[PluginInfo]
    ) -> None:
        """Call one resolver with its batch; bindings without an answer stay open."""
        answer = _call(batch, services=services, deadline=deadline, plugins=plugins)
        if isinstance(answer, GertError):
            self.errors.append(answer.message)
            self.kinds.add(answer.kind)
            self.failed.update(binding.name for binding in batch.bindings)
            if answer.hint and answer.hint not in self.hints:
                self.hints.append(answer.hint)
            return
        self.asked.update(name for name, value in answer.items() if value is not None)
        for binding in batch.bindings:
            if answer.get(binding.name) is not None:
                self.take(binding.name, answer[binding.name], source=batch.source)

    def finish(self, *, resolvers: Mapping[str, InputResolver], members: Mapping[str, str]) -> ResolvedInputs:
        """Add defaults and nulls for open inputs; raise one error for everything missing or invalid."""
        unreachable = _unreachable(self.declared, resolvers, members)
        given = set(self.failed)  # their values are not accepted, however they are given
        for name, model in self.declared.items():
            if name in self.sources or name in self.failed:
                continue
            if has_default(model):
                self.take(name, model.default, source="default")
            elif model.required:
                self.add_error(name, _missing(name, model, unreachable))
            else:
                self.values[name], self.sources[name] = None, "none"
        for name, model in self.declared.items():
            if model.required and name in self.sources and self.values[name] is None:
                self.add_error(name, _missing(name, model, unreachable))
        if self.errors:
            raise InputError(
                "; ".join(self.errors),
                kind=self.kinds.pop() if len(self.kinds) == 1 else None,
                hint="; ".join(self.hints) or (self.giving.hint if self.failed - given else None),
            )
        order = list(self.declared)
        return ResolvedInputs(
            values={name: self.values[name] for name in order},
            sources={name: self.sources[name] for name in order},
            events=tuple(self._event(name) for name in order),
            secrets={
                name: self.values[name]
                for name in order
                if self.declared[name].secret and not isinstance(self.values[name], Symbol | None)
            },
        )

    def _event(self, name: str) -> dict[str, object]:
        model = self.declared[name]
        event: dict[str, object] = {"input": name, "source": self.sources[name]}
        if model.from_:
            event["from"] = model.from_
        return event | ({"secret": True} if model.secret else {"value": self.values[name]})


def coerce_any(value: object, type: str) -> object:  # noqa: A002 - the document's word
    """Coerce text from the command line, or data from files and providers."""
    return coerce_text(value, type) if isinstance(value, str) else coerce(value, type)


def has_default(model: InputModel) -> bool:
    """Return whether the document gives the input a default (``default: null`` does not count)."""
    return model.default is not None


def _binding(name: str, model: InputModel) -> InputBinding:
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


def _member_words(resolvers: Mapping[str, InputResolver], services: ServicesFor, plugins: PluginsOf) -> dict[str, str]:
    """Return the further first words of resolvers that have members: ``{"cmdb": "provider"}``."""
    words: dict[str, str] = {}
    for prefix, resolver in resolvers.items():
        for word in member_names(resolver, services(resolver).project, plugins(resolver)):
            words.setdefault(word, prefix)
    return words


def _batches(
    bindings: Iterable[InputBinding], resolvers: Mapping[str, InputResolver], members: Mapping[str, str]
) -> Sequence[_Batch]:
    """Return one batch per source, interactive ones last; bindings without a resolver are left open."""
    batches: dict[str, _Batch] = {}
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
        batches.setdefault(source, _Batch(resolver=resolver, source=source)).bindings.append(binding)
    return sorted(batches.values(), key=lambda batch: batch.resolver.interactive)


def _call(
    batch: _Batch, *, services: Services, deadline: Deadline, plugins: Sequence[PluginInfo]
) -> Mapping[str, object] | GertError:
    names = ", ".join(repr(binding.name) for binding in batch.bindings)
    try:
        with aside():
            answer = load_target(batch.resolver.resolve)(batch.bindings, deadline, services)
    except GertError as error:
        return error
    except BaseException as error:
        pass_on(error)
        fault = f"{cause(plugins, error)} in {named(plugins)}"
        return InputError(f"the source {batch.source!r} failed for the input {names}: {fault}")
    if not hasattr(answer, "get"):
        wrong = f"did not return a map of values for the input {names}; it is provided by {named(plugins)}"
        return InputError(f"the source {batch.source!r} {wrong}")
    return dict(answer)


def _unreachable(
    declared: Mapping[str, InputModel], resolvers: Mapping[str, InputResolver], members: Mapping[str, str]
) -> frozenset[str]:
    """Return the inputs whose ``from:`` has no resolver."""
    bindings = [_binding(name, model) for name, model in declared.items() if model.from_]
    reached = {b.name for batch in _batches(bindings, resolvers, members) for b in batch.bindings}
    return frozenset(binding.name for binding in bindings) - reached


def _missing(name: str, model: InputModel, unreachable: frozenset[str]) -> str:
    text = f"the required input {name!r} ({model.type}) has no value"
    if model.description:
        text += f" ({model.description.strip().rstrip('.')})"
    if model.from_:
        text += f"; its source is {model.from_!r}"
        if name in unreachable:
            text += ", which no installed plugin or configured provider serves"
    return text


__all__ = ["ResolvedInputs", "coerce_any", "has_default", "refuse_undeclared", "resolve_inputs", "split_source"]
