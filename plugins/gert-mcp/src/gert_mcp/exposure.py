"""What a runbook says about how it is served; where that cannot be known, it is not served at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.kit.files import read_named

if TYPE_CHECKING:
    from pathlib import Path

SETTING: Final = "x-mcp"
"""The extension of a runbook that says how it is served."""
_KNOWN: Final = frozenset({"expose", "opaque"})
_MOST: Final = 4 * 1024 * 1024
# The setting as it is written, and the escapes of a quoted key that could spell it otherwise.
_SPELLED: Final = re.compile(r"x-mcp|\\[xuU]|\\[^ -~]")


class Exposure(Struct, frozen=True, kw_only=True):
    """How a runbook is served."""

    hidden: bool = False
    opaque: bool = False
    unknown: bool = False
    """Whether it is hidden because what it says could not be read."""


UNKNOWN: Final = Exposure(hidden=True, opaque=True, unknown=True)


def exposure_of(path: Path, document: Any | None) -> Exposure:
    """Return what a document says; ``document`` is None when nothing could be read of it.

    Where it is not YAML, or holds a key twice, what counts is its text: one without the setting cannot have said it.
    """
    if document is None or document.diagnostics or not isinstance(document.value, dict):
        return UNKNOWN if _may_say(path) else Exposure()
    return said_by(document.value)


def said_by(document: Mapping[str, Any]) -> Exposure:
    """Return what the values of a document say: of two settings the stricter, and hidden by one that is not understood.

    The facts of a run, which have its ``extensions``, are such values too.
    """
    found: list[Mapping[str, Any]] = []
    for holder in (document, document.get("meta")):
        extensions = holder.get("extensions") if isinstance(holder, Mapping) else None
        if extensions is None and (holder is None or isinstance(holder, Mapping)):
            continue
        if not isinstance(extensions, Mapping):
            return UNKNOWN
        if SETTING in extensions:
            given = extensions[SETTING]
            if not isinstance(given, Mapping) or not set(given) <= _KNOWN:
                return UNKNOWN
            found.append(given)
    return Exposure(
        hidden=any(one.get("expose", True) is not True for one in found),
        opaque=any(one.get("opaque", False) is not False for one in found),
    )


def _may_say(path: Path) -> bool:
    """Return whether a text could have the setting in it."""
    try:
        text = read_named(path, most=_MOST + 1).decode()
    except (OSError, ValueError):  # also a text in another encoding than UTF-8
        return True
    return len(text) >= _MOST or _SPELLED.search(text) is not None


__all__ = ["SETTING", "Exposure", "exposure_of", "said_by"]
