"""Turn pydantic's validation errors into diagnostics: exact places, one per mistake, readable messages."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gert_core.api.diagnostics import Diagnostic, Severity
from gert_core.documents.field_hints import field_hint, missing_hint
from gert_core.documents.fields import NAME_PATTERN, OUTPUT_PATTERN, TAG_PATTERN
from gert_core.documents.model_fields import (
    about_field,
    example_of,
    fields_at,
    fields_below,
    named_by,
    required_at,
    required_beside,
)
from gert_core.documents.model_hints import (
    KINDS,
    MEANT,
    META,
    MODELS,
    WRITTEN_AS,
    choice_hint,
    map_at,
    map_hint,
    tag_hint,
    type_hint,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import BaseModel, ValidationError

    from gert_core.documents.tree import Path
    from gert_core.documents.yaml import Document

_STRUCTURE: Final = frozenset({"missing-field", "unknown-field", "wrong-type"})
MAX_ERRORS: Final = 200
"""The number of errors reported for one model."""

_RENAMED: Final = "|".join(
    hint.replace("NAME", "([A-Za-z_]+)") for hint in (WRITTEN_AS, re.escape(MEANT), "write `NAME: [0-9]+`, .*")
)
_EMPTY: Final = frozenset({"too_short", "string_too_short"})
_SIMPLE_KEY: Final = r"[A-Za-z0-9_-]+"


class ModelError(NamedTuple):
    """One validation error at its place in the document; ``on_key`` when the key itself is invalid."""

    path: Path
    type: str
    message: str
    context: dict[str, Any]
    value: object
    on_key: bool


class _Located(NamedTuple):
    """An error whose location may still name alternatives of unions: ``(True, tag)`` instead of ``(False, key)``."""

    steps: tuple[tuple[bool, str | int], ...]
    error: ModelError


def path_text(path: Sequence[str | int]) -> str:
    """Return a path as text, such as ``steps[2].inputs.url``."""
    parts: list[str] = []
    for part in path:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif re.fullmatch(_SIMPLE_KEY, str(part)):
            parts.append(f".{part}" if parts else str(part))
        else:
            parts.append(f'["{part}"]')
    return "".join(parts)


def diagnose(
    document: Document,
    path: Path,
    *,
    rule: str,
    message: str,
    phase: int = 3,
    severity: Severity = Severity.ERROR,
    hint: str | None = None,
    key: bool = False,
) -> Diagnostic:
    """Return a diagnostic at a place of a document; ``key`` points at the key instead of its value."""
    line, column = document.locate(path, key=key)
    return Diagnostic(
        rule=rule,
        message=message,
        severity=severity,
        phase=phase,
        path=path_text(path),
        file=document.file,
        line=line,
        column=column,
        hint=hint,
    )


def model_errors(error: ValidationError, raw: object) -> list[ModelError]:
    """Return the errors of a validation, one per mistake: alternatives of a union are merged or chosen from."""
    located = [_locate(item, raw) for item in error.errors(include_url=False)[: MAX_ERRORS * 10]]
    return [item.error for item in _collapse(located, 0)]


def to_diagnostics(
    document: Document,
    found: Iterable[ModelError],
    *,
    base: Path = (),
    model: type[BaseModel] | None = None,
    extra_fields: Iterable[str] = (),
    also_called: Mapping[str, str] | None = None,
    written: Mapping[str, str] | None = None,
) -> list[Diagnostic]:
    """Return diagnostics for the first errors below ``base``; ``extra_fields`` are also known at its top.

    ``also_called`` are words that other tools use for fields, for hints. ``written`` are the names that fields at its
    top have in the document, where they are others.
    """
    extra, words = tuple(extra_fields), also_called or {}
    items = list(islice(found, MAX_ERRORS))
    told = []
    for item in items:
        place = (*((written or {}).get(str(part), part) for part in item.path[:1]), *item.path[1:])
        told.append(_diagnostic(document, item, (*base, *place), base, model=model, extra_fields=extra, words=words))
    meant = {
        (*item.path[:-1], right)
        for item, diagnostic in zip(items, told, strict=True)
        if item.type == "extra_forbidden" and (right := renamed(diagnostic)) is not None
    }
    return [one for item, one in zip(items, told, strict=True) if item.type != "missing" or item.path not in meant]


def renamed(diagnostic: Diagnostic) -> str | None:
    """Return the field that an unknown one is to be written as, which is not missing then; None for other hints."""
    found = re.fullmatch(_RENAMED, diagnostic.hint or "")
    return next(filter(None, found.groups()), None) if found else None


def _locate(item: Any, raw: Any) -> _Located:
    """Separate keys of the document from the tags pydantic puts between them."""
    node = raw
    steps: list[tuple[bool, str | int]] = []
    on_key = False
    loc = item["loc"]
    for position, part in enumerate(loc):
        last = position == len(loc) - 1
        if last and part == "[key]":
            on_key = True
        elif isinstance(node, dict) and (part in node or (last and item["type"] == "missing")):
            steps.append((False, part))
            node = node.get(part)
        elif isinstance(node, list) and isinstance(part, int) and 0 <= part < len(node):
            steps.append((False, part))
            node = node[part]
        else:
            steps.append((True, part))
    path = tuple(part for tag, part in steps if not tag)
    return _Located(
        tuple(steps),
        ModelError(path, item["type"], item["msg"], item.get("ctx") or {}, item.get("input"), on_key),
    )


def _collapse(items: list[_Located], start: int) -> list[_Located]:
    """Resolve the unions at or after ``start``: one alternative's errors, or one "should be this or that"."""
    kept: list[_Located] = []
    unions: dict[tuple[tuple[bool, str | int], ...], list[_Located]] = {}
    for item in items:
        tag = next((i for i in range(start, len(item.steps)) if item.steps[i][0]), None)
        if tag is None:
            kept.append(item)
        else:
            unions.setdefault(item.steps[:tag], []).append(item)
    for prefix, members in unions.items():
        kept += _alternatives(prefix, members)
    return kept


def _alternatives(prefix: tuple[tuple[bool, str | int], ...], members: list[_Located]) -> list[_Located]:
    depth = sum(1 for tag, _ in prefix if not tag)
    choices: dict[str | int, list[_Located]] = {}
    for item in members:
        choices.setdefault(item.steps[len(prefix)][1], []).append(item)
    resolved = [_collapse(choice, len(prefix) + 1) for choice in choices.values()]
    fitting = [
        choice for choice in resolved if not all(len(i.error.path) == depth and i.error.type in KINDS for i in choice)
    ]
    if fitting:
        # The value has the type this alternative expects, so its errors are the ones that help.
        return min(fitting, key=len)
    first = resolved[0][0]
    wanted = dict.fromkeys(
        kind for choice in resolved for i in choice for kind in (i.error.context.get("kinds") or [i.error.type])
    )
    error = first.error._replace(context={"kinds": list(wanted)})
    return [_Located(first.steps[: len(prefix)], error)]


def _diagnostic(
    document: Document,
    item: ModelError,
    path: Path,
    base: Path,
    *,
    model: type[BaseModel] | None,
    extra_fields: tuple[str, ...],
    words: Mapping[str, str],
) -> Diagnostic:
    name = _name(path)
    rule, phase, hint = "wrong-type", 1, None
    key = item.on_key
    if item.type == "missing":
        rule, message = "missing-field", f"{name} is missing"
        hint = missing_hint(
            document.value,
            path,
            known=fields_at(model, item.path),
            about=about_field(model, item.path),
            example=example_of(model, item.path),
        )
    elif item.type == "extra_forbidden":
        rule, key = "unknown-field", True
        known = [*fields_at(model, item.path), *(extra_fields if len(item.path) == 1 else ())]
        message = f"{name} is not a field here"
        inside, first = base and len(item.path) > 1, fields_at(model, item.path[:1])
        hint = field_hint(
            document.value,
            path,
            known,
            top=[*first, *extra_fields] if inside else [] if base else first,
            head=fields_below(model, (META,)) if META in first and not base and len(path) == 1 else (),
            step=len(base) if inside else 0,
            words=words,
        )
    elif item.type in KINDS:
        wanted = item.context.get("kinds") or [item.type]
        kinds = [KINDS[kind] for kind in wanted]
        message = f"{name} should be {' or '.join(dict.fromkeys(kinds))}, not {_describe(item.value)}"
        from gert_core.documents.shape_hints import reshaped, respelled  # only mistakes need it

        name_field = named_by(model, item.path)
        hint = respelled(document.value, path)
        if hint is None and isinstance(item.value, list | dict):
            known, required = fields_below(model, item.path), required_at(model, item.path)
            free = "dict_type" in wanted
            known = known or ([name_field] if name_field else [])
            hint = reshaped(str(path[-1]), item.value, kinds, known=known, required=required, free=free)
        hint = hint or type_hint(kinds, item.value, name=str(path[-1]) if path else "", named_by=name_field)
        if hint is None and not MODELS.isdisjoint(wanted):
            from gert_core.documents.foreign import in_map  # only mistakes need it

            meant = in_map(str(path[-1]), item.value, words) if len(item.path) == 1 else None
            hint = f"write `{meant}`" if meant else map_hint(item.value, required=required_at(model, item.path))
    elif item.type == "string_pattern_mismatch" and item.context.get("pattern") == TAG_PATTERN:
        rule, phase, hint = "tag-syntax", 2, tag_hint(item.value)
        message = f"{name} is not a tag: {_describe(item.value)}; a tag has lower-case letters, digits and `_.:/-`"
    elif "-" in item.type:
        rule, message, hint = item.type, item.message, item.context.get("hint")
        phase = 1 if rule in _STRUCTURE else 2
    else:
        phase, message = 2, f"{name} {_invalid_value(item)}"
        hint = _value_hint(document, item, path, model)
    return diagnose(document, path, rule=rule, message=message, phase=phase, hint=hint, key=key)


def _value_hint(document: Document, item: ModelError, path: Path, model: type[BaseModel] | None) -> str | None:
    """Return what to write instead of a value that has the right type only."""
    from gert_core.documents.shape_hints import bound_hint, empty_hint, respelled  # only mistakes need it

    name = path[-1] if path else ""
    if item.type == "literal_error":
        return choice_hint(item.value, item.context["expected"], beside=map_at(document.value, path[:-1]))
    if item.type == "string_pattern_mismatch":
        return respelled(document.value, path)
    if item.type in _EMPTY and isinstance(name, str):
        required = name in required_beside(model, item.path)
        return empty_hint(item.value, required=required, about=about_field(model, item.path))
    return bound_hint(name, item.context)


def _name(path: Path) -> str:
    """Return the last key with the indexes after it: `argv[1]`."""
    start = next((i for i in range(len(path) - 1, -1, -1) if isinstance(path[i], str)), None)
    return "the document" if start is None else f"`{path_text(path[start:])}`"


def _invalid_value(item: ModelError) -> str:
    context = item.context
    if item.type == "literal_error":
        return f"should be {context['expected']}, not {_describe(item.value)}"
    if item.type == "string_pattern_mismatch" and context.get("pattern") == NAME_PATTERN:
        return "should be a name: letters, digits, `_` and `-`, no digit first"
    if item.type == "string_pattern_mismatch" and context.get("pattern") == OUTPUT_PATTERN:
        return f"should be the name of an output, or a path into one, not {_describe(item.value)}"
    if item.type in _EMPTY:
        return "must not be empty"
    text = item.message.removeprefix("Input ").removeprefix("String ")
    return text if item.type in ("regex_syntax", "duplicate_field") else f"{text}, not {_describe(item.value)}"


def _describe(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        shown = value if len(value) <= 40 else value[:39] + "…"
        return f"the string {shown!r}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return "a map" if isinstance(value, dict) else "a list" if isinstance(value, list) else type(value).__name__


__all__ = [
    "MAX_ERRORS",
    "ModelError",
    "diagnose",
    "model_errors",
    "path_text",
    "renamed",
    "to_diagnostics",
]
