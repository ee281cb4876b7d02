"""Restore the inputs and constants of a recorded run, secrets included."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, InputError, RunError, UsageError
from gert_core.api.giving import FILE
from gert_core.documents.limits import declared_at
from gert_core.engine.cancel import Deadline
from gert_core.inputs import ResolvedInputs, coerce_any, refuse_undeclared, resolve_inputs
from gert_core.plugin.kinds import INPUT
from gert_core.runs.again import GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.documents.runbook import InputModel
    from gert_core.documents.tree import Runbook
    from gert_core.engine.request import Request
    from gert_core.plugin.config import PluginServices
    from gert_core.runs.state import RunState
    from gert_core.secrets import Masker, Secrets


def recorded_values(
    request: Request, state: RunState, runbook: Runbook, secrets: Secrets, plugins: PluginServices
) -> tuple[ResolvedInputs, Mapping[str, object], Masker]:
    """Return inputs, constants and masker: secrets from the environment again, secret inputs from their sources.

    Secret inputs that were given with the command must be given again.
    """
    declared = runbook.model.meta.inputs
    for name in request.host_vars:
        if name not in declared or not declared[name].secret:
            raise UsageError(f"{request.giving.told(name)}, but a resumed run takes only its secret inputs again")
    refuse_undeclared(request.file_vars, declared, giving=FILE)
    facts = state.facts
    _refuse_unasked(state, declared)
    masker = secrets.masker(_secret_inputs(request, state, declared, plugins, partial(declared_at, runbook)))
    inputs, constants = (masker.unmask(facts.get(name) or {}) for name in ("inputs", "constants"))
    _refuse_changes(request.file_vars, inputs, declared)
    return ResolvedInputs(values=inputs, sources=facts.get("input_sources") or {}, events=()), constants, masker


def values_as_written(state: RunState, secrets: Secrets) -> tuple[ResolvedInputs, Mapping[str, object], Masker]:
    """Return inputs, constants and masker of a run that does not go on: nothing is asked, and masks stay in place."""
    facts = state.facts
    inputs = ResolvedInputs(values=facts.get("inputs") or {}, sources=facts.get("input_sources") or {}, events=())
    return inputs, facts.get("constants") or {}, secrets.masker()


def _refuse_unasked(state: RunState, declared: Mapping[str, InputModel]) -> None:
    """Refuse a run that was denied at its start, before it asked for its inputs: its steps have no values."""
    unasked = [name for name in declared if name not in (state.facts.get("inputs") or {})]
    records = (*state.steps.values(), *state.void.values())
    if unasked and all(record.reason == ErrorKind.GOVERNANCE_DENIED for record in records):
        several = len(unasked) > 1
        raise RunError(
            f"run {state.run_id} was denied before its input{'s' if several else ''} {', '.join(unasked)} "
            f"{'were' if several else 'was'} asked for",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="start a new run",
        )


def _secret_inputs(
    request: Request,
    state: RunState,
    declared: Mapping[str, InputModel],
    plugins: PluginServices,
    place: Callable[[str], str],
) -> dict[str, object]:
    """Return the secret inputs by name: as given now, else from where the run had them."""
    recorded, sources = state.facts.get("inputs") or {}, state.facts.get("input_sources") or {}
    secret = {name: model for name, model in declared.items() if model.secret}
    given = request.host_vars.keys() | (request.file_vars.keys() & secret.keys())
    needed = [name for name in secret if name not in given and recorded.get(name) is not None]
    values: dict[str, object] = {
        name: coerce_any(secret[name].default, secret[name].type) for name in needed if sources.get(name) == "default"
    }
    ask = [name for name in needed if name not in values]
    named = state.run_id if request.resume is None else f"{state.run_id}{request.resume.run.stored.option}"
    _refuse_missing([n for n in ask if secret[n].from_ is None or sources.get(n) in GIVEN], named)
    resolved = resolve_inputs(
        {name: model for name, model in secret.items() if name in given or name in ask},
        host_vars=request.host_vars,
        file_vars={name: value for name, value in request.file_vars.items() if name in secret},
        resolvers=request.registry.input_resolvers(),
        services=lambda resolver: plugins.of(INPUT, resolver.name),
        deadline=Deadline(request.stop),
        plugins=lambda resolver: request.registry.providers(INPUT, resolver.name),
        place=place,
        giving=request.giving,
    )
    # A default in place of what the source had would be another secret.
    _refuse_missing([name for name in ask if resolved.sources[name] != sources.get(name)], named)
    return {**values, **resolved.secrets}


def _refuse_missing(names: Sequence[str], run: str) -> None:
    if names:
        raise InputError(
            f"the secret input{'s' if len(names) > 1 else ''} {', '.join(names)} must be given again: "
            "secrets are not kept in the trace",
            kind=ErrorKind.SECRET_MISSING,
            hint=f"gert resume --run {run} {' '.join(f'--var {name}=…' for name in names)}",
        )


def _refuse_changes(
    given: Mapping[str, object], inputs: Mapping[str, object], declared: Mapping[str, InputModel]
) -> None:
    """Refuse a file that has other values than the run; a file with all inputs of the run is fine."""
    for name, value in given.items():
        try:
            same = declared[name].secret or coerce_any(value, declared[name].type) == inputs.get(name)
        except ValueError:
            same = False
        if not same:
            raise UsageError(
                f"--input gives {name!r} another value than the run has",
                hint="a resumed run keeps its inputs; start a new run to change them",
            )


__all__ = ["recorded_values", "values_as_written"]
