"""Model and run of ``manual``: instructions, then evidence item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec.structs import replace
from pydantic import BeforeValidator, Field

from gert_core.api import (
    WRONG_ANSWERS,
    Answer,
    Completed,
    Declined,
    Errored,
    ErrorKind,
    Failed,
    NoAnswer,
    Question,
    Result,
    StepProblem,
)
from gert_core.kit.answers import answer_fault, chosen, declined, ticked
from gert_core.kit.excerpts import visible
from gert_core.kit.models import StepModel
from gert_step_manual.evidence import Evidence, distinct

if TYPE_CHECKING:
    from gert_core.api import Principal, StepContext

_TYPES: Final = {"text": "string", "choice": "string", "checklist": "object", "attachment": "object"}


class ManualStep(StepModel):
    """A task for a person."""

    instructions: str = Field(description="What to do, shown to the person.")
    required_evidence: Annotated[list[Evidence], BeforeValidator(distinct)] = Field(
        default_factory=list, description="The evidence to provide, asked for in this order."
    )


def outputs(step: ManualStep) -> dict[str, str]:
    """Return the names of the evidence: they are the step's outputs."""
    return {evidence.name: _TYPES[evidence.kind] for evidence in step.required_evidence}


def detail(step: ManualStep) -> str:
    """Return the instructions, and the evidence that is asked for with what may be chosen or ticked."""
    asked = [
        f"{one.name} ({one.kind}{': ' if one.items or one.options else ''}{', '.join(one.items or one.options)})"
        for one in step.required_evidence
    ]
    return step.instructions if not asked else f"{step.instructions.rstrip()}; evidence: {'; '.join(asked)}"


def run(step: ManualStep, ctx: StepContext) -> Result:
    """Show the instructions, then ask for a confirmation or for each piece of evidence."""
    given: dict[str, object] = {}
    who: Principal | None = None
    try:
        if not step.required_evidence:
            who = _confirm(step.instructions, ctx)
        for position, evidence in enumerate(step.required_evidence):
            value, who = _collect(evidence, step, ctx, position)
            given[evidence.name] = value
    except NoAnswer as error:
        return Errored(kind=ErrorKind.EVIDENCE_UNAVAILABLE, message=str(error) or "the questions could not be answered")
    except Declined as refusal:
        by = refusal.principal or who
        return Failed(kind=ErrorKind.REJECTED, message=refusal.message, outputs=given, principal=by)
    missing = [
        f"{name}: {item}"
        for name, value in given.items()
        if isinstance(value, dict) and set(map(type, value.values())) == {bool}
        for item, done in value.items()
        if not done
    ]
    if missing:
        return Failed(
            kind=ErrorKind.CHECKLIST_INCOMPLETE, message="not done: " + ", ".join(missing), outputs=given, principal=who
        )
    return Completed(outputs=given, principal=who)


def _confirm(instructions: str, ctx: StepContext) -> Principal | None:
    """Ask until the answer is a confirmation, or raise ``NoAnswer``; raise ``Declined`` when it is a no."""
    lead = f"{instructions}\n"
    for _ in range(WRONG_ANSWERS):
        prompt = f"{lead}  [Enter] when done, or `reject REASON`: "
        question = Question(name="confirm", kind="confirm", prompt=prompt, title="done?", instructions=instructions)
        answer = ctx.ask(question)
        text = _text(answer, "confirm")
        fault = answer_fault("confirm", (), text)
        if answer.canned or fault is None:
            return answer.principal
        lead = f"  {fault}\n"
    raise NoAnswer(f"{WRONG_ANSWERS} answers could not be used. {lead.strip()}")


def _collect(
    evidence: Evidence, step: ManualStep, ctx: StepContext, position: int, *, lead: str | None = None
) -> tuple[object, Principal | None]:
    """Ask until the answer is usable, or raise ``NoAnswer``; an answer from a scenario is taken as it is.

    What is missing from a checklist is asked about once more, with a ``lead`` of its own.
    """
    again = lead is None
    lead = lead or ""
    for _ in range(WRONG_ANSWERS):
        question = _question(evidence, step, position, lead)
        answer = ctx.ask(replace(question, following=_following(step, position)))
        if answer.canned:
            return _canned(evidence, answer.value, ctx), answer.principal
        text = _text(answer, evidence.kind)
        fault = answer_fault(evidence.kind, question.items, text)
        if fault is None and evidence.kind == "attachment":
            try:
                return ctx.attach(text), answer.principal
            except StepProblem as problem:
                fault = problem.message
        if fault is not None:
            lead = f"  {fault}\n"
            continue
        if evidence.kind == "choice":
            return chosen(text, evidence.options), answer.principal
        if evidence.kind != "checklist":
            return text, answer.principal
        found = ticked(text, evidence.items) or {}
        if again and not all(found.values()):
            return _once_more(evidence, found, answer.principal, (step, ctx, position))
        return found, answer.principal
    raise NoAnswer(f"{WRONG_ANSWERS} answers to {evidence.name} could not be used. {lead.strip()}")


def _canned(evidence: Evidence, value: object, ctx: StepContext) -> object:
    """Return an answer of a scenario as evidence; raise ``NoAnswer`` when it is none of that kind."""
    if evidence.kind == "checklist":
        done = [item for item, is_done in value.items() if is_done is True] if isinstance(value, dict) else value
        known = [*value] if isinstance(value, dict) else done
        if isinstance(done, list) and isinstance(known, list) and all(item in evidence.items for item in known):
            return {item: item in done for item in evidence.items}
        wanted = f"a list of what is done, of: {', '.join(evidence.items)}"
    elif evidence.kind == "choice":
        if value in evidence.options:
            return value
        wanted = f"one of: {', '.join(evidence.options)}"
    elif evidence.kind == "attachment":
        if isinstance(value, str):
            return ctx.attach(value)
        if isinstance(value, dict):
            return value
        wanted = "the path of a file"
    else:
        if not isinstance(value, (dict, list)):
            return value
        wanted = "a text"
    raise NoAnswer(f"the scenario answers {evidence.name} with {value!r}, not with {wanted}")


def _once_more(
    evidence: Evidence, found: dict[str, bool], who: Principal | None, asked: tuple[ManualStep, StepContext, int]
) -> tuple[dict[str, bool], Principal | None]:
    """Ask once more about what was not ticked; what is not done then stays so."""
    missing = [item for item, done in found.items() if not done]
    lead = "  Not everything is done. Once more, before the step fails:\n"
    try:
        more, who = _collect(evidence.model_copy(update={"items": missing}), *asked, lead=lead)
    except NoAnswer:
        return found, who
    return {**found, **more} if isinstance(more, dict) else found, who


def _question(evidence: Evidence, step: ManualStep, position: int, lead: str = "") -> Question:
    """Return one question of a step; the first shows what to do, unless it is asked again."""
    title = evidence.description or evidence.name
    if not lead and position == 0:
        lead = f"{step.instructions}\n"
    return Question(
        name=evidence.name,
        kind=evidence.kind,
        prompt=lead + _prompt(evidence, title),
        items=tuple(evidence.items or evidence.options),
        title=title,
        instructions=step.instructions,
    )


def _following(step: ManualStep, position: int) -> tuple[Question, ...]:
    """Return the questions after one, for people who are asked for all of them at once."""
    rest = range(position + 1, len(step.required_evidence))
    return tuple(_question(step.required_evidence[number], step, number) for number in rest)


def _prompt(evidence: Evidence, title: str) -> str:
    # One line each: what comes from data must not look like a line of gert's own.
    title = visible(title)
    points = "\n".join(f"    {n}. {visible(item)}" for n, item in enumerate(evidence.items or evidence.options, 1))
    if evidence.kind == "choice":
        return f"  {title}:\n{points}\n  answer (a number or the words, or `reject REASON`): "
    if evidence.kind == "checklist":
        return f"  {title}:\n{points}\n  done (numbers or items, `all`, `none`, or `reject REASON`): "
    if evidence.kind == "attachment":
        return f"  {title} (path of a file, or `reject REASON`): "
    return f"  {title} (text, or `reject REASON`): "


def _text(answer: Answer, kind: str) -> str:
    """Return the line given; raise ``Declined`` when a scenario rejects, as a person may at any question."""
    text = "" if answer.canned and not isinstance(answer.value, str) else str(answer.value).strip()
    reason = declined(kind, text)
    if reason is not None:
        raise Declined(reason, principal=answer.principal)
    return text


__all__ = ["ManualStep", "detail", "outputs", "run"]
