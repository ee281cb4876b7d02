"""Which parts of a step are templates: the renderer of a step's own fields, built once per step."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from gert_core.api import StepProblem
from gert_core.api.models import EXPR, RAW, STEPS
from gert_core.template import compile_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.documents.tree import StepNode
    from gert_core.template import Template, Variables

_LATER = frozenset({EXPR, RAW, STEPS})


class Body:
    """Renders and re-validates a step's own fields; a body without templates is the read model itself."""

    __slots__ = ("_model", "_render", "_static")

    def __init__(self, node: StepNode) -> None:
        cls: type[BaseModel] = type(node.body)
        own = {name: node.raw[name] for name in node.raw if name in _names(cls)}
        self._model = cls
        self._render = _plan(own, cls)
        self._static = node.body if self._render is None else None

    def render(self, variables: Variables, *, partial: bool = False) -> Any:
        """The model with every template rendered; ``partial`` keeps what only a real run can know."""
        if self._render is None:
            return self._static
        rendered = self._render(variables, partial)
        try:
            return self._model.model_validate(rendered, context=None if partial else {"rendered": True})
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise StepProblem(
                "wrong_type", f"{where}: {first['msg']}, but it rendered to {first['input']!r}"
            ) from None


@cache
def _names(cls: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in cls.model_fields.items())


def _plan(raw: Any, annotation: Any) -> Callable[[Variables, bool], Any] | None:
    """A function that renders ``raw``, or None when nothing in it is a template."""
    model, item, later = _shape(annotation)
    if later:
        return None
    if isinstance(raw, dict) and model is not None:
        return _plan_map(raw, {f.alias or n: _full(f) for n, f in model.model_fields.items()})
    if isinstance(raw, dict) and item is not None:
        return _plan_map(raw, dict.fromkeys(raw, item))
    if isinstance(raw, list) and item is not None:
        return _plan_list(raw, item)
    template = compile_value(raw)
    return None if template.static else _of_template(template)


def _of_template(template: Template) -> Callable[[Variables, bool], Any]:
    whole, part = template.render, template.render_partial
    return lambda variables, partial: part(variables) if partial else whole(variables)


def _plan_map(raw: dict[str, Any], annotations: dict[str, Any]) -> Callable[[Variables, bool], Any] | None:
    plans = {key: _plan(value, annotations.get(key, Any)) for key, value in raw.items()}
    if not any(plans.values()):
        return None
    parts = [(key, raw[key], plan) for key, plan in plans.items()]

    def render(variables: Variables, partial: bool) -> Any:
        return {key: value if plan is None else plan(variables, partial) for key, value, plan in parts}

    return render


def _plan_list(raw: list[Any], annotation: Any) -> Callable[[Variables, bool], Any] | None:
    plans = [_plan(value, annotation) for value in raw]
    if not any(plans):
        return None
    parts = list(zip(raw, plans, strict=True))

    def render(variables: Variables, partial: bool) -> Any:
        return [value if plan is None else plan(variables, partial) for value, plan in parts]

    return render


def _full(field: Any) -> Any:
    """A field's annotation with the markers pydantic took out of it."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _shape(annotation: Any) -> tuple[type[BaseModel] | None, Any, bool]:
    """The nested model, the item annotation of a list or map, and whether the value is for later."""
    if isinstance(annotation, type) and not get_args(annotation):
        return (annotation, None, False) if issubclass(annotation, BaseModel) else (None, None, False)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        if any(isinstance(mark, str) and mark in _LATER for mark in args[1:]):
            return None, None, True
        return _shape(args[0])
    if origin in (list, tuple):
        return None, args[0], False
    if origin is dict:
        return None, args[1], False
    model, item, later = None, None, False
    for option in args:
        found = _shape(option)
        model, item, later = model or found[0], item or found[1], later or found[2]
    return model, item, later


__all__ = ["Body"]
