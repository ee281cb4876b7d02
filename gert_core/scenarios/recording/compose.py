"""Compose a scenario of a run: replay it with its own results, which gives the order in which answers are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import Completed, Errored, Failed, Flow, StepProblem, StepStatus
from gert_core.documents.generated import tools_by_key
from gert_core.documents.scenario import ScenarioModel, ToolResponse
from gert_core.engine.modes.replay import canned_reply
from gert_core.engine.steps.exports import is_shortened
from gert_core.scenarios.observe import ObservingBackend

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gert_core.api import Result
    from gert_core.documents.tree import Runbook, ToolNode
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.scenarios.recording.fold import Taken, TakenResult, TakenStep
    from gert_core.scenarios.recording.placeholders import Placeholders

SUCCESS: Final = str(StepStatus.SUCCESS)


def given_by_people(taken: Taken, masks: Placeholders, book: Runbook) -> dict[str, Any]:
    """Return the parts of a scenario that no order matters to: inputs, the actor and the answers to tickets."""
    facts, declared = taken.state.facts, book.model.meta.inputs
    given: dict[str, Any] = {}
    if isinstance(actor := facts.get("actor"), str) and actor:
        given["actor"] = masks.put(actor)
    inputs = {
        name: masks.input(name, str(declared[name].type), value)
        for name, value in (facts.get("inputs") or {}).items()
        if name in declared and value is not None
    }
    approvals = {key: _answers(step, masks) for key, step in taken.steps.items() if step.answers is not None}
    return given | {"inputs": inputs, "approvals": approvals}


def _answers(step: TakenStep, masks: Placeholders) -> list[dict[str, Any]]:
    return [
        {
            "approved": answer.approved,
            **{
                name: masks.put(value)
                for name in ("approver_id", "kind", "reason")
                if (value := getattr(answer, name)) is not None
            },
        }
        for answer in step.answers or ()
    ]


class ComposingBackend(ObservingBackend):
    """A replay in which every step ends as it did in the run; it keeps what a scenario needs for that, in order.

    ``by_key`` are steps whose whole results are kept, because a replay with less came to something else.
    """

    def __init__(
        self, taken: Taken, masks: Placeholders, book: Runbook, given: Mapping[str, Any], *, by_key: Collection[str]
    ) -> None:
        super().__init__(ScenarioModel.model_validate(dict(given)))
        self._taken = taken
        self._masks = masks
        self._by_key = by_key
        self._ambiguous = _ambiguous(book)
        self.tool_responses: dict[str, list[dict[str, Any]]] = {}
        self.steps: dict[str, Any] = {}
        self.evidence: dict[str, dict[str, Any]] = {}
        self.principals: dict[str, str] = {}

    def substitute(self, execution: StepExecution) -> Result | None:
        """Return the result of the attempt in the run, and keep what stands for it in the scenario."""
        super().substitute(execution)
        step = self._taken.steps.get(execution.key)
        if step is None or not step.acts or not step.attempts or execution.compiled.type.flow is Flow.TERMINAL:
            return None
        number = min(execution.attempt, len(step.attempts))
        self._keep(execution, step, number)
        return _result(step.attempts[number - 1], self._masks, last=number == len(step.attempts))

    def _keep(self, execution: StepExecution, step: TakenStep, number: int) -> None:
        key = step.key
        if key in self.steps or (number == 1 and self._by_people(execution, step)):
            return
        responses = self._tool_answers(execution, step)
        if responses is not None:
            name, given = responses
            self.tool_responses.setdefault(name, []).append(given[number - 1])
        elif number == 1 and (key in self._by_key or self._acts(execution, step)):
            results = [self._whole(result) for result in step.attempts]
            self.steps[key] = results[0] if len(results) == 1 else results
            if step.stated:
                self.principals[key] = self._masks.put(step.stated)

    def _by_people(self, execution: StepExecution, step: TakenStep) -> bool:
        """Keep what people answered; return whether that is all that the step needs."""
        last = step.attempts[-1]
        if not step.answered or step.key in self._by_key or len(step.attempts) > 1 or last.status != SUCCESS:
            return False
        answers = {name: self._masks.put(last.outputs[name]) for name in step.answered if name in last.outputs}
        if len(answers) < len(last.outputs):
            return False
        if answers:
            self.evidence[step.key] = answers
        if by := next(reversed(step.answered.values()), ""):
            self.principals[step.key] = self._masks.put(by)
        return True

    @staticmethod
    def _acts(execution: StepExecution, step: TakenStep) -> bool:
        """Return whether a replay cannot come to the step's result by itself."""
        if step.stated is not None or execution.compiled.external:
            return True
        pure = execution.contract.pure if execution.rendered_levels else execution.compiled.pure
        return not pure and not execution.compiled.gated

    def _tool_answers(self, execution: StepExecution, step: TakenStep) -> tuple[str, list[dict[str, Any]]] | None:
        """Return the name and the responses of a tool step with one call per attempt; None for any other step."""
        use, action = execution.compiled.use, execution.compiled.action
        if use is None or action is None or step.calls or step.stated is not None or step.key in self._by_key:
            return None
        tool = execution.facts.runbook.tools[use.tool]
        if tool.name in self._ambiguous:
            return None
        found = []
        for result in step.attempts:
            response = self._response(result, tool, action, execution.inputs)
            if response is None:
                return None
            found.append(response)
        return f"{tool.name}:{action}", found

    def _response(
        self, result: TakenResult, tool: ToolNode, action: str, inputs: Mapping[str, object]
    ) -> dict[str, Any] | None:
        """Return the response of a tool that gives this result: as text, else with its outputs; None if neither."""
        detail = self._masks.put(dict(result.detail))
        if not isinstance(detail.get("stdout"), str):
            return None
        code = detail.get("exit_code")
        text = {name: detail[name] for name in ("exit_code", "stdout", "stderr") if detail.get(name)}
        text = {"exit_code": code, **text} if code is not None else text
        whole = {**text, "outputs": self._masks.put(dict(result.outputs))}
        cut = any(is_shortened(text.get(name, "")) for name in ("stdout", "stderr"))
        for response in (whole,) if cut else (text, whole):
            if self._gives(response, result, tool, action, inputs):
                return response
        return None

    def _gives(
        self,
        response: dict[str, Any],
        result: TakenResult,
        tool: ToolNode,
        action: str,
        inputs: Mapping[str, object],
    ) -> bool:
        kind = None if result.failure is None else result.failure.get("kind")
        try:
            reply = canned_reply(ToolResponse.model_validate(response), tool, action, inputs)
        except StepProblem as problem:
            return result.status == str(StepStatus.ERROR) and kind == problem.kind
        if result.status not in (SUCCESS, str(StepStatus.FAILED)) or reply.failed is not (result.status != SUCCESS):
            return False
        known = tool.contracts[action].outputs
        mine = {name: value for name, value in (reply.outputs or {}).items() if name in known and value is not None}
        wanted = self._masks.put(dict(result.outputs))
        if result.status != SUCCESS and not wanted:  # an attempt that was repeated is recorded without outputs
            return True
        return mine == {name: value for name, value in wanted.items() if value is not None}

    def _whole(self, result: TakenResult) -> dict[str, Any]:
        """Return the result of an attempt as a scenario has it."""
        put, given = self._masks.put, dict[str, Any]()
        if result.status != SUCCESS:
            given["status"] = result.status
            given |= {name: put(value) for name, value in (result.failure or {}).items() if name in _FAILURE and value}
        for name in ("outputs", "fields"):
            if values := {key: value for key, value in getattr(result, name).items() if value is not None}:
                given[name] = put(values)
        return given or {"outputs": {}}


_FAILURE: Final = ("kind", "message")


def _ambiguous(book: Runbook) -> frozenset[str]:
    """Return the names of tools that mean another document in a runbook that is included."""
    digests: dict[str, set[str]] = {}
    for tool in tools_by_key(book).values():
        digests.setdefault(tool.name, set()).add(tool.digest)
    return frozenset(name for name, found in digests.items() if len(found) > 1)


def _result(taken: TakenResult, masks: Placeholders, *, last: bool) -> Result:
    """Return a recorded result as the step's own; only one that was not the last is followed by another attempt."""
    outputs, fields = masks.put(dict(taken.outputs)), masks.put(dict(taken.fields))
    if taken.status == SUCCESS:
        return Completed(outputs=outputs, fields=fields)
    failure = taken.failure or {}
    kind, message = str(failure.get("kind")), str(failure.get("message"))
    if taken.status == str(StepStatus.FAILED):
        return Failed(kind=kind, message=message, outputs=outputs, fields=fields, retryable=not last)
    return Errored(kind=kind, message=message, outputs=outputs, fields=fields, retryable=not last)


__all__ = ["ComposingBackend", "given_by_people"]
