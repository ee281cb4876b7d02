"""``gert explain``: everything that is known about the steps of a runbook before it runs."""

from __future__ import annotations

import json as json_
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.cli.lazy import typer
from gert_core.cli.render.help import columns
from gert_core.cli.render.terminal import escape, out, paint
from gert_core.cli.session import project_here, registry_for
from gert_core.explain.steps import UNEXPLAINED, explain_steps, find_steps
from gert_core.governance.sources import load_governed
from gert_core.kit.escaping import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import Contract
    from gert_core.explain.origins import Origin
    from gert_core.explain.steps import ExplainedStep
    from gert_core.governance.decision import Decision

_COLOURS: Final = {"allow": "green", "require-approval": "yellow", "deny": "red"}
_RECOVERY: Final = {
    "rerun": "it runs again when the run is resumed",
    "reconcile": "somebody has to find out what became of it: gert resume --reconcile KEY=done|redo|failed",
}
_WIDEST: Final = 120
_WORDS: Final = 16
"""Columns of the words that the lines begin with."""


def explain(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The runbook.", readable=False)],
    steps: Annotated[
        list[str] | None, typer.Argument(metavar="[STEP]...", help="Steps by their ids; default all of them.")
    ] = None,
    policy: Annotated[
        list[Path] | None,
        typer.Option("--policy", metavar="FILE", help="A further policy. Repeatable.", readable=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Explain steps: contract and where it comes from, risk, rules and decision, recovery, secrets, variables."""
    project = project_here(file.parent)
    registry = registry_for(project, ctx.obj)
    book, policies = load_governed(file, registry=registry, project=project, files=policy or [], so=UNEXPLAINED)
    every = list(explain_steps(book, policies, registry=registry, project=project, environ=ctx.obj.environ))
    found = find_steps(every, steps or [])
    if json:
        document = {"runbook": str(file), "steps": [step.to_json() for step in found]}
        out(json_.dumps(document, ensure_ascii=False))
    else:
        for number, step in enumerate(found):
            if number:
                out()
            _print(step)
    return 1 if any(step.problem for step in found) else 0


def _print(step: ExplainedStep) -> None:
    out(f"{paint(escape(step.step_id), 'bold')} ({escape(step.type)}, {escape(step.file)}:{step.line})")
    if step.problem:
        out(f"  {paint('unknown', 'red')}: {escape(step.problem)}")
        return
    width = max(min(columns(), _WIDEST), 40) - _WORDS - 4
    for word, text in _facts(step):
        for number, line in enumerate(wrap(escape(" ".join(text.split())), width)):
            lead = f"{word}:" if number == 0 and word else ""
            shown = paint(line.rstrip(), _colour(step)) if word == "decision" and number == 0 else line.rstrip()
            out(f"  {lead:<{_WORDS}}{shown}".rstrip())


def _colour(step: ExplainedStep) -> str:
    return _COLOURS[step.decision.action] if step.decision is not None else "dim"


def _facts(step: ExplainedStep) -> Iterator[tuple[str, str]]:
    """Yield the lines about a step, each with the word it begins with; without one it continues what is above."""
    if step.description:
        yield "for", step.description
    if step.detail:
        yield "detail", step.detail
    yield from step.notes
    if step.contract is not None:
        yield from _contract(step.contract, step)
    yield "risk", f"{step.risk}: {step.risk_reason}" + (f", outcome {step.outcome}" if step.outcome else "")
    if step.decision is None:
        yield "decision", "none; each of the steps inside it is governed"
    else:
        yield from _rules(step, step.decision)
        yield "decision", f"{step.decision.action}. {step.decision.reason}"
        if step.decision.needs_approval:
            yield "approved by", _approvers(step.decision)
        yield "in a probe", f"not executed: {step.probe}" if step.probe else "executed"
        yield "after a crash", f"{step.recovery}: {_RECOVERY[step.recovery]}"
    for conflict in step.conflicts:
        other = f"block {conflict.block} of {conflict.step}" if conflict.block is not None else "its own items"
        yield "conflicts", f"with {other}, over {', '.join(conflict.tags)}: they run one after another"
    for secret in step.secrets:
        state = "set" if secret.present else "missing" if secret.required else "not set, not required"
        yield "secret", f"{secret.env} ({state}), for {', '.join(secret.needed_by)}"
    for name, given in step.inputs.items():
        value = f" = {json_.dumps(given.value, ensure_ascii=False)}" if given.given else ""
        spread = f", if {', '.join(given.spread)} has it" if given.spread else ", required"
        needed = spread if given.param.required and not given.given else ""
        default = given.param.has_default and not given.given
        yield (
            "input",
            f"{name} ({given.param.type}{_more(given.limits)}{needed})"
            + (f" = {json_.dumps(given.param.default, ensure_ascii=False)} by default" if default else value),
        )
    for read in step.reads:
        yield (
            "needs",
            f"{read.name} ({read.type}{_more(read.limits)})"
            + (f" from {', '.join(read.sources)}" if read.sources else ""),
        )
    for one in step.sets:
        yield "sets", f"{one.name} ({one.type}{_more('secret' if one.secret else '')})"


def _more(text: str) -> str:
    return f", {text}" if text else ""


def _contract(contract: Contract, step: ExplainedStep) -> Iterator[tuple[str, str]]:
    for name, tags in (("effects", contract.effects), ("writes", contract.writes), ("reads", contract.reads)):
        yield name, f"{', '.join(tags) or 'none'}{_origin(step.origins.get(name))}"
    for name, value in (("idempotent", contract.idempotent), ("deterministic", contract.deterministic)):
        yield name, f"{'yes' if value else 'no'}{_origin(step.origins.get(name))}"


def _origin(origin: Origin | None) -> str:
    if origin is None or origin.level == "blocks":
        return " (its blocks)"
    if origin.level == "undeclared":
        return " (no contract declares it, so it counts as writing)"
    if origin.level == "default":
        return " (by default)"
    place = f", {origin.file}:{origin.line}" if origin.file is not None else ""
    return f" ({origin.level} {origin.name}{place})"


def _rules(step: ExplainedStep, decision: Decision) -> Iterator[tuple[str, str]]:
    """Yield every matching rule of every source, and what a step demands by itself."""
    first = "rules"
    for opinion in dict.fromkeys((o.source, o.rule is None and o.action is not None) for o in decision.matches):
        source, own = opinion
        matching = [match for match in step.rules if match.source == source]
        for match in matching:
            rule = match.rule
            action = f"contract violations: {rule.violations}" if rule.violations else str(rule.action or "serialize")
            decides = ", which decides" if match.decides else ""
            yield first, f"{source}, rule {rule.number}: {action} for {rule.condition()}{decides}"
            first = ""
        if own:
            yield first, f"{source}: the step demands an approval itself"
            first = ""
        elif not matching:
            yield first, f"{source}: no rule matches"
            first = ""
    if first:
        yield first, "there is no policy"


def _approvers(decision: Decision) -> str:
    people = "1 person" if decision.min_approvers == 1 else f"{decision.min_approvers} people"
    other = " other than the one who starts the run" if decision.exclude_actor else ""
    among = f" among {', '.join(decision.approvers)}" if decision.approvers else ""
    return f"{people}{other}{among}"


__all__ = ["explain"]
