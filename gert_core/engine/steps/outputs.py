"""Check outputs and fields against what is declared: types, undeclared, missing and nondeterministic ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, EventType, Param, StepProblem
from gert_core.engine.steps.results import type_fault
from gert_core.engine.steps.secret_outputs import learn_output
from gert_core.kit.excerpts import shorten
from gert_core.plugin.functions import PluginFault, Unusable
from gert_core.secrets import LostSecret
from gert_core.template import Symbol
from gert_core.values import canonical, coerce

if TYPE_CHECKING:
    from gert_core.engine.steps.compiled import CompiledStep
    from gert_core.engine.steps.execution import StepExecution

_SHOWN: Final = 120
"""How many characters of outputs a message about them shows."""
_LONG: Final = 4096
"""The bits of the longest number that templates make; longer ones may be more than JSON can be written with."""
_UNCHANGED = (str, int, bool, type(None), Symbol)


def normalise(execution: StepExecution, values: Mapping[str, object]) -> dict[str, object]:
    """Return outputs or fields as a reader of the trace would decode them.

    They go through JSON once, unless that changes nothing. Secrets in them that are lost stay what they are.
    """
    if all(type(value) in _UNCHANGED and type(name) is str for name, value in values.items()) and not any(
        type(value) is int and value.bit_length() > _LONG for value in values.values()
    ):
        return dict(values)
    try:
        decoded: dict[str, object] = json.loads(json.dumps(dict(values), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        fault = type_fault(execution, "run", Unusable(f"an output cannot be written as JSON: {error}"))
        raise StepProblem(ErrorKind.OUTPUT_TYPE, fault.message) from None
    recorded = execution.services.recorded
    return _with_lost(decoded, values) if recorded is not None and recorded.lost.names else decoded


def _with_lost(decoded: Any, before: object) -> Any:
    """Return decoded data with lost secrets where they were: the masks of plain texts would be escaped in the trace."""
    if isinstance(before, LostSecret):
        return before
    if isinstance(decoded, list) and isinstance(before, list | tuple):
        return [_with_lost(*pair) for pair in zip(decoded, before, strict=True)]
    if isinstance(decoded, dict) and isinstance(before, Mapping) and len(decoded) == len(before):
        pairs = zip(decoded.items(), before.values(), strict=True)
        return {name: _with_lost(value, one) for (name, value), one in pairs}
    return decoded


def check_contract(execution: StepExecution, outputs: dict[str, object], *, failed: bool) -> dict[str, object]:
    """Coerce outputs by what is declared and drop undeclared ones, tracing violations.

    A step that acts outside of gert is held to its contract, every other one to what its type declares. A policy may
    turn any violation into an error of the step.
    """
    compiled, contract = execution.compiled, execution.contract
    if outputs and any(isinstance(value, Symbol) for value in outputs.values()):
        return outputs
    params = contract.outputs if compiled.external else _declared(execution)
    where = "in contract.outputs" if compiled.external else f"by step type {compiled.type.name}"
    violations: list[tuple[str, str, str]] = []
    declared: dict[str, object] = {}
    for name, value in outputs.items():
        param = params.get(name)
        if param is None:
            message = f"output {name!r} is not declared {where} and was dropped"
            violations.append((ErrorKind.UNDECLARED_OUTPUT, message, "warning"))
            continue
        try:
            declared[name] = None if value is None and not param.required else coerce(value, param.type)
        except ValueError as error:
            shown = error if not param.secret else "a secret output is a string; its value is not shown"
            raise _wrong_type(execution, f"output {name!r}: {shown}") from None
        if param.secret:
            learn_output(execution.services.masker, execution.key, name, declared[name])
    if not failed:
        for name, param in params.items():
            if name not in declared and param.required:
                message = f"output {name!r} is declared {where} but was not produced"
                violations.append((ErrorKind.MISSING_OUTPUT, message, "warning"))
        if contract.deterministic:
            changed = execution.services.determinism.check(execution.compiled, execution.inputs, declared)
            if changed:
                violations.append((ErrorKind.NONDETERMINISTIC, changed, "error"))
    if violations:
        report_violations(execution, violations)
    return declared


def _wrong_type(execution: StepExecution, message: str) -> StepProblem:
    """Return the error of an output of the wrong type; the plugin is named if its own type declares the output."""
    if not execution.compiled.external and not execution.substituted:
        message = type_fault(execution, "run", Unusable(message)).message
    return StepProblem(ErrorKind.OUTPUT_TYPE, message)


def _declared(execution: StepExecution) -> Mapping[str, Param]:
    """Return the outputs that a step's type declares; a type may read their names in the rendered step."""
    compiled = execution.compiled
    found: Mapping[str, Param] = execution.facts.compiled.contracts.outputs(compiled.node)
    if compiled.body.static or execution.step is None:
        return found
    try:
        named = execution.facts.runbook.functions.outputs(compiled.node, execution.step)
    except PluginFault as fault:
        raise StepProblem(fault.kind, fault.message) from None
    return {
        **execution.contract.outputs,
        **{name: Param(type=kind, required=True) for name, kind in named.items()},
    }


def check_fields(execution: StepExecution, fields: Mapping[str, object], *, failed: bool) -> dict[str, object]:
    """Return the fields that the step's type declares, as JSON data of their types; others are dropped and traced.

    A result that was not computed by the type, such as one in a scenario, may lack fields.
    """
    kind, exact = execution.compiled.type, execution.compiled.exact_fields
    if exact is not None and len(fields) == len(exact):
        for name, value in fields.items():
            if type(value) is not exact.get(name):
                break
        else:
            return dict(fields)
    fields = normalise(execution, fields)
    violations: list[tuple[str, str, str]] = []
    declared: dict[str, object] = {}
    for name, value in fields.items():
        wanted = kind.fields.get(name)
        if wanted is None:
            message = f"field {name!r} is not declared by step type {kind.name} and was dropped"
            violations.append((ErrorKind.UNDECLARED_OUTPUT, message, "warning"))
            continue
        try:
            declared[name] = value if value is None or isinstance(value, Symbol) else coerce(value, wanted)
        except ValueError as error:
            fault = type_fault(execution, "run", Unusable(f"field {name!r}: {error}"))
            raise StepProblem(ErrorKind.OUTPUT_TYPE, fault.message) from None
    if len(declared) < len(kind.fields) and not failed and not execution.substituted:
        for name in kind.fields:
            if name not in declared:
                message = f"field {name!r} is declared by step type {kind.name} but was not returned"
                violations.append((ErrorKind.MISSING_OUTPUT, message, "warning"))
    if violations:
        report_violations(execution, violations)
    return declared


def report_violations(execution: StepExecution, violations: list[tuple[str, str, str]]) -> None:
    """Trace and show violations; raise when a policy denies them."""
    facts, services = execution.facts, execution.services
    for kind, text, severity in violations:
        message = services.masker.mask_fragments(text)
        execution.add(
            EventType.CONTRACT_VIOLATION,
            {"step_id": execution.compiled.id, "kind": kind, "message": message, "severity": severity},
        )
        services.progress.warn(f"step {execution.key}: {message} ({kind})", step=execution.info)
    if violations:
        rule = facts.policies.violation_rule(*execution.compiled.levels, *execution.rendered_levels)
        if rule is not None:
            source, number = rule
            raise StepProblem(
                ErrorKind.CONTRACT_VIOLATION,
                f"{violations[0][1]} (rule {number} of {source} denies contract violations)",
            )


class Determinism:
    """The outputs of deterministic steps by their inputs, to notice other outputs for the same inputs."""

    def __init__(self) -> None:
        self._seen: dict[bytes, tuple[str, bytes]] = {}
        """By the digest of the inputs: the beginning of the outputs, and their digest."""
        self._lock = threading.Lock()

    def check(self, compiled: CompiledStep, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> str | None:
        """Return a message when the outputs of a success differ from earlier ones for the same inputs."""
        if not compares(compiled):
            return None
        who = [compiled.use.tool, compiled.action] if compiled.use is not None else [compiled.id]
        question, text = canonical([who, dict(inputs)]), canonical(dict(outputs))
        answer = shorten(text.decode("utf-8", "replace"), _SHOWN, "..."), sha256(text).digest()
        with self._lock:
            before = self._seen.setdefault(sha256(question).digest(), answer)
        if before[1] == answer[1]:
            return None
        return f"declared deterministic, but the same inputs gave {before[0]} and now {answer[0]}"


def compares(compiled: CompiledStep) -> bool:
    """Return whether the outputs of a step must be the same for the same inputs, which only its tool can violate."""
    return compiled.contract.deterministic and compiled.external


__all__ = ["Determinism", "check_contract", "check_fields", "compares", "normalise", "report_violations"]
