"""Find the templates and conditions of a step by the annotations of its model."""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import BaseModel

from gert_core.kit.models import EXPR, LENIENT, RAW, STEPS, InputsModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.tree import Path

SKIP: Final = "skip"
TEMPLATE: Final = "template"
CONDITION: Final = "condition"
LENIENT_CONDITION: Final = "lenient condition"
_MARKERS: Final = {LENIENT: LENIENT_CONDITION, EXPR: CONDITION, RAW: SKIP, STEPS: SKIP}
_DEPTH: Final = 60


class TemplateText(NamedTuple):
    """One string (or boolean condition) of a document that is evaluated, with its path."""

    value: Any
    condition: bool
    path: Path
    lenient: bool = False
    """Whether what the steps inside the step set may be undefined in it."""


class FieldPlan:
    """How to read the values of one model: a plan per field, or one for the members of a list or map."""

    __slots__ = ("fields", "members", "takes_inputs")

    def __init__(
        self,
        *,
        fields: Mapping[str, FieldPlan | str] | None = None,
        members: FieldPlan | str | None = None,
        takes_inputs: bool = False,
    ) -> None:
        self.fields = fields
        self.members = members
        self.takes_inputs = takes_inputs
        """Whether it is the model of steps that take ``inputs``."""


class Plans:
    """The plans of all models, each computed once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[type[BaseModel], FieldPlan] = {}

    def of(self, model: type[BaseModel]) -> FieldPlan:
        """Return the plan of a model, computed from its fields' annotations."""
        known = self._known.get(model)
        if known is None:
            fields: dict[str, FieldPlan | str] = {}
            known = self._known[model] = FieldPlan(fields=fields, takes_inputs=issubclass(model, InputsModel))
            for name, field in model.model_fields.items():
                plan = self._marked(field.metadata) or self._annotation(field.annotation)
                if plan != SKIP:
                    fields[field.alias or name] = plan
        return known

    def _marked(self, metadata: typing.Iterable[object]) -> str | None:
        marks = [mark for mark in metadata if isinstance(mark, str)]
        return next((plan for mark, plan in _MARKERS.items() if mark in marks), None)

    def _annotation(self, annotation: object) -> FieldPlan | str:
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            inner, *metadata = typing.get_args(annotation)
            return self._marked(metadata) or self._annotation(inner)
        if origin in (typing.Union, types.UnionType):
            plans = [self._annotation(arg) for arg in typing.get_args(annotation) if arg is not type(None)]
            return next((plan for plan in plans if plan != TEMPLATE), TEMPLATE)
        if origin in (list, tuple, dict):
            args = [arg for arg in typing.get_args(annotation) if arg is not Ellipsis]
            members = self._annotation(args[-1]) if args else TEMPLATE
            return TEMPLATE if members == TEMPLATE else FieldPlan(members=members)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return self.of(annotation)
        return TEMPLATE


def texts(raw: object, plan: FieldPlan | str, *, path: Path, found: list[TemplateText]) -> None:
    """Add every string below ``raw`` that may be evaluated; ``path`` is where ``raw`` is."""
    if not isinstance(plan, FieldPlan):
        if plan == TEMPLATE:
            templates(raw, path=path, found=found)
        elif plan == CONDITION:
            found.append(TemplateText(raw, True, path))
        elif plan == LENIENT_CONDITION:
            found.append(TemplateText(raw, True, path, lenient=True))
    elif isinstance(raw, dict):
        fields, members = plan.fields, plan.members
        for key, value in raw.items():
            below = members if fields is None else fields.get(key)
            if below is TEMPLATE:
                # Most fields are short strings without templates, so they are skipped without another call.
                if type(value) is not str or "{" in value:
                    templates(value, path=(*path, key), found=found)
            elif below is not None:
                texts(value, below, path=(*path, key), found=found)
    elif isinstance(raw, list):
        below = plan.members if plan.members is not None else plan
        for index, value in enumerate(raw):
            texts(value, below, path=(*path, index), found=found)


def templates(raw: object, *, path: Path, found: list[TemplateText]) -> None:
    """Add every string below ``raw`` that contains a template."""
    if type(raw) is str:
        if "{" in raw:
            found.append(TemplateText(raw, False, path))
    elif isinstance(raw, dict):
        for key, value in raw.items():
            if type(value) is not str or "{" in value:
                templates(value, path=(*path, key), found=found)
    elif isinstance(raw, list):
        for index, value in enumerate(raw):
            if type(value) is not str or "{" in value:
                templates(value, path=(*path, index), found=found)


def offset_of(text: str, *, path: Sequence[str], offset: int) -> int:
    """Return the offset of the variable in the text; that of its expression when it is spelt in another way there."""
    end = text.find("}}", offset)
    found = text.find(path[0], offset, end if end >= 0 else len(text))
    if found < 0:
        return offset
    return found - 1 if found and text[found - 1] == "." else found


__all__ = [
    "CONDITION",
    "LENIENT_CONDITION",
    "SKIP",
    "TEMPLATE",
    "FieldPlan",
    "Plans",
    "TemplateText",
    "offset_of",
    "templates",
    "texts",
]
