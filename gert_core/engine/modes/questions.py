"""Ask a person for a step: the question is on disk before it is shown, and its answer before the step goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.structs import replace

from gert_core.api import Answer, Declined, ErrorKind, EventType, NoAnswer, StepProblem
from gert_core.engine.journal import principal_of
from gert_core.engine.signals import Rank, Signal, Unwind
from gert_core.kit.answers import declined

if TYPE_CHECKING:
    from gert_core.api import Principal, Question
    from gert_core.engine.steps.execution import StepExecution


def ask_person(execution: StepExecution, question: Question) -> Answer:
    """Return the line that a person gave or types at the terminal.

    Raise ``Declined`` when the person declines, ``NoAnswer`` when questions cannot be asked, and ``Unwind`` when the
    run is suspended until the question is answered. A step that ends between the two events did nothing but ask, so
    it may be asked again; unless it acted before, which its question tells.
    """
    facts, services = execution.facts, execution.services
    _refuse_late(execution, question)  # a pipe that has answers waiting makes no question wait
    prompt = services.masker.mask_text(question.prompt)
    if services.recorded is not None and facts.stored is not None:
        from gert_core.engine.resume.answers import given_answer

        given = given_answer(execution, question, prompt)
        if given is not None:
            return _answered(execution, question, given.line, given.principal, reason=given.declined)
    if _suspends(execution, facts.questions == "suspend"):
        suspend(execution, question, prompt)
    trace_asked(execution, question, prompt)
    services.journal.sync()
    if facts.questions != "ask" or not services.plugins.console.interactive:
        raise NoAnswer(f"{question.name} was asked for, but questions cannot be asked here")
    actor = principal_of(facts.actor)
    # What was typed before a question was shown does not answer it; a pipe has its lines ready.
    fresh: dict[str, Any] = {"fresh": True} if getattr(services.plugins.console, "terminal", False) else {}
    try:
        with services.waits.during(execution.key), services.plugins.console.exclusive():
            reply = services.plugins.console.ask(
                prompt,
                deadline=execution.deadline.under(services.leave),
                question=replace(question, prompt=prompt, step_key=execution.key),
                **fresh,
            )
    except Declined as declining:
        return _answered(execution, question, "", declining.principal or actor, reason=declining.message)
    if reply is None:
        _refuse_late(execution, question)
        if _suspends(execution, False):
            suspend(execution, question, prompt, asked=True)
        raise NoAnswer(f"the input ended before {question.name} was answered")
    line, by = (str(reply.value), reply.principal or actor) if isinstance(reply, Answer) else (reply, actor)
    return _answered(execution, question, line, by, reason=declined(question.kind, line))


def _suspends(execution: StepExecution, wanted: bool) -> bool:
    """Return whether a question suspends the run: as was chosen, or because its host leaves it."""
    leave = execution.services.leave
    if not wanted and (leave is None or not leave.thrown):
        return False
    return execution.facts.mode == "real" and execution.facts.stored is not None


def _answered(execution: StepExecution, question: Question, line: str, by: Principal, *, reason: str | None) -> Answer:
    """Trace that a question was answered, or declined for a ``reason``; return the answer."""
    data: dict[str, object] = {"step_id": execution.compiled.id, "name": question.name, "by": by.id}
    data["declined"] = reason is not None
    execution.add(EventType.QUESTION_ANSWERED, data, principal=by, fresh=True)
    execution.services.journal.sync()
    if execution.claim is not None:
        execution.claim.use(execution)
    if reason is not None:
        raise Declined(reason, principal=by)
    return Answer(value=line, principal=by)


def suspend(execution: StepExecution, question: Question, prompt: str, *, asked: bool = False) -> NoReturn:
    """Leave the step open until its questions are answered; one that acted and must not act again cannot wait.

    ``asked``: the question is in the trace already.
    """
    services, known = execution.services, execution.services.journal.state.questions.get(execution.key)
    if not asked:
        trace_asked(execution, question, prompt)
    if execution.acted and not execution.contract.repeatable:
        raise NoAnswer(f"{question.name} was asked for after the step had acted, so that the run cannot be suspended")
    for later in question.following:
        if known is None or later.name not in known.open:
            trace_asked(execution, later, services.masker.mask_text(later.prompt))
    services.journal.sync()
    services.progress.unanswered(execution.info)
    execution.signals.add([Signal(rank=Rank.SUSPENDED, questions=(execution.key,))])
    raise Unwind


def trace_asked(execution: StepExecution, question: Question, prompt: str) -> None:
    """Trace a question, as a terminal and as other surfaces show it."""
    asked: dict[str, object] = {"name": question.name, "kind": question.kind, "prompt": prompt}
    asked["items"] = list(question.items)
    if question.title:
        asked["title"] = question.title
    if question.instructions:
        asked["instructions"] = question.instructions
    data: dict[str, object] = {"step_id": execution.compiled.id, "question": asked}
    if execution.acted:
        data["acted"] = True
    execution.add(EventType.QUESTION_ASKED, data, fresh=True)


def _refuse_late(execution: StepExecution, question: Question) -> None:
    """Raise ``StepProblem`` when nothing may be asked any more."""
    if execution.deadline.cancelled:
        raise StepProblem(ErrorKind.CANCELLED, "the run was cancelled")
    if execution.deadline.stopped:
        raise StepProblem(ErrorKind.TIMEOUT, f"{question.name} was not answered in time")


__all__ = ["ask_person", "suspend"]
