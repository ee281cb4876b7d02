"""Hints that spell a value anew: exports, artifacts and secrets in another shape, values out of bounds, empty texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.documents.fields import NAME_PATTERN
from gert_core.documents.model_hints import KINDS, LONGEST_NAME, map_at, map_hint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.documents.tree import Path

_SOURCE: Final = r"(?:\{\{\s*)?\.?([A-Za-z_][\w-]*(?:\.[\w-]+)*)(?:\s*\}\})?"
"""An output, also as the template that reads it."""
_PLAIN: Final = r"[A-Za-z_][\w./-]{0,99}"
"""What is a text in YAML, without quotes."""
_MOST: Final = 8
"""Longer lists are not spelled out."""
_STEPS: Final = "steps"
_FILES: Final = ("path", "file")
_WORD: Final = r"[\w./][\w./-]{0,99}"
_BOUNDS: Final = ("ge", "le")


def respelled(document: Any, path: Path) -> str | None:
    """Return how the field that a mistake is in, or that it is, is written; None when that cannot be told."""
    for depth in range(max(len(path) - 2, 0), len(path)):
        name, owner = str(path[depth]), map_at(document, path[:depth])
        if depth and isinstance(path[depth - 1], int):  # a field of a step, not an input of that name
            spell = {"export": _export, "artifacts": _artifacts}.get(name)
        else:
            spell = _secrets if name == "secrets" and depth == len(path) - 1 else None
        if spell is not None and (right := spell(owner.get(name), owner)):
            return f"write `{name}: {right}`"
    return None


def reshaped(
    name: str, value: object, kinds: Sequence[str], *, known: Sequence[str], required: Sequence[str], free: bool
) -> str | None:
    """Return how a list is written as a map, or a map as a list of texts or as a text; None where that is not known.

    A map has any names (``free``), or ``known`` fields; the values of one of any names may be maps with such fields.
    """
    if isinstance(value, list) and KINDS["dict_type"] in kinds:
        return _by_name(name, value, known) if free else _unlisted(value, kinds, known=known, required=required)
    if isinstance(value, dict) and list(kinds) == [KINDS["string_type"]]:
        found = next((value[key] for key in (*_FILES, "name", "id") if key in value), None)
        return f"write {found}" if isinstance(found, str) and re.fullmatch(_WORD, found) else None
    if isinstance(value, dict) and KINDS["list_type"] in kinds and not known:
        texts = [_in_map(*one) for one in value.items()] if len(value) <= _MOST else []
        return f"write a list: [{', '.join(map(str, texts))}]" if texts and all(texts) else None
    return None


def _in_map(name: object, value: object) -> str | None:
    """Return the text that a pair of a map stands for where a list of texts belongs."""
    if isinstance(value, dict):
        value = next((value[key] for key in _FILES if key in value), None)
    text = name if value is None else value
    return text if isinstance(text, str) and re.fullmatch(_WORD, text) else None


def _unlisted(value: list[Any], kinds: Sequence[str], *, known: Sequence[str], required: Sequence[str]) -> str | None:
    """Return how a list is written as a map of fields; None where it is enough to leave the dash out."""
    maps = [one for one in value if isinstance(one, dict)]
    if _STEPS in known and maps == value and any("type" in one for one in maps):
        fields = [f"{field}: ..." for field in required if field != _STEPS]
        return f"write a map: {{{', '.join([*fields, f'{_STEPS}: [...]'])}}}"
    if len(value) == 1 and (KINDS["string_type"] in kinds or (maps and any(one in known for one in maps[0]))):
        return None
    if len(value) == 1 and (hint := map_hint(value[0], required=[*required])):
        return hint
    return f"write a map: its fields are {', '.join(f'`{one}`' for one in known)}" if known else None


def _by_name(name: str, value: list[Any], known: Sequence[str]) -> str:
    """Return how a list is written as a map of any names."""
    found: dict[object, object] = {}
    for one in value if len(value) <= _MOST else [None]:
        pair = re.fullmatch(r"([A-Za-z_][\w-]*)(?:\s*[=:]\s*(.+))?", one) if isinstance(one, str) else None
        if pair is not None and (pair[2] is None) == bool(known):
            found[pair[1]] = {} if pair[2] is None else pair[2]
        elif isinstance(one, dict) and isinstance(one.get("name"), str):
            rest = {key: inner for key, inner in one.items() if key != "name"}
            found[one["name"]] = rest["value"] if [*rest] == ["value"] and not known else rest
        elif isinstance(one, dict):
            found |= one
        else:
            return "write a map: a name in front of each value, instead of `- `"
    return f"write `{name}: {_flow(found)}`"


def _flow(value: object) -> str:
    """Return a value as it is written inside braces, where it is short."""
    if isinstance(value, dict) and len(value) <= _MOST:
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, str) and len(value) <= LONGEST_NAME:
        from gert_core.template.quoting import yaml_text  # only mistakes need it

        return value if re.fullmatch(_PLAIN, value) else yaml_text(value)
    return "..."


def bound_hint(name: object, context: dict[str, Any]) -> str | None:
    """Return the nearest value within bounds."""
    found = next(((bound, context[bound]) for bound in _BOUNDS if bound in context), None)
    if found is None or not isinstance(name, str):
        return None
    return f"write `{name}: {found[1]:g}`, or {'more' if found[0] == 'ge' else 'less'}"


def empty_hint(value: object, *, required: bool, about: str | None) -> str:
    """Return what to do about a value that is empty."""
    what = "a text" if isinstance(value, str) else "at least one item"
    if not required:
        return f"remove it, or write {what}"
    return f"write {what}" + (f": {about[:1].lower()}{about[1:].rstrip('.')}" if about else "")


def _export(value: object, step: dict[str, Any]) -> str | None:
    """Return exports as a list of outputs, or as a map where one gets another name."""
    if isinstance(value, str) and re.search(NAME_PATTERN, value):
        return None  # in a list it is right as it is
    pairs: list[tuple[object, object]] = []
    for one in value if isinstance(value, list) else [value]:
        pairs += list(one.items()) if isinstance(one, dict) else [(None, one)]
    found: dict[str, str] = {}
    for new, source in pairs:
        output = _output(source, step.get("id"))
        name = output and output.rpartition(".")[2] if new is None else new
        if output is None or not isinstance(name, str) or not re.search(NAME_PATTERN, name) or name in found:
            return None
        found[name] = output
    if not 0 < len(found) <= _MOST:
        return None
    if all(name == output for name, output in found.items()) and not isinstance(value, dict):
        return f"[{', '.join(found)}]"
    return "{" + ", ".join(f"{name}: {output}" for name, output in found.items()) + "}"


def _output(source: object, step_id: object) -> str | None:
    """Return the output that a text names; the step's own id before it is left out."""
    if isinstance(source, list) and len(source) == 1:
        source = source[0]
    found = re.fullmatch(_SOURCE, source.strip()) if isinstance(source, str) else None
    if found is None:
        return None
    return found[1].removeprefix(f"{step_id}.") if isinstance(step_id, str) else found[1]


def _artifacts(value: object, _step: dict[str, Any]) -> str | None:
    """Return a list of maps with files as a list of files, or as a map if all have names."""
    if not isinstance(value, list) or not 0 < len(value) <= _MOST:
        return None
    maps = [one if isinstance(one, dict) else {"path": one} for one in value]
    files = [(one.get("name"), one.get("path", one.get("file"))) for one in maps]
    if not all(isinstance(file, str) and re.fullmatch(_PLAIN, file) for _, file in files):
        return None
    names = [name for name, _ in files]
    if all(isinstance(name, str) and re.search(NAME_PATTERN, name) for name in names) and len({*names}) == len(names):
        return "{" + ", ".join(f"{name}: {{path: {file}}}" for name, file in files) + "}"
    return f"[{', '.join(str(file) for _, file in files)}]"


def _secrets(value: object, _meta: dict[str, Any]) -> str | None:
    """Return a map of secrets as a list of them, each with the environment variable that holds it."""
    if not isinstance(value, dict) or not 0 < len(value) <= _MOST:
        return None
    if "env" in value:
        value = {"": value}
    held = [one.get("env") if isinstance(one, dict) else one or name for name, one in value.items()]
    if not all(isinstance(one, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", one) for one in held):
        return None
    return f"[{', '.join(f'{{env: {one}}}' for one in held)}]"


__all__ = ["bound_hint", "empty_hint", "reshaped", "respelled"]
