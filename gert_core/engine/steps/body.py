"""Render a step's own fields: find the templates in them once per step."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from gert_core.api import ErrorKind, StepProblem
from gert_core.documents.model_errors import model_errors, path_text
from gert_core.kit.excerpts import quotable
from gert_core.kit.models import EXPR, RAW, STEPS
from gert_core.plugin.printing import here
from gert_core.template import Symbol, compile_value, limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.documents.tree import StepNode
    from gert_core.template import Template, Variables

_LATER: Final = frozenset({EXPR, RAW, STEPS})
_RENDERED: Final = {"rendered": True}
"""What validators are told when every template has its value."""


class ModelFailed(Exception):  # noqa: N818 - its cause is the error
    """A validator of a step's model raised something else than it may."""


class Body:
    """The renderer of a step's own fields, which are validated again; without templates the model as read."""

    __slots__ = ("_json", "_model", "_read", "_render", "static")

    def __init__(self, node: StepNode) -> None:
        cls: type[BaseModel] = type(node.body)
        known = _fields(cls)
        self._model = cls
        self._json = _has_json_fields(cls)
        self._render = _plan_map({name: (node.raw[name], known[name]) for name in node.raw if name in known})
        self._read = node.body
        self.static = self._render is None
        """Whether the body has no templates, so that every execution has the same."""

    def render(self, variables: Variables, *, partial: bool = False) -> Any:
        """Return the model with every template rendered; ``partial`` leaves values known only in a real run."""
        if self._render is None:
            return self._read
        rendered = self._render(variables, partial)
        before, here.inside = here.inside, True
        try:
            return self._model.model_validate(rendered, context=None if partial else _RENDERED)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = path_text(model_errors(error, rendered)[0].path)
            told = first["msg"]
            told = f"`{where}` {told[6:]}" if told.startswith("Input should") else f"{where}: {told}"
            shown = repr(quotable(first["input"]))
            rendered_to = "" if shown in told else f", but it rendered to {shown}"
            raise StepProblem(ErrorKind.WRONG_TYPE, f"{told}{rendered_to}") from None
        except Exception as error:
            raise ModelFailed from error
        finally:
            here.inside = before

    def dump(self, step: BaseModel) -> dict[str, object]:
        """Return the fields that were given as JSON data; dates, paths and the like are texts."""
        given = step.model_dump(by_alias=True, exclude_unset=True)
        return given if self._json else _to_json(given)  # type: ignore[return-value]


class _Shape:
    """How a field is rendered, computed once per model from its annotation: leave, descend, or render."""

    __slots__ = ("item", "later", "model")

    def __init__(self, annotation: object) -> None:
        self.model: type[BaseModel] | None = None
        self.item: _Shape | None = None
        self.later = False
        if isinstance(annotation, type) and not get_args(annotation):
            self.model = annotation if issubclass(annotation, BaseModel) else None
            return
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            self.later = any(isinstance(mark, str) and mark in _LATER for mark in args[1:])
            args = args[:1]
        elif origin in (list, tuple, dict):
            self.item = _Shape(args[-1 if origin is dict else 0])
            return
        for option in args:
            found = _Shape(option)
            self.model = self.model or found.model
            self.item = self.item or found.item
            self.later = self.later or found.later


_ANY: Final = _Shape(Any)


@cache
def _fields(cls: type[BaseModel]) -> dict[str, _Shape]:
    """Return the shape of every field by the name it has in documents."""
    return {field.alias or name: _Shape(_full(field)) for name, field in cls.model_fields.items()}


@cache
def _has_json_fields(cls: type[BaseModel]) -> bool:
    """Return whether the values of a model's fields are JSON data as they are."""
    return _is_json(cls, set())


def _is_json(annotation: Any, seen: set[object]) -> bool:
    if annotation is Any or annotation is None:
        return True
    if isinstance(annotation, type) and not get_args(annotation):
        if not issubclass(annotation, BaseModel):
            return issubclass(annotation, (str, int, float, list, dict, tuple, type(None)))
        if annotation in seen:
            return True
        seen.add(annotation)
        return all(_is_json(field.annotation, seen) for field in annotation.model_fields.values())
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return True
    if origin is Annotated:
        return _is_json(args[0], seen)
    return origin in (Union, UnionType, list, dict, tuple) and all(one is ... or _is_json(one, seen) for one in args)


def _to_json(value: object) -> object:
    """Return JSON data for what a model has after validation; sets are sorted, to be the same in every process."""
    if isinstance(value, dict):
        return {str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_to_json(item) for item in value), key=str)
    if value is None or isinstance(value, (str, int, float, Symbol)):
        return value
    try:
        return to_jsonable_python(value)
    except ValueError as error:
        raise StepProblem(ErrorKind.WRONG_TYPE, f"a field of the step cannot be written as JSON: {error}") from None


def _full(field: Any) -> Any:
    """Return a field's annotation with the markers pydantic took out of it."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _plan(raw: object, shape: _Shape) -> Callable[[Variables, bool], object] | None:
    """Return a function that renders ``raw``, or None when nothing in it is a template."""
    if shape.later:
        return None
    if isinstance(raw, dict) and (shape.model is not None or shape.item is not None):
        if shape.model is not None:
            known = _fields(shape.model)
            return _plan_map({key: (value, known.get(key, _ANY)) for key, value in raw.items()})
        return _plan_map({key: (value, shape.item or _ANY) for key, value in raw.items()})
    if isinstance(raw, list) and shape.item is not None:
        return _plan_list(raw, shape.item)
    template = compile_value(raw)
    return None if template.static else _of_template(template)


def _of_template(template: Template) -> Callable[[Variables, bool], object]:
    whole, part = template.render, template.render_partial
    return lambda variables, partial: part(variables) if partial else whole(variables)


def _plan_map(parts: dict[str, tuple[object, _Shape]]) -> Callable[[Variables, bool], object] | None:
    constant: dict[str, object] = {}
    moving: list[tuple[str, Callable[[Variables, bool], object]]] = []
    for key, (value, shape) in parts.items():
        constant[key] = value
        plan = _plan(value, shape)
        if plan is not None:
            moving.append((key, plan))
    if not moving:
        return None
    names = {key for key, _ in moving}
    limited = limit(len(moving), (value for key, value in constant.items() if key not in names))

    def render(variables: Variables, partial: bool) -> object:
        out = dict(constant)  # keeps the order of the document
        for key, plan in moving:
            out[key] = plan(variables, partial)
        return limited(out)

    return render


def _plan_list(raw: list[object], shape: _Shape) -> Callable[[Variables, bool], object] | None:
    plans = [_plan(value, shape) for value in raw]
    if not any(plans):
        return None
    parts = list(zip(raw, plans, strict=True))
    constant = [value for value, plan in parts if plan is None]
    limited = limit(len(parts) - len(constant), constant)

    def render(variables: Variables, partial: bool) -> object:
        return limited([value if plan is None else plan(variables, partial) for value, plan in parts])

    return render


__all__ = ["Body", "ModelFailed"]
