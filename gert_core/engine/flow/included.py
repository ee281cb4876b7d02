"""Run a runbook that a step includes, as a block of the step: bind its inputs, run it, stop its end at the boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from gert_core.api import DocumentError, ErrorKind, InputError, StepProblem
from gert_core.documents.limits import check_limits, declared_at
from gert_core.engine.constants import render_constants
from gert_core.engine.flow.frame import again_in
from gert_core.engine.run import Run, run_variables
from gert_core.engine.signals import NO_OUTCOME, Failure, Rank, Signal
from gert_core.engine.steps.blocks import child_frame
from gert_core.inputs import ResolvedInputs, coerce_any, has_default
from gert_core.secrets import leaves
from gert_core.template import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Outcome
    from gert_core.documents.runbook import InputModel
    from gert_core.documents.tree import BlockNode, Included
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.run import RunFacts, RunServices
    from gert_core.engine.steps.execution import StepExecution


class IncludedRun(Run):
    """The steps of an included runbook as a part of the run that they are in."""

    __slots__ = ()

    def __init__(self, facts: RunFacts, services: RunServices, around: Run) -> None:
        super().__init__(facts, services)
        self.top = around.top
        self.doubts, self.refusals = around.doubts, around.refusals

    def reach(self, outcome: Outcome) -> None:
        """Take note of an end, which is none of the run."""
        self.possible.append(outcome)


def run_included(
    execution: StepExecution,
    node: BlockNode,
    *,
    key: int | None,
    branch: Mapping[str, object] | None,
    caught: bool,
) -> Signal | None:
    """Run the runbook; return what stops the step, or an end with the outcome.

    In dry-run and probe the outcome of that end may be missing: it is known only in a real run.
    """
    try:
        run = _enter(execution, node)
    except StepProblem as problem:
        return Signal(rank=Rank.FAILED, failures=(_failure(execution, problem.kind, problem.message),))
    frame = child_frame(execution, run.variables(), key=key, branch=branch, caught=caught)
    frame.passed = f"{execution.frame.passed}[{execution.compiled.id}]{again_in(execution.key)}"
    signal = run.run_lists(frame)
    execution.run.doubts = run.doubts
    return _at_boundary(execution, node, run, signal)


def serializes_included(run: Run, node: BlockNode) -> bool:
    """Return whether a policy requires that branches with such a runbook run one after another."""
    from gert_core.engine.flow.fork import serializes

    assert node.included is not None  # noqa: S101 - asked by the caller
    documents, name = _documents(run), node.included.name
    policies = documents.policies(run.facts.policies, name)
    facts = replace(run.facts, compiled=documents.compiled[name], policies=policies, document=name)
    inner = IncludedRun(facts, run.services, run)
    return any(serializes(inner, step) for listed in node.included.runbook.lists for step in listed.steps)


def _documents(run: Run) -> IncludedDocuments:
    assert run.facts.documents is not None  # noqa: S101 - there is something to include
    return run.facts.documents


def _enter(execution: StepExecution, node: BlockNode) -> IncludedRun:
    """Return the included runbook ready to run; raise ``StepProblem`` when it cannot be entered."""
    assert node.included is not None  # noqa: S101 - asked by the caller
    included, facts, services = node.included, execution.facts, execution.services
    documents, name = _documents(execution.run), included.name
    step = facts.runbook.functions.includes(execution.compiled.node, execution.step)[int(node.path[-1])]
    values = _bind(execution, included, step.inputs)
    about = run_variables(
        facts.run_id, included.runbook.name, actor=facts.actor, mode=facts.mode, started=facts.started
    )
    try:
        constants = render_constants(included.runbook.model.meta.constants, values, about=about, masker=services.masker)
    except DocumentError as error:
        raise StepProblem(error.kind, f"{included.runbook.document.file}: {error.message}") from None
    within = replace(
        facts,
        compiled=documents.compiled[name],
        policies=documents.policies(facts.policies, name),
        secrets=documents.secrets[name],
        inputs=ResolvedInputs(values=values, sources=dict.fromkeys(values, "caller"), events=()),
        constants=constants,
        document=name,
        callers=(*facts.callers, facts.runbook.document.digest),
    )
    return IncludedRun(within, replace(services, determinism=documents.determinism[name]), execution.run)


def _bind(execution: StepExecution, included: Included, given: Mapping[str, object]) -> dict[str, object]:
    """Return the inputs of an included runbook: what the step gives, and defaults; its sources are not asked."""
    declared, file = included.runbook.model.meta.inputs, included.runbook.document.file
    for name in given:
        if name not in declared:
            raise StepProblem(ErrorKind.INPUT_UNKNOWN, f"{file} has no input {name!r}")
    values: dict[str, object] = {}
    for name, model in declared.items():
        value = given.get(name)
        if value is None and has_default(model):
            value = model.default
        if value is None and model.required:
            place = declared_at(included.runbook, name)
            raise StepProblem(ErrorKind.INPUT_MISSING, f"{file} needs the input {name!r}, declared at {place}")
        values[name] = value
        if value is None or isinstance(value, Symbol) or _is_open(execution, value):
            continue
        values[name] = _checked(included, name, model, value)
        if model.secret:
            _mask(execution, name, values[name])
    return values


def _is_open(execution: StepExecution, value: object) -> bool:
    """Return whether a text has parts that are known only in a real run."""
    return execution.services.backend.symbolic and isinstance(value, str) and "{{" in value


def _checked(included: Included, name: str, model: InputModel, value: object) -> object:
    try:
        value = coerce_any(value, model.type)
        check_limits(model, value)
    except ValueError as error:
        why = "its value is secret and not shown" if model.secret else str(error)
        place = declared_at(included.runbook, name)
        raise StepProblem(
            ErrorKind.INPUT_TYPE, f"input {name!r}, declared at {place}, is not accepted: {why}"
        ) from None
    return value


def _mask(execution: StepExecution, name: str, value: object) -> None:
    """Mask a secret input from now on, by the step's key; raise ``StepProblem`` when it is too short for that."""
    for label, leaf in leaves(f"{execution.key}.{name}", value):
        try:
            execution.services.masker.learn(label, leaf)
        except InputError as error:
            raise StepProblem(error.kind, f"input {name!r}: {error.message}") from None


def _at_boundary(execution: StepExecution, node: BlockNode, run: Run, signal: Signal | None) -> Signal:
    """Return what the end of an included runbook means for the step around it."""
    symbolic = execution.services.backend.symbolic
    if symbolic and (signal is None or signal.rank is Rank.ENDED):
        certain = signal is not None and len(run.possible) == 1
        return Signal(rank=Rank.ENDED, outcome=run.possible[0] if certain else None)
    signal = signal or NO_OUTCOME
    if signal.rank is Rank.DENIED and all(failure.status != "skipped" for failure in signal.ordered):
        # Its cleanup failed after its end: it has no outcome, and that is a failure of the step.
        signal = replace(signal, rank=Rank.FAILED)
    if any(not failure.key for failure in signal.failures):
        signal = replace(signal, failures=tuple(_own(execution, node, failure) for failure in signal.failures))
    return signal


def _own(execution: StepExecution, node: BlockNode, failure: Failure) -> Failure:
    """Return a failure of an included runbook as a whole as one of the step."""
    return failure if failure.key else _failure(execution, failure.kind, f"{node.name}: {failure.message}")


def _failure(execution: StepExecution, kind: str, message: str) -> Failure:
    return Failure(key=execution.key, step_id=execution.compiled.id, status="error", kind=kind, message=message)


__all__ = ["IncludedRun", "run_included", "serializes_included"]
