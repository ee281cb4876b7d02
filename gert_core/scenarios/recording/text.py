"""Write a recording as YAML: texts of several lines as blocks, all others in quotes, so that nothing is guessed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_/.-]*")
"""Texts that YAML reads as themselves without quotes, unless they are one of the words."""
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_BLOCK: Final = re.compile(r"[^ \t\n\r][^\r\n]*\n[^\r]*")
"""Texts that may be written as a block: of several lines, and not beginning with a space."""
_FLOW: Final = 100
"""The longest value that stands on the line of its name."""


def to_yaml(document: Mapping[str, Any]) -> str:
    """Return a document as text; what is empty is left out."""
    return "".join(f"{line}\n" for line in _mapping({k: v for k, v in document.items() if v not in ({}, [], None)}, ""))


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in values.items():
        yield from _entry(f"{indent}{_key(str(name))}:", value, indent)


def _entry(lead: str, value: Any, indent: str) -> Iterator[str]:
    """Yield the lines of a value behind its name or dash."""
    if isinstance(value, str) and _is_block(value):
        yield from _block(lead, value, f"{indent}  ")
    elif not isinstance(value, (dict, list)) or not value or _fits(lead, value):
        yield f"{lead} {_flow(value)}"
    else:
        yield lead
        yield from _mapping(value, f"{indent}  ") if isinstance(value, dict) else _sequence(value, f"{indent}  ")


def _sequence(values: list[Any], indent: str) -> Iterator[str]:
    for value in values:
        if isinstance(value, dict) and value and not _fits(indent, value):
            first, *rest = _mapping(value, f"{indent}  ")
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest
        else:
            yield from _entry(f"{indent}-", value, indent)


def _fits(lead: str, value: Any) -> bool:
    return not _has_block(value) and len(lead) + len(_flow(value)) < _FLOW


def _has_block(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_block, value.values()))
    return any(map(_has_block, value)) if isinstance(value, list) else isinstance(value, str) and _is_block(value)


def _is_block(text: str) -> bool:
    return _BLOCK.fullmatch(text) is not None and all(c.isprintable() or c in "\n\t" for c in text)


def _block(lead: str, text: str, indent: str) -> Iterator[str]:
    chomp = "-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else ""
    yield f"{lead} |{chomp}"
    for line in text.removesuffix("\n").split("\n"):
        yield f"{indent}{line}" if line else ""


def _flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, str):
        return _key(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(str(name))}: {_flow(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return json.dumps(value)


def _key(name: str) -> str:
    """Return a name or a short text, in quotes only where it needs them."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in _WORDS else quoted(name)


def quoted(text: str) -> str:
    """Return a text in double quotes; whatever is not printable is written as an escape."""
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _escape(c)) for c in text) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


__all__ = ["quoted", "to_yaml"]
