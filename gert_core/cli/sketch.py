"""Draft a scenario for a runbook: canned answers of the right shape, and the result of replaying them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from gert_core.plugin.lazy import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gert_core.api import Param
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook, StepNode
    from gert_core.plugin.registry import Registry
    from gert_core.runs.result import RunResult

_EXAMPLES: Final = {
    "string": "text",
    "int": 1,
    "float": 1.0,
    "bool": True,
    "list": ["text"],
    "object": {},
    "any": "text",
}


def scenario_text(book: Runbook, *, name: str) -> str:
    """Return a ``scenario.yaml`` with every input, answer and piece of evidence that the runbook needs."""
    inputs = {
        key: _EXAMPLES[declared.type]
        for key, declared in book.model.meta.inputs.items()
        if declared.required and declared.default is None
    }
    answers: dict[str, list[str]] = {}
    for key, count in Counter(_tools(book)).items():
        tool, _, action = key.partition(":")
        reply = json.dumps(_of_contract(book.tools[tool].contracts[action].outputs), ensure_ascii=False)
        answers[key] = [f"{{outputs: {reply}}}"] * count
    lines = [f"description: {name}, in one sentence."]
    if inputs:
        lines += ["inputs:", *_entries(inputs)]
    if answers:
        lines.append("tool_responses:                # by tool and action; used up in this order")
        for key, replies in answers.items():
            lines += [f"  {json.dumps(key)}:", *(f"    - {reply}" for reply in replies)]
    for title, found in (("steps", _results(book)), ("evidence", _evidence(book))):
        if found:
            lines += [f"{title}:", *_entries(found)]
    return "\n".join(lines) + "\n"


def test_text(scenario: str, *, runbook: Path, registry: Registry, project: Project | None) -> str:
    """Return a ``test.yaml`` that expects the result of replaying the scenario now."""
    from gert_core.documents import yaml
    from gert_core.documents.scenario import ScenarioModel
    from gert_core.host import run

    canned = ScenarioModel.model_validate(yaml.loads(scenario.encode(), name="scenario.yaml").value)
    result = run(runbook, mode="replay", registry=registry, project=project, scenario=canned, keep=False)
    lines = [
        "# What a replay came to when this was written: change it to what should come of it.",
        f"expected_status: {result.status}",
    ]
    if result.outcome is not None:
        lines.append(f"expected_outcome: {result.outcome.category}")
        if result.outcome.code:
            lines.append(f"expected_code: {json.dumps(result.outcome.code)}")
    nodes = _in_order(registry, runbook, project)
    named = [node.id for node in nodes if node.named]
    reached = {step.step_id for step in result.steps if step.status != "skipped"}
    reached -= {node.id for node in nodes if node.fields.for_each and not _has_items(node, result)}
    if reached & set(named):
        lines.append(f"must_reach: [{', '.join(step_id for step_id in named if step_id in reached)}]")
    return "\n".join(lines) + "\n"


def _has_items(node: StepNode, result: RunResult) -> bool:
    """Return whether a loop had items; without any it does not count as reached."""
    return any(step.step_id == node.id and step.key.endswith("]") for step in result.steps)


def _in_order(registry: Registry, runbook: Path, project: Project | None) -> list[StepNode]:
    """Return the steps of a runbook in document order."""
    from gert_core.validation import validate_runbook

    found = validate_runbook(runbook, registry=registry, project=project)
    return list(found.runbook.walk()) if found.runbook is not None else []


def _tools(book: Runbook) -> Iterator[str]:
    """Yield ``tool:action`` of every step that uses a tool."""
    for node in book.walk():
        if node.type.tool_use is None:
            continue
        use = resolve(node.type.tool_use)(node.body)
        if use is not None and use.tool in book.tools:
            contracts = book.tools[use.tool].contracts
            action = use.action or next(iter(contracts))
            if action in contracts:
                yield f"{use.tool}:{action}"


def _results(book: Runbook) -> dict[str, object]:
    """Return whole results for steps that must declare a contract, because they act outside of gert."""
    return {
        node.id: {"outputs": _of_contract(_declared(node))}
        for node in book.walk()
        if node.type.requires_contract and node.named and _at_root(node)
    }


def _evidence(book: Runbook) -> dict[str, Any]:
    """Return evidence for steps that declare outputs without a tool: a person gives them."""
    found = {}
    for node in book.walk():
        if node.type.outputs is None or node.type.tool_use is not None or not node.named:
            continue
        given = resolve(node.type.outputs)(node.body)
        if given:
            found[node.id] = {name: _EXAMPLES[kind] for name, kind in given.items()}
    return found


def _declared(node: StepNode) -> Mapping[str, object]:
    return (node.fields.contract.outputs if node.fields.contract else None) or {}


def _at_root(node: StepNode) -> bool:
    return node.within is None or node.within.owner is None


def _of_contract(outputs: Mapping[str, Param | Any]) -> dict[str, object]:
    return {name: _EXAMPLES[param.type or "any"] for name, param in outputs.items()}


def _entries(values: Mapping[str, object]) -> Iterator[str]:
    for name, value in values.items():
        yield f"  {name}: {json.dumps(value, ensure_ascii=False)}"


__all__ = ["scenario_text", "test_text"]
