"""Write pages about a run: its variables, and what is known about a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import GertError
from gert_core.kit.display import value_lines
from gert_tui.endings import error_lines
from gert_tui.screens.page import Page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_tui.model.steps import ShownStep
    from gert_tui.session import RunSession


def variables_page(session: RunSession) -> Page:
    """Return the page with inputs, constants and outputs, each with its type; secrets are masked."""
    types = _types(session)
    model = session.model
    lines = ["Inputs:"]
    for name, data in model.inputs.items():
        shown = "<secret>" if data.get("secret") else data.get("value")
        source = "given" if data.get("source") == "cli" else f"from {data.get('source')}"
        lines += _variable(name, types.get(("input", name), ""), shown, source)
    constants = model.facts.get("constants") or {}
    lines += ["", "Constants:"] if constants else []
    for name, value in constants.items():
        lines += _variable(name, types.get(("constant", name), ""), value)
    lines += ["", "Outputs:"]
    for step in model.steps.every():
        for name, value in step.outputs.items():
            lines += _variable(f"{step.name}.{name}", types.get(("output", name), ""), value)
    return Page("Variables", [*lines, *([] if lines[-1] != "Outputs:" else ["  none yet"])])


def _variable(name: str, type_: str, value: object, source: str = "") -> Iterator[str]:
    told = ", ".join(part for part in (type_, source) if part)
    rows = value_lines(value)
    yield f"  {name}{f' ({told})' if told else ''} = {rows[0] if rows else ''}"
    for row in rows[1:]:
        yield f"    | {row}"


def _types(session: RunSession) -> Mapping[tuple[str, str], str]:
    try:
        found = session.host.validate(session.runbook) if session.runbook is not None else None
    except (GertError, OSError):
        return {}
    return {} if found is None else {(one.kind, one.name): one.type for one in found.symbols}


def contract_page(session: RunSession, step: ShownStep | None) -> Page:
    """Return the page about a step: contract, risk, who decides what, and what a crash would mean."""
    if step is None or session.runbook is None:
        return Page("Contract", ["There is no step here, or the trace does not say which file its runbook is."])
    state = session.view
    policies = [] if state is None or state.state is None else state.state.facts.get("policy_files") or []
    try:
        found = session.host.explain(session.runbook, step.step_id, policies=policies)
    except (GertError, OSError) as error:
        told = error_lines(error) if isinstance(error, GertError) else [str(error)]
        return Page(f"Contract of {step.name}", told)
    return Page(f"Contract of {step.name}", list(_explained(found[0].to_json())))


def _explained(step: Mapping[str, Any]) -> Iterator[str]:
    yield f"{step['step_id']}: a step of type {step['type']}, {step['file']}:{step['line']}"
    contract = step.get("contract") or {}
    yield "Contract:"
    for name in ("effects", "writes", "reads"):
        origin = (step.get("origins") or {}).get(name) or {}
        said = f"  # {origin['level']} {origin.get('name') or ''}".rstrip() if origin.get("level") else ""
        yield f"  {name}: {', '.join(map(str, contract.get(name) or ())) or 'none'}{said}"
    flags = [name if contract.get(name) else f"not {name}" for name in ("idempotent", "deterministic")]
    yield f"  {', '.join(flags)}"
    yield f"Risk: {step.get('risk')}"
    yield f"  {step.get('risk_reason')}"
    decision = step.get("decision")
    if decision:
        yield f"Decision: {decision.get('action') or decision.get('decision')}"
        yield f"  {decision.get('reason') or ''}"
    for opinion in step.get("opinions") or ():
        if opinion.get("action") is None:
            yield f"  {opinion.get('source')} has no rule for it"
            continue
        mark = "decides" if opinion.get("decides") else "says"
        rule = f", rule {opinion['rule']}" if opinion.get("rule") is not None else ""
        yield f"  {opinion.get('source')} {mark} {opinion.get('action')}{rule}"
    if step.get("approvers"):
        yield f"  approvers: {', '.join(step['approvers'])}"
    probe = step.get("probe") or {}
    yield "In other modes:"
    yield "  a probe executes it" if probe.get("executed") else f"  a probe leaves it out: {probe.get('reason')}"
    again = step.get("recovery") == "rerun"
    yield f"  after a crash {'it simply runs again' if again else 'a person says what became of it'}"
    for conflict in step.get("conflicts") or ():
        yield f"  conflict: {conflict}"
    if step.get("secrets"):
        yield f"Secrets: {', '.join(str(one.get('name') or one) for one in step['secrets'])}"


__all__ = ["contract_page", "variables_page"]
