"""Coerce values to declared types, format durations, and encode canonical JSON for hashes."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from gert_core.documents.fields import parse_duration
from gert_core.kit.excerpts import quoted, shorten
from gert_core.kit.json_reader import loads

if TYPE_CHECKING:
    from collections.abc import Callable

_INT: Final = r"[+-]?[0-9]{1,4000}"
_FLOAT: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_BOOLS: Final = {"true": True, "false": False}


def coerce(value: object, type: str) -> object:  # noqa: A002 - the document's word
    """Coerce ``value`` to the declared type; raise ``ValueError`` with a message when it cannot be.

    A string becomes a number, boolean, list or map when it is the text of one; numbers and booleans become strings.
    Nothing is rounded, and a list or map never becomes a string.
    """
    convert = _CONVERT.get(type)
    if convert is None:
        raise ValueError(f"{type!r} is not a type; types are {', '.join(_CONVERT)}")
    return _finite(convert(_finite(value) if isinstance(value, float) else value))


def coerce_text(text: str, type: str) -> object:  # noqa: A002 - the document's word
    """Coerce text from a command line: lists and maps as JSON or YAML flow, a list also separated by commas."""
    if type in ("list", "object"):
        found = _finite(_flow(text))
        wanted = list if type == "list" else dict
        if isinstance(found, wanted):
            return found
        if type == "list" and not text.lstrip().startswith(("[", "{")):
            return [item.strip() for item in text.split(",")] if text.strip() else []
        raise ValueError(f"{_describe(text)} is not {_NAMES[type]}; write it as JSON")
    return coerce(text, type)


def parse_data(text: str) -> object:
    """Return what a text says in YAML or JSON, as documents are read.

    Raise ``ValueError`` with the place otherwise, which shows nothing of the text.
    """
    from gert_core.documents.unquoted import unquoted
    from gert_core.documents.yaml import loads

    document = loads(text.encode("utf-8", "replace"), name="value")
    if document.diagnostics:
        first = document.diagnostics[0]
        raise ValueError(f"line {first.line}, column {first.column}: {unquoted(first)[0]}")
    return _without_positions(document.value)


def duration(text: str | float) -> float:
    """Return the seconds of ``1h30m``, ``500ms`` or a number; raise ``ValueError`` with a message otherwise."""
    return parse_duration(text)


def format_duration(seconds: float) -> str:
    """Format a duration as in traces and results: ``4.204s``."""
    return f"{seconds:.3f}s"


def canonical(value: object) -> bytes:
    """Encode canonical JSON, the input of every hash and signature; raise ``ValueError`` when that is impossible."""
    import json

    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8")
    except TypeError as error:
        raise ValueError(f"not JSON serializable: {error}") from None


def _finite(value: object) -> object:
    """Return the value; raise ``ValueError`` when a number in it is not finite: no trace or hash could have it."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, float):
            if not isfinite(one):
                raise ValueError(f"it has {one}, which is not a finite number")
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)
    return value


def _string(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        import json

        return json.dumps(value)
    raise _refused(value, "string")


def _int(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(_INT, value.strip()):
        return int(value)
    raise _refused(value, "int")


def _float(value: object) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number or (isinstance(value, str) and re.fullmatch(_FLOAT, value.strip())):
        found = _as_float(value)
        if isfinite(found):
            return found
    raise _refused(value, "float")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip() in _BOOLS:
        return _BOOLS[value.strip()]
    raise _refused(value, "bool")


def _list(value: object) -> list[object]:
    found = _json(value) if isinstance(value, str) else value
    if isinstance(found, (list, tuple)):
        return list(found) if isinstance(found, tuple) else found
    raise _refused(value, "list")


def _object(value: object) -> dict[str, object]:
    found = _json(value) if isinstance(value, str) else value
    if isinstance(found, dict):
        return found
    raise _refused(value, "object")


def _json(text: str) -> object:
    try:
        return loads(text, parse_constant=_no_constant)
    except ValueError:
        return None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def _flow(text: str) -> object:
    """Parse JSON or YAML flow; None for other text, so that a comma list is not read as YAML."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    found = _json(text)
    if found is not None:
        return found
    from gert_core.documents.yaml import loads

    document = loads(text.encode("utf-8", "replace"), name="value")
    return None if document.diagnostics else _without_positions(document.value)


def _without_positions(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_positions(item) for key, item in value.items()}
    return [_without_positions(item) for item in value] if isinstance(value, list) else value


def _refused(value: object, type: str) -> ValueError:  # noqa: A002 - the document's word
    hint = "; write true or false" if type == "bool" else ""
    return ValueError(f"{_describe(value)} is not {_NAMES[type]}{hint}")


def _describe(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, dict):
        return "a map"
    import json

    text = quoted(value) if isinstance(value, str) else json.dumps(value, default=str)
    return shorten(text, 60)


_NAMES: Final = {
    "string": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "list": "a list",
    "object": "a map",
}
_CONVERT: Final[dict[str, Callable[[object], object]]] = {
    "string": _string,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "list": _list,
    "object": _object,
    "any": lambda value: value,
}

__all__ = ["canonical", "coerce", "coerce_text", "duration", "format_duration", "parse_data"]
