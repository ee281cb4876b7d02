"""``gert policy``: show which policy rules apply to a runbook, without running it."""

from __future__ import annotations

import json as json_
import os
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated

from gert_core.cli.lazy import typer
from gert_core.cli.render.contracts import contract_line
from gert_core.cli.render.terminal import escape, out, paint
from gert_core.cli.session import project_here, registry_for
from gert_core.documents.floor import floor_files
from gert_core.documents.project_file import FILE_NAME
from gert_core.engine.run import default_actor, os_user
from gert_core.governance.enough import shortage
from gert_core.governance.explain import consider
from gert_core.governance.mapping import NO_PEOPLE_DECLARED, unmapped
from gert_core.governance.policies import KEYS_BY_ENVIRONMENT
from gert_core.governance.sources import load_governed
from gert_core.kit.durations import duration_text

if TYPE_CHECKING:
    from gert_core.documents.project import Project
    from gert_core.governance import Policies
    from gert_core.governance.explain import Considered, Explained

_COLOURS = {"allow": "green", "require-approval": "yellow", "deny": "red"}


def explain_(
    ctx: typer.Context,
    runbook: Annotated[Path, typer.Argument(help="The runbook.", readable=False)],
    policy: Annotated[
        list[Path] | None,
        typer.Option("--policy", metavar="FILE", help="A further policy. Repeatable.", readable=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show for each step its contract, its risk, the matching rule of every source and the decision."""
    project = project_here(runbook.parent)
    registry = registry_for(project, ctx.obj)
    so = "its policy decisions are not known"
    book, policies = load_governed(runbook, registry=registry, project=project, files=policy or [], so=so)
    considered = list(consider(book, policies, project))
    steps = [one.explained for one in considered]
    actors = frozenset((default_actor(os.environ), os_user())) - {""}
    unknown, impossible = _unknown(policies, steps, actors), _impossible(considered, actors)
    if json:
        document = {
            **_json(str(runbook), project, policies, steps),
            "approvers_unknown": unknown,
            "approvals_impossible": [f"step {key}: {why}" for key, why in impossible.items()],
        }
        out(json_.dumps(document, ensure_ascii=False))
    else:
        _print(project, policies, steps, unknown, impossible)
    return 1 if any(step.problem for step in steps) else 0


def _impossible(considered: list[Considered], actors: frozenset[str]) -> dict[str, str]:
    """Return by step why it cannot be approved, if the current user starts the run."""
    found = {}
    for one in considered:
        decision = one.explained.decision
        if decision is not None and (lack := shortage(decision, one.policies, actors)) is not None:
            found[one.explained.step_id] = lack.message
    return found


def _unknown(policies: Policies, steps: list[Explained], actors: frozenset[str]) -> list[str]:
    """Return whose answers cannot count, if the current user starts the run."""
    decisions = [step.decision for step in steps]
    if not any(decision is not None and decision.needs_approval for decision in decisions):
        return []
    without = [] if policies.people.persons else [NO_PEOPLE_DECLARED]
    return without + unmapped(policies, decisions, actors)


def _project_file(project: Project | None) -> str | None:
    return None if project is None else str(project.root / FILE_NAME)


def _json(file: str, project: Project | None, policies: Policies, steps: list[Explained]) -> dict[str, object]:
    return {
        "runbook": file,
        "project_file": _project_file(project),
        "floor_files": [str(path) for path in floor_files()],
        "policy_digest": policies.digest,
        "approval_timeout": policies.approval_timeout,
        "require_signed_approvals": policies.require_signed,
        "approval_keys": "environment" if policies.keys_by_environment else "policy",
        "people": {person.id: {"keys": len(person.keys)} for person in policies.people.persons.values()},
        "sources": [{"name": s.name, "kind": s.kind, "rules": len(s.rules)} for s in policies.sources],
        "steps": [step.to_json() for step in steps],
    }


def _print(
    project: Project | None,
    policies: Policies,
    steps: list[Explained],
    unknown: list[str],
    impossible: dict[str, str],
) -> None:
    out(escape(f"project: {_project_file(project) or 'none'}"))
    out(f"machine floor: {', '.join(map(str, floor_files())) or 'none'}")
    names = ", ".join(source.name for source in policies.sources) or "none"
    signed = ", signed" if policies.require_signed else ""
    out(escape(f"policies: {names}"))
    out(f"approvals: within {duration_text(policies.approval_timeout)}{signed}")
    if policies.keys_by_environment:
        out(f"  {KEYS_BY_ENVIRONMENT}")
    for sentence in unknown:
        out(f"  {escape(sentence)}")
    for person in policies.people.persons.values():
        keys = f"{len(person.keys)} key{'' if len(person.keys) == 1 else 's'}"
        out(f"person: {escape(person.id)} ({keys})")
    for step in steps:
        out()
        place = escape(f"({step.type}, line {step.line}{f' of {step.file}' if step.file else ''})")
        out(f"{paint(step.step_id, 'bold')} {place}")
        if step.contract is None:
            out(f"  {paint('unknown', 'red')}: {escape(str(step.problem))}")
            continue
        out(f"  contract: {contract_line(step.contract)}")
        decision = step.decision
        if decision is None:
            out("  decision: none; each of the steps inside it is governed")
            continue
        out(f"  risk: {decision.risk}" + (f", outcome {step.outcome}" if step.outcome else ""))
        for opinion in decision.matches:
            rule = f"rule {opinion.rule}: {opinion.action}" if opinion.rule else str(opinion.action or "no opinion")
            out(escape(f"  {opinion.source}: {rule}"))
        if step.violations:
            out(escape(f"  contract violations: deny (rule {step.violations[1]} of {step.violations[0]})"))
        if decision.serialize:
            out("  parallel branches that hold it run one after another")
        word = paint(decision.action, _COLOURS[decision.action])
        out(f"  decision: {word}. {escape(decision.reason)}")
        if why := impossible.get(step.step_id):
            out(f"  {paint(escape(why), 'red')}")


__all__ = ["explain_"]
