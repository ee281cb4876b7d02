"""Ask a person for a step: the question is on disk before it is shown, and its answer before the step goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Answer, ErrorKind, EventType, NoAnswer, StepProblem
from gert_core.engine.journal import principal_of

if TYPE_CHECKING:
    from gert_core.api import Question
    from gert_core.engine.steps.execution import StepExecution


def ask_person(execution: StepExecution, question: Question) -> Answer:
    """Return the line a person types at the terminal; raise ``NoAnswer`` without a terminal.

    A step that ends between the two events did nothing but ask, so it may be asked again; unless it acted before, which
    its question tells.
    """
    facts, services = execution.facts, execution.services
    _refuse_late(execution, question)  # a pipe that has answers waiting makes no question wait
    prompt = services.masker.mask_text(question.prompt)
    _trace_asked(execution, question, prompt)
    if not services.plugins.console.interactive:
        raise NoAnswer(f"{question.name} was asked for, but questions cannot be asked here")
    with services.plugins.console.exclusive():
        line = services.plugins.console.ask(prompt, deadline=execution.deadline)
    if line is None:
        _refuse_late(execution, question)
        raise NoAnswer(f"the input ended before {question.name} was answered")
    by = principal_of(facts.actor)
    data = {"step_id": execution.compiled.id, "name": question.name, "by": by.id}
    execution.add(EventType.QUESTION_ANSWERED, data, principal=by, fresh=True)
    services.journal.sync()
    return Answer(value=line, principal=by)


def _trace_asked(execution: StepExecution, question: Question, prompt: str) -> None:
    asked = {"name": question.name, "kind": question.kind, "prompt": prompt, "items": list(question.items)}
    data: dict[str, object] = {"step_id": execution.compiled.id, "question": asked}
    if execution.acted:
        data["acted"] = True
    execution.add(EventType.QUESTION_ASKED, data, fresh=True)
    execution.services.journal.sync()


def _refuse_late(execution: StepExecution, question: Question) -> None:
    """Raise ``StepProblem`` when nothing may be asked any more."""
    if execution.deadline.cancelled:
        raise StepProblem(ErrorKind.CANCELLED, "the run was cancelled")
    if execution.deadline.stopped:
        raise StepProblem(ErrorKind.TIMEOUT, f"{question.name} was not answered in time")


__all__ = ["ask_person"]
