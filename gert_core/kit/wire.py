"""Read JSON from untrusted programs strictly, so that it can be written again."""

from __future__ import annotations

import json
from typing import Final, NoReturn

from gert_core.kit.json_reader import TooDeepError, loads

DEPTH: Final = 100
"""The most levels of nesting."""


def decode(text: str) -> object:
    """Return the value of a JSON text; raise ``ValueError`` for what is not JSON, or not JSON that gert can store.

    NaN and Infinity are not JSON. Half of a surrogate pair has no UTF-8 form and becomes U+FFFD.
    """
    try:
        value = loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except TooDeepError:
        raise ValueError(f"nested deeper than {DEPTH} levels") from None
    if text.count("[") + text.count("{") > DEPTH:
        _check_depth(value)
    if "\\u" in text:
        value = _whole(value)
    return value


def encode(value: object) -> str:
    """Return one line of compact JSON; raise ``ValueError`` for what JSON cannot express."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except TypeError as error:
        raise ValueError(str(error)) from None


def as_text(text: str) -> str:
    """Return text that UTF-8 can hold: what is not a character, such as a byte of another encoding, becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the fields of an object; raise ``ValueError`` when a name occurs twice (``object_pairs_hook``)."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name occurs twice")
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _check_depth(value: object) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEPTH + 1:
            raise ValueError(f"nested deeper than {DEPTH} levels")
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]


def _whole(value: object) -> object:
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


__all__ = ["DEPTH", "as_text", "decode", "encode", "unique"]
