"""Find the fields that a model has at a place of a document: their names, which are required, what they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.documents.later import Later
from gert_core.kit.models import STEPS

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gert_core.documents.tree import Path


def fields_at(model: type[BaseModel] | None, path: Path) -> list[str]:
    """Return the field names known at the place of ``path``'s last part."""
    return [alias for owner in _owners(model, path) for alias, _ in _aliases(owner)]


def fields_below(model: type[BaseModel] | None, path: Path) -> list[str]:
    """Return the names of the fields of a map at ``path``, or of those inside it; none for values of any kind."""
    below = _below(model, path if isinstance(path[-1], str) else path[:-1])
    return [alias for owner in below[:1] for alias, _ in _aliases(owner)]


def required_at(model: type[BaseModel] | None, path: Path) -> list[str]:
    """Return the names of the fields that a map at ``path`` must have; where several models fit, in the first one."""
    below = _below(model, path) or _below(model, path[:-1])  # what a list or a map contains is the model of its items
    first = below[0].model_fields if below else {}
    return [field.alias or name for name, field in first.items() if field.is_required()]


def required_beside(model: type[BaseModel] | None, path: Path) -> list[str]:
    """Return the names of the fields that the map must have in which the last part of ``path`` is a field."""
    fields = (one for owner in _owners(model, path) for one in owner.model_fields.items())
    return [field.alias or name for name, field in fields if field.is_required()]


def named_by(model: type[BaseModel] | None, path: Path) -> str | None:
    """Return the field that names the maps of a list at ``path``, empty if none does; None for a list of values."""
    if any(STEPS in _metadata(owner, part) for owner in _owners(model, path) for part in path[-1:]):
        return "id"
    below = _below(model, path)
    return ("name" if "name" in below[0].model_fields else "") if below else None


def about_field(model: type[BaseModel] | None, path: Path) -> str | None:
    """Return the description of a field; None where models differ about it."""
    found = {
        field.description
        for owner in _owners(model, path)
        for name, field in owner.model_fields.items()
        if path and (field.alias or name) == path[-1]
    }
    return found.pop() if len(found) == 1 else None


def example_of(model: type[BaseModel] | None, path: Path) -> object:
    """Return a value that a field may have, where its model names one."""
    fields = (one for owner in _owners(model, path) for one in owner.model_fields.items())
    found = (field.examples for name, field in fields if path and (field.alias or name) == path[-1])
    return next((examples[0] for examples in found if examples), None)


def _below(model: type[BaseModel] | None, path: Path) -> list[type[BaseModel]]:
    """Return the models of the field that a path leads to."""
    return [found for owner in _owners(model, path) for part in path[-1:] for found in _models_of(owner, part)]


def _owners(model: type[BaseModel] | None, path: Path) -> list[type[BaseModel]]:
    """Return the models whose field the last part of a path is."""
    models = [model] if model is not None else []
    for part in path[:-1]:
        below = [m for owner in models for m in _models_of(owner, part)]
        models = below or models
    return models


def _aliases(model: type[BaseModel]) -> list[tuple[str, object]]:
    return [(field.alias or name, (field.annotation, *field.metadata)) for name, field in model.model_fields.items()]


def _metadata(model: type[BaseModel], part: str | int) -> list[object]:
    """Return what the annotation of a field is marked with, inside an optional one too."""
    from typing import get_args

    found = [annotation for alias, annotation in _aliases(model) if alias == part and isinstance(annotation, tuple)]
    return [mark for one in found for part in one for mark in (part, *(m for a in get_args(part) for m in get_args(a)))]


def _models_of(model: type[BaseModel], part: str | int) -> list[type[BaseModel]]:
    return [m for alias, annotation in _aliases(model) if alias == part for m in _models_in(annotation)]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    from typing import get_args

    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if isinstance(annotation, Later):
        return _models_in(annotation.type)
    inside = annotation if isinstance(annotation, tuple) else get_args(annotation)
    return [m for argument in inside for m in _models_in(argument)]


__all__ = ["about_field", "example_of", "fields_at", "fields_below", "named_by", "required_at", "required_beside"]
