"""JSON Schema of every kind of document, built from the models and from the registered step types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic.json_schema import models_json_schema

from gert_core.documents.kinds import VERSIONS, DocumentKind, model_of
from gert_core.documents.runbook import StepFields
from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel

    from gert_core.api import StepType

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TRACE: Final = "trace"
KINDS: Final = (*(str(kind) for kind in DocumentKind), TRACE)
"""The kinds of documents that have a schema."""

_STEP: Final = "step"


def json_schema(kind: str, types: Mapping[str, StepType]) -> dict[str, Any]:
    """Return the Draft 2020-12 schema of one kind; ``types`` are the registered step types."""
    if kind == TRACE:
        from gert_core.documents.trace_schema import trace_line

        return {"$schema": DIALECT, "title": "gert trace", **trace_line(types)}
    model = model_of(DocumentKind(kind))
    parts: list[type[BaseModel]] = [model]
    has_steps = kind == DocumentKind.RUNBOOK
    bodies: dict[str, type[BaseModel]] = {}
    if has_steps:
        bodies = {name: load_target(types[name].model) for name in sorted(types)}
        parts += [StepFields, *bodies.values()]
    unique = dict.fromkeys(parts)
    places, whole = models_json_schema([(part, "validation") for part in unique], ref_template="#/$defs/{model}")
    definitions = {name: _tidy(schema) for name, schema in whole["$defs"].items()}
    named = {part: places[part, "validation"]["$ref"].rpartition("/")[2] for part in unique}
    tops = {part: definitions.pop(name) for part, name in named.items()}
    if has_steps:
        definitions |= _steps(types, bodies=bodies, tops=tops)
    versions = {held: text for text, held in VERSIONS.items()}
    title = f"gert {kind}" + (f" ({versions[DocumentKind(kind)]})" if DocumentKind(kind) in versions else "")
    head = {"$schema": DIALECT, "title": title, **tops[model]}
    return {**head, "$defs": dict(sorted(definitions.items()))} if definitions else head


def _steps(
    types: Mapping[str, StepType],
    *,
    bodies: Mapping[str, type[BaseModel]],
    tops: Mapping[type[BaseModel], dict[str, Any]],
) -> dict[str, object]:
    """Return the definitions of a step: the fields every step has, then one case per type that closes the step.

    The cases list the common fields too, only to allow them: each case can then forbid all others by itself, and a
    mistake deep inside a step is reported there and nowhere else.
    """
    common = tops[StepFields]["properties"]
    # What a type may handle itself is checked in each case, as that type or as every other one has it.
    owned = {field for kind in types.values() for field in kind.owns if field in common}
    wide = {field: [common[field]] for field in owned}
    definitions: dict[str, object] = {}
    for name, model in bodies.items():
        own = tops[model]
        shared = {field: common[field] if field in owned else True for field in common}
        handled = {field: known for field, known in own.get("properties", {}).items() if field in types[name].owns}
        for field, known in handled.items():
            wide[field].append(known)
        case = {**own, "properties": {**own.get("properties", {}), **shared, **handled}}
        case["description"] = types[name].summary or own.get("description", "")
        if types[name].requires_contract:
            case["required"] = [*own.get("required", ()), "contract"]
        definitions[_own(name)] = case
    step: dict[str, object] = {
        "description": "A step: the fields every step has, and those of its `type`.",
        "type": "object",
        "properties": {
            **common,
            **{field: {"anyOf": wide[field], "description": common[field].get("description", "")} for field in owned},
            "type": {**common["type"], "enum": sorted(types)},
        },
        "required": ["type"],
    }
    cases: dict[str, object] = {"allOf": [_case(name) for name in sorted(types)]} if types else {}
    for name in sorted(types):
        if types[name].claims:
            # A step that this type takes over by its fields: its other fields are not checked.
            taken = f"{_own(name)}-by-fields"
            definitions[taken] = {k: v for k, v in tops[bodies[name]].items() if k != "additionalProperties"}
            cases = {"if": _claimed(name, types[name].claims), "then": {"$ref": f"#/$defs/{taken}"}, "else": cases}
    definitions[_STEP] = step | cases
    return definitions


def _own(name: str) -> str:
    return f"{_STEP}-{name}"


def _case(name: str) -> dict[str, object]:
    return {
        "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
        "then": {"$ref": f"#/$defs/{_own(name)}"},
    }


def _claimed(name: str, field: str) -> dict[str, object]:
    """Return when a step of another type is taken over: it has the field that this type claims."""
    other = {"properties": {"type": {"not": {"const": name}}}, "required": ["type"]}
    return {"allOf": [other, _present(field.split("."))]}


def _present(path: Sequence[str]) -> dict[str, object]:
    first, *rest = path
    inner = {"properties": {first: {"type": "object", **_present(rest)}}} if rest else {}
    return {"required": [first], **inner}


def _tidy(schema: object, *, names: bool = False) -> Any:
    """Remove what pydantic adds without use for readers; ``names`` when the keys are the document's own."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if names:
        return {key: _tidy(value) for key, value in schema.items()}
    tidy: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" or (key == "default" and value in (None, {}, [])):
            continue
        if key in ("const", "enum", "default", "examples", "required"):
            tidy[key] = value
        else:
            tidy[key] = _tidy(value, names=key in ("properties", "patternProperties", "$defs"))
    if "patternProperties" in tidy:
        tidy.setdefault("additionalProperties", False)
    return tidy


__all__ = ["DIALECT", "KINDS", "TRACE", "json_schema"]
