"""Encode trace lines as compact JSON: one C encoder, keys in their own order, never NaN."""

from __future__ import annotations

import json
from json import encoder as _json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def to_json_value(value: Any) -> Any:
    """Convert a record, a mapping of another type, a set or a path to JSON data; raise ``TypeError`` for others."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "keys"):
        return {key: value[key] for key in value}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


def _make() -> Callable[[Any], str]:
    make = getattr(_json, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False, default=to_json_value
        ).encode
    # JSONEncoder.encode builds a new C encoder for every call; without markers one can serve all threads.
    encode = make(None, to_json_value, _json.encode_basestring, None, ":", ",", False, False, False)
    return lambda value: "".join(encode(value, 0))


encode_json = _make()
"""The JSON text of a value; raises ``TypeError``, ``ValueError`` or ``RecursionError`` when it has none."""


def to_bytes(text: str) -> bytes:
    """Encode as UTF-8; an unpaired surrogate, which UTF-8 cannot encode, becomes a JSON escape."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


__all__ = ["encode_json", "to_bytes", "to_json_value"]
