"""Model and run of ``manual``: instructions, then evidence item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.api import (
    WRONG_ANSWERS,
    Answer,
    Completed,
    Errored,
    ErrorKind,
    Failed,
    NoAnswer,
    Question,
    Result,
    StepProblem,
)
from gert_core.kit.models import StepModel

if TYPE_CHECKING:
    from gert_core.api import Principal, StepContext

_TYPES: Final = {"text": "string", "choice": "string", "checklist": "object", "attachment": "object"}
_YES: Final = ("y", "yes")
_NO: Final = ("n", "no")
_BY_OPERATOR: Final = "rejected by the operator"
_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_-]*$"


class Evidence(StepModel):
    """One piece of evidence the person must provide."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"properties": {"kind": {"const": kind}}},
                    "then": {"required": [field], "properties": {field: {"minItems": 1}}},
                    "else": {"properties": {field: {"maxItems": 0}}},
                }
                for kind, field in (("checklist", "items"), ("choice", "options"))
            ],
        }
    )

    kind: Literal["text", "choice", "checklist", "attachment"] = Field(description="What is asked for.")
    name: str = Field(pattern=_NAME, description="The output with the answer.")
    description: str | None = Field(default=None, description="Shown to the person.")
    items: list[str] = Field(default_factory=list, description="The items of a checklist.")
    options: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list,
        description="The answers of a choice, one of which is given.",
        json_schema_extra={"uniqueItems": True},
    )

    @model_validator(mode="after")
    def _shape(self) -> Evidence:
        if (self.kind == "checklist") != bool(self.items):
            raise PydanticCustomError(
                "evidence-shape",
                "`items` belongs to a checklist and a checklist needs it",
            )
        if (self.kind == "choice") != bool(self.options):
            raise PydanticCustomError("evidence-shape", "`options` belongs to a choice and a choice needs it")
        if len(self.options) != len(set(self.options)):
            raise PydanticCustomError("evidence-shape", "a choice has the same option twice")
        return self


def _distinct(value: object) -> object:
    names = [e.get("name") for e in value if isinstance(e, dict)] if isinstance(value, list) else []
    if len(names) != len(set(map(str, names))):
        raise PydanticCustomError("evidence-shape", "two pieces of evidence have the same name")
    return value


class ManualStep(StepModel):
    """A task for a person."""

    instructions: str = Field(description="What to do, shown to the person.")
    required_evidence: Annotated[list[Evidence], BeforeValidator(_distinct)] = Field(
        default_factory=list, description="The evidence to provide, asked for in this order."
    )


class _Rejected(Exception):  # noqa: N818 - a person's answer
    def __init__(self, reason: str) -> None:
        super().__init__(reason)


def outputs(step: ManualStep) -> dict[str, str]:
    """Return the names of the evidence: they are the step's outputs."""
    return {evidence.name: _TYPES[evidence.kind] for evidence in step.required_evidence}


def run(step: ManualStep, ctx: StepContext) -> Result:
    """Show the instructions, then ask for a confirmation or for each piece of evidence."""
    given: dict[str, object] = {}
    who: Principal | None = None
    try:
        if not step.required_evidence:
            who = _confirm(step.instructions, ctx)
        for position, evidence in enumerate(step.required_evidence):
            lead = f"{step.instructions}\n" if position == 0 else ""
            value, who = _collect(evidence, lead, ctx)
            given[evidence.name] = value
    except NoAnswer as error:
        return Errored(kind=ErrorKind.EVIDENCE_UNAVAILABLE, message=str(error) or "the questions could not be answered")
    except _Rejected as rejected:
        return Failed(kind=ErrorKind.REJECTED, message=str(rejected), outputs=given, principal=who)
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
    """Ask until the answer is a confirmation, or raise ``NoAnswer``; raise ``_Rejected`` when it is a no."""
    lead = f"{instructions}\n"
    for _ in range(WRONG_ANSWERS):
        prompt = f"{lead}  [Enter] when done, or `reject REASON`: "
        answer = ctx.ask(Question(name="confirm", kind="confirm", prompt=prompt))
        text = _text(answer).lower()
        if text in _NO:
            raise _Rejected(_BY_OPERATOR)
        if answer.canned or not text or text in _YES:
            return answer.principal
        lead = "  Answer with Enter or `yes`, or with `no`.\n"
    raise NoAnswer(f"{WRONG_ANSWERS} answers could not be used. {lead.strip()}")


def _collect(evidence: Evidence, lead: str, ctx: StepContext, *, again: bool = True) -> tuple[object, Principal | None]:
    """Ask until the answer is usable, or raise ``NoAnswer``; an answer from a scenario is taken as it is.

    ``again``: what is missing from a checklist is asked about once more.
    """
    title = evidence.description or evidence.name
    for _ in range(WRONG_ANSWERS):
        question = Question(
            name=evidence.name,
            kind=evidence.kind,
            prompt=lead + _prompt(evidence, title),
            items=tuple(evidence.items or evidence.options),
        )
        answer = ctx.ask(question)
        if answer.canned:
            if evidence.options and answer.value not in evidence.options:
                known = ", ".join(evidence.options)
                raise NoAnswer(f"the scenario answers {evidence.name} with {answer.value!r}, not with one of: {known}")
            return answer.value, answer.principal
        text = _text(answer)
        if evidence.kind == "checklist":
            ticked = _ticked(text, evidence.items)
            if ticked is not None and again and not all(ticked.values()):
                return _once_more(evidence, ticked, answer.principal, ctx)
            if ticked is not None:
                return ticked, answer.principal
            lead = f"  Answer with numbers from 1 to {len(evidence.items)}, `all` or `none` (`yes`, `no`).\n"
        elif evidence.kind == "choice":
            chosen = _chosen(text, evidence.options)
            if chosen is not None:
                return chosen, answer.principal
            lead = f"  Answer with a number from 1 to {len(evidence.options)}, or with one of the answers.\n"
        elif not text:
            lead = "  An answer is needed.\n"
        elif evidence.kind == "attachment":
            try:
                return ctx.attach(text), answer.principal
            except StepProblem as problem:
                lead = f"  {problem.message}\n"
        else:
            return text, answer.principal
    raise NoAnswer(f"{WRONG_ANSWERS} answers to {evidence.name} could not be used. {lead.strip()}")


def _once_more(
    evidence: Evidence, ticked: dict[str, bool], who: Principal | None, ctx: StepContext
) -> tuple[dict[str, bool], Principal | None]:
    """Ask once more about what was not ticked; what is not done then stays so."""
    missing = [item for item, done in ticked.items() if not done]
    lead = "  Not everything is done. Once more, before the step fails:\n"
    try:
        more, who = _collect(evidence.model_copy(update={"items": missing}), lead, ctx, again=False)
    except NoAnswer:
        return ticked, who
    return {**ticked, **more} if isinstance(more, dict) else ticked, who


def _prompt(evidence: Evidence, title: str) -> str:
    points = "\n".join(f"    {n}. {item}" for n, item in enumerate(evidence.items or evidence.options, 1))
    if evidence.kind == "choice":
        return f"  {title}:\n{points}\n  answer (a number or the words, or `reject REASON`): "
    if evidence.kind == "checklist":
        return f"  {title}:\n{points}\n  done (numbers, `all`, `none`, or `reject REASON`): "
    if evidence.kind == "attachment":
        return f"  {title} (path of a file, or `reject REASON`): "
    return f"  {title} (text, or `reject REASON`): "


def _text(answer: Answer) -> str:
    """Return the line typed; ``reject [reason]`` is a rejection wherever it is typed."""
    if answer.canned and not isinstance(answer.value, str):
        return ""
    text = str(answer.value).strip()
    word, _, reason = text.partition(" ")
    if word.lower() == "reject":
        raise _Rejected(reason.strip() or _BY_OPERATOR)
    return text


def _chosen(text: str, options: list[str]) -> str | None:
    """Return the option that a line means: by its words, else by its number."""
    for option in options:
        if option.casefold() == text.casefold():
            return option
    return options[int(text) - 1] if text.isdecimal() and 1 <= int(text) <= len(options) else None


def _ticked(text: str, items: list[str]) -> dict[str, bool] | None:
    low = text.lower()
    if low == "all" or low in _YES:
        return dict.fromkeys(items, True)
    if low == "none" or low in _NO:
        return dict.fromkeys(items, False)
    words = low.replace(",", " ").split()
    if not words or not all(word.isdigit() and 1 <= int(word) <= len(items) for word in words):
        return None
    chosen = {int(word) - 1 for word in words}
    return {item: index in chosen for index, item in enumerate(items)}


__all__ = ["Evidence", "ManualStep", "outputs", "run"]
