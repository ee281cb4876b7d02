"""The evidence that a person provides: its kinds, and what belongs to each."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.kit.models import StepModel

_YES_OR_NO: Final = "write `kind: choice` and, beside it, `options: [yes, no]`"
_CALLED: Final = {
    **dict.fromkeys(("boolean", "bool", "confirm", "confirmation", "checkbox", "yesno", "yes_no"), _YES_OR_NO),
    **dict.fromkeys(("select", "enum", "radio", "dropdown", "option", "options"), "write `kind: choice`"),
    **dict.fromkeys(("checkboxes", "multiselect", "multichoice", "list", "todo"), "write `kind: checklist`"),
    **dict.fromkeys(("file", "upload", "screenshot", "image", "photo"), "write `kind: attachment`"),
    **dict.fromkeys(("string", "str", "note", "notes", "comment", "textarea", "input"), "write `kind: text`"),
    **dict.fromkeys(("number", "int", "integer", "float", "date", "url"), "write `kind: text`"),
}
"""What kinds of answers are called elsewhere, with the hint about them."""
_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_-]*$"


def _known(kind: object) -> object:
    """Refuse what a kind is called elsewhere, with what it is here."""
    hint = _CALLED.get(kind.strip().lower()) if isinstance(kind, str) else None
    if hint is not None:
        message = f"`kind` should be 'text', 'choice', 'checklist' or 'attachment', not the string {kind!r}"
        raise PydanticCustomError("wrong-type", "{message}", {"message": message, "hint": hint})
    return kind


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

    kind: Annotated[Literal["text", "choice", "checklist", "attachment"], BeforeValidator(_known)] = Field(
        description="What is asked for."
    )
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
            add = "rename `options` to `items`" if self.options else "add `items: [...]`"
            hint = {"hint": "write `kind: checklist`, or remove `items`" if self.items else add}
            raise PydanticCustomError("evidence-shape", "`items` belongs to a checklist and a checklist needs it", hint)
        if (self.kind == "choice") != bool(self.options):
            hint = {"hint": "write `kind: choice`, or remove `options`" if self.options else "add `options: [...]`"}
            raise PydanticCustomError("evidence-shape", "`options` belongs to a choice and a choice needs it", hint)
        if len(self.options) != len(set(self.options)):
            hint = {"hint": "remove one of them"}
            raise PydanticCustomError("evidence-shape", "a choice has the same option twice", hint)
        return self


def distinct(value: object) -> object:
    """Refuse a list of evidence with the same name twice."""
    names = [e.get("name") for e in value if isinstance(e, dict)] if isinstance(value, list) else []
    if len(names) != len(set(map(str, names))):
        hint = {"hint": "give one of them another name"}
        raise PydanticCustomError("evidence-shape", "two pieces of evidence have the same name", hint)
    return value


__all__ = ["Evidence", "distinct"]
