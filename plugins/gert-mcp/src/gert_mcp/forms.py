"""The questions of a step as a form that clients can show, and a filled-in form as answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KINDS: Final = ("confirm", "text", "choice", "checklist")
"""The kinds of questions that a form can have; a file is attached in other ways."""


class Form(Struct, frozen=True, kw_only=True):
    """The questions of one step."""

    step_key: str
    message: str
    schema: dict[str, Any]
    questions: tuple[Mapping[str, Any], ...]


def form_of(questions: Sequence[Mapping[str, Any]]) -> Form | None:
    """Return a form for the first step that asks; None when there is none, or a form cannot ask it."""
    if not questions:
        return None
    key = str(questions[0].get("step_key"))
    mine = tuple(one for one in questions if str(one.get("step_key")) == key)
    if any(one.get("kind") not in _KINDS or one.get("hidden") for one in mine):
        return None
    titles = [str(one.get("instructions") or one.get("title") or one.get("prompt") or "") for one in mine]
    return Form(
        step_key=key,
        message=f"Step {key} asks: {next(filter(None, titles), key)}",
        schema={
            "type": "object",
            "properties": {str(one["name"]): _property(one) for one in mine},
            "required": [str(one["name"]) for one in mine],
        },
        questions=mine,
    )


def answers_of(form: Form, content: Mapping[str, Any]) -> dict[str, str]:
    """Return the answers as the lines that a person would type: ``yes``, or the numbers of a checklist's items."""
    found: dict[str, str] = {}
    for question in form.questions:
        name = str(question["name"])
        if name in content:
            found[name] = _line(question, content[name])
    return found


def _property(question: Mapping[str, Any]) -> dict[str, Any]:
    title = str(question.get("title") or question.get("prompt") or question["name"])
    items = [str(item) for item in question.get("items") or ()]
    if question["kind"] == "confirm":
        return {"type": "boolean", "title": title}
    if question["kind"] == "choice":
        return {"type": "string", "title": title, "enum": items}
    if question["kind"] == "checklist":
        return {"type": "array", "title": title, "items": {"type": "string", "enum": items}}
    return {"type": "string", "title": title}


def _line(question: Mapping[str, Any], value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        items = [str(item) for item in question.get("items") or ()]
        return ",".join(str(items.index(str(one)) + 1) for one in value if str(one) in items) or "none"
    return str(value)


__all__ = ["Form", "answers_of", "form_of"]
