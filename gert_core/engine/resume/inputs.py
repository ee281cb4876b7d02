"""Puts the inputs and constants of a recorded run back, secrets included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, InputError, UsageError
from gert_core.inputs import ResolvedInputs
from gert_core.values import coerce_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.runbook import InputModel
    from gert_core.documents.tree import Runbook
    from gert_core.engine.request import Request
    from gert_core.runs.state import RunState
    from gert_core.secrets import Masker, Secrets


def recorded_values(
    request: Request, state: RunState, runbook: Runbook, secrets: Secrets
) -> tuple[ResolvedInputs, Mapping[str, object], Masker]:
    """Return inputs, constants and masker: secrets from the environment again, secret inputs as given again."""
    facts = state.facts
    masker = secrets.masker(_secret_inputs(request, state, runbook.model.meta.inputs))
    inputs, constants = (masker.unmask(facts.get(name) or {}) for name in ("inputs", "constants"))
    return ResolvedInputs(values=inputs, sources=facts.get("input_sources") or {}, events=()), constants, masker


def _secret_inputs(request: Request, state: RunState, declared: Mapping[str, InputModel]) -> dict[str, object]:
    given: dict[str, object] = {}
    for name, value in request.host_vars.items():
        if name not in declared or not declared[name].secret:
            raise UsageError(f"--var gives {name!r}, but a resumed run takes only its secret inputs again")
        try:
            given[name] = coerce_text(value, declared[name].type) if isinstance(value, str) else value
        except ValueError:
            raise InputError(
                f"the input {name!r} must be {declared[name].type}; its value is secret and not shown"
            ) from None
    recorded = state.facts.get("inputs") or {}
    missing = [n for n, m in declared.items() if m.secret and n not in given and recorded.get(n) is not None]
    if missing:
        raise InputError(
            f"the secret input{'s' if len(missing) > 1 else ''} {', '.join(missing)} must be given again: "
            "secrets are not kept in the trace",
            kind=ErrorKind.SECRET_MISSING,
            hint=f"gert resume --run {state.run_id} {' '.join(f'--var {name}=…' for name in missing)}",
        )
    return given


__all__ = ["recorded_values"]
