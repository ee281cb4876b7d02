"""Draft a scenario: replay a runbook with example answers, and keep every answer that the run needed."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from gert_core.api import Answer, Completed, ErrorKind, NoAnswer, Reply, StepProblem
from gert_core.contracts import find_action
from gert_core.documents.scenario import ScenarioModel, StepResponse
from gert_core.engine.cancel import Stop
from gert_core.engine.modes.replay import ReplayBackend
from gert_core.engine.prepare import prepare
from gert_core.engine.request import Request
from gert_core.scenarios.run import ACTOR
from gert_core.tools import preview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from gert_core.api import Console, Contract, Question, Result, Services
    from gert_core.api.context import Peer
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Path as Place
    from gert_core.documents.tree import Runbook, StepNode, ToolNode
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.plugin.registry import Registry

_EXAMPLES: Final = {
    "string": "text",
    "int": 1,
    "float": 1.0,
    "bool": True,
    "list": ["text"],
    "object": {},
    "any": "text",
}
_ROUNDS: Final = 100
"""How often a replay begins again because a step must be given its whole result."""


class Draft(Struct, kw_only=True):
    """The answers of a scenario that is being written."""

    inputs: dict[str, object] = field(default_factory=dict)
    tool_responses: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    """By ``tool:action`` the outputs of every call."""
    steps: dict[str, dict[str, object]] = field(default_factory=dict)
    evidence: dict[str, dict[str, object]] = field(default_factory=dict)
    unasked: dict[str, dict[str, object]] = field(default_factory=dict)
    """Evidence for steps that the replay does not reach: a test would warn of it."""


def draft_scenario(
    book: Runbook, *, runbook: Path, registry: Registry, project: Project | None, console: Console
) -> Draft:
    """Return every input and answer that a replay needs, and one answer for each step that it does not reach."""
    inputs = {
        name: example(declared.type)
        for name, declared in book.model.meta.inputs.items()
        if declared.required and declared.default is None
    }
    request = Request(
        runbook=runbook,
        registry=registry,
        console=console,
        project=project,
        mode="replay",
        actor=ACTOR,
        environ=dict(os.environ),
        keep=False,
        observed=False,
    )
    results: dict[str, dict[str, object]] = {}
    for _ in range(_ROUNDS):
        canned = {key: [StepResponse.model_validate(given)] for key, given in results.items()}
        backend = DraftingBackend(ScenarioModel(inputs=inputs, steps=canned))
        reached = _replay(replace(request, scenario=backend.scenario), backend)
        if not backend.missing:
            break
        results |= backend.missing
    draft = Draft(
        inputs=inputs,
        tool_responses=backend.tool_responses,
        steps=results | backend.results,
        evidence=backend.evidence,
    )
    places = {(found[0].document.file, found[1].path) for found in map(book.find, reached) if found is not None}
    for document, inner in {"": book, **{name: one.runbook for name, one in book.included.items()}}.items():
        _add_unreached(draft, _unreached(inner, places), inner, document)
    return draft


def _unreached(book: Runbook, places: set[tuple[str, Place]]) -> list[StepNode]:
    return [node for node in book.walk() if (book.document.file, node.path) not in places]


def _replay(request: Request, backend: DraftingBackend) -> set[str]:
    """Replay with this backend; return the keys of the steps that were executed."""
    stop = Stop()
    with ExitStack() as stack:
        stack.callback(stop.close)
        run = prepare(replace(request, stop=stop), stack)
        run.services = replace(run.services, backend=backend)
        result = run.execute()
    return {step.key for step in result.steps if step.status != "skipped"}


class DraftingBackend(ReplayBackend):
    """A replay that gives an example where the scenario has no answer, and keeps it."""

    def __init__(self, scenario: ScenarioModel) -> None:
        super().__init__(scenario)
        self.scenario = scenario
        self.tool_responses: dict[str, list[dict[str, object]]] = {}
        self.results: dict[str, dict[str, object]] = {}
        self.evidence: dict[str, dict[str, object]] = {}
        self.missing: dict[str, dict[str, object]] = {}
        """Results of steps that could not be given in this replay."""

    def substitute(self, execution: StepExecution) -> Result | None:
        """Return an example result of a step that must declare its contract, because it acts outside of gert."""
        given = super().substitute(execution)
        if given is not None or not execution.compiled.type.requires_contract:
            return given
        result = self.results[execution.key] = _example_result(execution)
        canned = StepResponse.model_validate(result)
        return Completed(outputs=canned.outputs, fields=canned.fields)

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
        """Return an example of every declared output."""
        outputs = _examples(tool.contracts[action])
        key = _response_key(execution.facts.document, tool.name, action)
        self.tool_responses.setdefault(key, []).append(outputs)
        return Reply(exit_code=0, outputs=outputs, command=preview(tool, action, inputs))

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002
        """Keep an example result for the next replay: no peer is started."""
        self.missing[execution.key] = _example_result(execution)
        raise StepProblem(ErrorKind.SCENARIO_MISS, f"the scenario gives no result for step {execution.key}")

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Return an example answer; a checklist is ticked."""
        try:
            return super().ask(execution, question)
        except NoAnswer:
            kind = execution.facts.runbook.functions.outputs(execution.compiled.node).get(question.name, "any")
            value: object = example(kind)
            if question.items:  # a map of all of them, or one of them
                value = dict.fromkeys(question.items, True) if kind == "object" else question.items[0]
            self.evidence.setdefault(execution.compiled.id, {})[question.name] = value
            return Answer(value=value, canned=True)


def example(kind: str | None) -> object:
    """Return an example value of a declared type."""
    return _EXAMPLES[kind or "any"]


def _examples(contract: Contract) -> dict[str, object]:
    """Return an example of every declared output; one that is secret is long enough to be masked."""
    secret = contract.secret_outputs
    return {
        name: f"secret {name}" if name in secret else example(param.type) for name, param in contract.outputs.items()
    }


def _example_result(execution: StepExecution) -> dict[str, object]:
    """Return a whole result: every declared output, and the fields of the type."""
    outputs = _examples(execution.contract)
    fields = {name: example(kind) for name, kind in execution.compiled.type.fields.items()}
    return {"outputs": outputs, **({"fields": fields} if fields else {})}


def _response_key(document: str, tool: str, action: str) -> str:
    """Return the name of responses; an included runbook may have another tool of the same name."""
    return f"{document}:{tool}:{action}" if document else f"{tool}:{action}"


def _add_unreached(draft: Draft, nodes: list[StepNode], book: Runbook, document: str) -> None:
    """Add an answer for each step on another path, to be moved to where it is needed."""
    for key, outputs in _tool_answers(nodes, book, document):
        draft.tool_responses.setdefault(key, []).append(outputs)
    for node in nodes:
        asks = node.type.tool_use is None and node.type.gate is None  # an approval is asked for with a ticket
        if asks and (given := book.functions.outputs(node)):
            draft.unasked[node.id] = {name: _answer(node.raw, name, kind) for name, kind in given.items()}


def _answer(written: object, name: str, kind: str) -> object:
    """Return an example answer to a question that was not asked: one that the step lists beside its name, if any."""
    for found in _maps(written):
        listed = next((value for value in found.values() if isinstance(value, list) and value), None)
        if found.get("name") == name and listed is not None and all(isinstance(one, str) for one in listed):
            return dict.fromkeys(listed, True) if kind == "object" else listed[0]
    return example(kind)


def _maps(value: object) -> Iterator[dict[str, object]]:
    """Yield the maps in a value, the value itself included."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _maps(inner)


def _tool_answers(nodes: list[StepNode], book: Runbook, document: str) -> Iterator[tuple[str, dict[str, object]]]:
    for node in nodes:
        use = book.functions.tool_use(node)
        if use is None:
            continue
        tool = book.tools[use.tool]
        action, _ = find_action(tool, use.action)
        yield (
            _response_key(document, use.tool, action),
            _examples(tool.contracts[action]),
        )


__all__ = ["Draft", "DraftingBackend", "draft_scenario", "example"]
