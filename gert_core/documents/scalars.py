"""Values of unquoted YAML scalars: the YAML 1.2 core schema, and a string in cases of doubt.

A number with a leading zero (``012``, ``01.5``), an infinity or a NaN (``.inf``, ``1e999``) and a number of more
than 400 digits stay strings: no value of gert can hold them without changing them, and JSON cannot represent them.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, Final

_WORDS: Final[dict[str, object]] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_NUMBER_STARTS: Final = frozenset("0123456789+-.")
_NUMBER_ENDS: Final = frozenset("0123456789.")
_BASED: Final = r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z"
_FLOAT: Final = r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"
_LONGEST_NUMBER: Final = 400


def scalar_value(text: str) -> Any:
    """Return the value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _NUMBER_STARTS:
        return _number(text)
    return text


def _number(text: str) -> Any:
    if len(text) > _LONGEST_NUMBER:
        return text
    digits = text[1:] if text[0] in "+-" else text
    if digits.isascii() and digits.isdecimal() and (digits[0] != "0" or digits == "0"):
        return int(text)
    if text[:2] in ("0o", "0x") and re.match(_BASED, text):
        return int(text, 0)
    if text[-1] in _NUMBER_ENDS and re.match(_FLOAT, text):  # durations, such as 30s, are seen to be texts at once
        value = float(text)
        return value if isfinite(value) else text
    return text


__all__ = ["scalar_value"]
