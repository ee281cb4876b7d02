"""Resolve the inputs of a run: command line, file, resolvers, default, or an error."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gert_core.api import GertError, InputError
from gert_core.api.giving import FILE, GIVEN, Giving
from gert_core.documents.limits import check_limits, has_limits
from gert_core.documents.undeclared import refuse_undeclared
from gert_core.input_sources import (
    batches_of,
    binding_of,
    coerce_any,
    has_default,
    member_words,
    split_source,
    unreachable_inputs,
)
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.functions import cause, named
from gert_core.plugin.lazy import load_target
from gert_core.plugin.printing import aside
from gert_core.template import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.api import Deadline, InputBinding, InputResolver, Services
    from gert_core.documents.runbook import InputModel
    from gert_core.input_sources import Batch, PluginsOf, ServicesFor
    from gert_core.plugin.states import PluginInfo


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
    secrets: dict[str, list[object]] | None = None,
) -> ResolvedInputs:
    """Resolve the values of all declared inputs.

    Order: ``host_vars`` (``--var``), ``file_vars`` (``--input``), the source in ``from:`` (interactive ones last),
    default, null. A ``scenario`` replaces files and resolvers. ``services`` returns what a resolver is called with,
    ``plugins`` the plugin that provides it. Without ``ask`` no resolver is called: what it would answer is a symbol.
    One ``InputError`` names everything that is missing or invalid. ``place`` gives file and line of a declaration,
    ``giving`` the words of the surface. Everything given for secret inputs is put into ``secrets`` as soon as it is
    known, so that the caller can mask it in errors.
    """
    giving = giving or Giving()
    secrets = {} if secrets is None else secrets
    for given in (host_vars, file_vars or {}, scenario or {}):
        for name in declared.keys() & given.keys():
            if declared[name].secret:
                secrets.setdefault(name, []).append(given[name])
    refuse_undeclared(host_vars, declared, giving=giving)
    refuse_undeclared(file_vars or {}, declared, giving=FILE)
    members = member_words(resolvers, services, plugins) if any(model.from_ for model in declared.values()) else {}
    work = _Resolution(declared, giving, place, secrets)
    work.take_all(host_vars, source=GIVEN)
    if scenario is not None:
        work.take_all({n: v for n, v in scenario.items() if n in declared}, source="scenario")
    else:
        work.take_all(file_vars or {}, source="file")
        for batch in batches_of(work.open_bindings(), resolvers, members):
            if not ask:
                work.leave_open(batch)
                continue
            if batch.resolver.interactive and work.errors:
                break  # no questions for a run that cannot start
            owners = plugins(batch.resolver)
            work.call_resolver(batch, services=services(batch.resolver), deadline=deadline, plugins=owners)
    return work.finish(resolvers=resolvers, members=members)


class _Resolution:
    """The state of resolving: values and sources so far, and the errors."""

    def __init__(
        self,
        declared: Mapping[str, InputModel],
        giving: Giving,
        place: Callable[[str], str] | None,
        secrets: dict[str, list[object]],
    ) -> None:
        self.declared = declared
        self.secrets = secrets
        self.giving = giving
        self.place = place
        self.values: dict[str, object] = {}
        self.sources: dict[str, str] = {}
        self.errors: list[Callable[[], str]] = []
        """Written when all values are known: one may be in an error about another."""
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
        except ValueError:
            told = f" from {model.from_}" if name in self.asked else self.giving.source(source)
            self.add_error(name, partial(self._wrong_type, name, model, value, told))
            return
        if coerced is not None and has_limits(model):
            try:
                check_limits(model, coerced)
            except ValueError:
                self.add_error(name, partial(self._outside, name, model, coerced, self.giving.source(source)))
                return
        self.values[name] = coerced
        self.sources[name] = source

    def _outside(self, name: str, model: InputModel, value: object, told: str) -> str:
        """Return the message about a value outside of the limits, with the place of the declaration."""
        why = "its value is secret and not shown" if model.secret else _refusal(check_limits, model, value)
        return f"the input {name!r}{told} is not accepted: {why}{self._declared(name)}"

    def _wrong_type(self, name: str, model: InputModel, value: object, told: str) -> str:
        """Return the message about a value of another type, with its source and the place of the declaration."""
        refusal = "" if model.secret else _refusal(coerce_any, value, model.type)
        why = f": {refusal}" if refusal else "; its value is secret and not shown"
        return f"the input {name!r}{told} must be {model.type}{why}{self._declared(name)}"

    def _declared(self, name: str) -> str:
        return f" (declared at {self.place(name)})" if self.place is not None else ""

    def add_error(self, name: str, message: Callable[[], str]) -> None:
        self.errors.append(message)
        self.kinds.add(InputError.default_kind)
        self.failed.add(name)

    def open_bindings(self) -> list[InputBinding]:
        return [
            binding_of(name, model)
            for name, model in self.declared.items()
            if model.from_ and name not in self.sources and name not in self.failed
        ]

    def leave_open(self, batch: Batch) -> None:
        """Keep a symbol for each value of a batch, known only in a real run."""
        for binding in batch.bindings:
            self.values[binding.name] = Symbol(f"{{{{ .{binding.name} }}}}")
            self.sources[binding.name] = batch.source

    def call_resolver(
        self, batch: Batch, *, services: Services, deadline: Deadline, plugins: Sequence[PluginInfo]
    ) -> None:
        """Call one resolver with its batch; bindings without an answer stay open."""
        answer = _call(batch, services=services, deadline=deadline, plugins=plugins)
        if isinstance(answer, GertError):
            self.errors.append(partial(str, answer.message))
            self.kinds.add(answer.kind)
            self.failed.update(binding.name for binding in batch.bindings)
            if answer.hint and answer.hint not in self.hints:
                self.hints.append(answer.hint)
            return
        self.asked.update(name for name, value in answer.items() if value is not None)
        for binding in batch.bindings:
            if answer.get(binding.name) is not None:
                if binding.secret:
                    self.secrets.setdefault(binding.name, []).append(answer[binding.name])
                self.take(binding.name, answer[binding.name], source=batch.source)

    def finish(self, *, resolvers: Mapping[str, InputResolver], members: Mapping[str, str]) -> ResolvedInputs:
        """Add defaults and nulls for open inputs; raise one error for everything missing or invalid."""
        unreachable = unreachable_inputs(self.declared, resolvers, members)
        given = set(self.failed)  # their values are not accepted, however they are given
        for name, model in self.declared.items():
            if name in self.sources or name in self.failed:
                continue
            if has_default(model):
                self.take(name, model.default, source="default")
            elif model.required:
                self.add_error(name, partial(_missing, name, model, unreachable))
            else:
                self.values[name], self.sources[name] = None, "none"
        for name, model in self.declared.items():
            if model.required and name in self.sources and self.values[name] is None:
                self.add_error(name, partial(_missing, name, model, unreachable))
        if self.errors:
            raise InputError(
                "; ".join(error() for error in self.errors),
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


def _call(
    batch: Batch, *, services: Services, deadline: Deadline, plugins: Sequence[PluginInfo]
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


def _refusal(check: Callable[..., object], *values: object) -> str:
    """Return why a check refuses values, in words of now."""
    try:
        check(*values)
    except ValueError as error:
        return str(error)
    return "it was refused"  # what a check refuses once, it always does


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
