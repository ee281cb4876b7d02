"""JSON Schemas of what tools take and give: the inputs of a runbook, and the result of a run."""

from __future__ import annotations

from typing import Any, Final

_TYPES: Final = {
    "string": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "object": "object",
}
_BOUNDS: Final = {
    "string": ("minLength", "maxLength"),
    "list": ("minItems", "maxItems"),
}
RESULT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string"},
        "runbook": {"type": ["string", "null"]},
        "status": {
            "type": "string",
            "description": "completed, failed, error, cancelled, approval_pending, answer_pending, blocked, or running",
        },
        "outcome": {"type": ["object", "null"], "description": "category, code and data that the runbook came to"},
        "outputs": {"type": ["object", "null"]},
        "failure": {"type": ["object", "null"]},
        "pending": {"type": "array", "description": "tickets that people have to answer; no tool here can"},
        "questions": {"type": "array", "description": "what people are asked; no tool here answers"},
        "steps": {"type": "array"},
        "next": {"type": "array", "description": "what people can do about the run, as commands"},
    },
    "required": ["status"],
}
"""The result of a run, as ``gert exec --json`` prints it."""
REQUEST_KEY: Final[dict[str, Any]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "The same key within 24 hours gives the same run instead of a second one.",
}


def mode_schema(modes: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of the mode."""
    told = "real does it; dry-run starts nothing; probe runs only what reads."
    return {"type": "string", "enum": list(modes), "default": modes[0], "description": told}


def inputs_schema(inputs: dict[str, Any], *, modes: tuple[str, ...]) -> dict[str, Any]:
    """Return the schema of a runbook's inputs as its tool takes them; secret ones are never given by an agent.

    ``mode`` and ``request_key`` are taken too, unless the runbook has inputs of that name.
    """
    shown = {name: model for name, model in inputs.items() if not model.secret}
    properties = {name: _schema(model) for name, model in shown.items()}
    own = {"mode": mode_schema(modes), "request_key": REQUEST_KEY}
    return {
        "type": "object",
        "properties": {**{name: schema for name, schema in own.items() if name not in inputs}, **properties},
        "required": [name for name, model in shown.items() if is_needed(model)],
        "additionalProperties": False,
    }


def is_needed(model: Any) -> bool:
    """Return whether only the caller can give an input."""
    return bool(model.required and model.from_ is None and "default" not in model.model_fields_set)


def _schema(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": _TYPES[model.type]} if model.type in _TYPES else {}
    if model.description:
        found["description"] = model.description
    if "default" in model.model_fields_set:
        found["default"] = model.default
    if model.enum is not None:
        found |= {"items": {"enum": model.enum}} if model.type == "list" else {"enum": model.enum}
    if model.pattern is not None:
        found["pattern"] = f"^(?:{model.pattern})$"
    least, most = _BOUNDS.get(model.type, ("minimum", "maximum"))
    found |= {least: model.min} if model.min is not None else {}
    return found | ({most: model.max} if model.max is not None else {})


__all__ = ["REQUEST_KEY", "RESULT", "inputs_schema", "is_needed", "mode_schema"]
