"""Compact JSON for trace lines: one C encoder made once, keys in their own order, never NaN."""

from __future__ import annotations

import json
from json import encoder as _json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def to_plain(value: Any) -> Any:
    """What stands in a trace for a record, a mapping of another kind, a set or a path; ``TypeError`` for the rest."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "keys"):
        return {key: value[key] for key in value}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _make() -> Callable[[Any], str]:
    make = getattr(_json, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False, default=to_plain
        ).encode
    # JSONEncoder.encode builds a new C encoder for every call; without markers one can serve all threads.
    encode = make(None, to_plain, _json.encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(encode(value, 0))


encode_json = _make()
"""The text of a value; raises ``TypeError``, ``ValueError`` or ``RecursionError`` for what is no JSON."""


def to_bytes(text: str) -> bytes:
    """UTF-8; a lone surrogate, which UTF-8 has no bytes for, is written as the JSON escape it came from."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


__all__ = ["encode_json", "to_bytes", "to_plain"]
