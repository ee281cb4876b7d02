"""The colours of statuses, the same in every format."""

from __future__ import annotations

from typing import Final

COLOURS: Final = {
    "good": ("#dafbe1", "#1a7f37", "#0b2e13"),
    "bad": ("#ffebe9", "#cf222e", "#4c0b0f"),
    "skipped": ("#f6f8fa", "#8c959f", "#57606a"),
    "active": ("#ddf4ff", "#0969da", "#0a2f5c"),
    "waiting": ("#fff8c5", "#9a6700", "#3b2300"),
    "idle": ("#ffffff", "#d0d7de", "#8c959f"),
}
"""By style: what a step is filled with, its outline and its text."""
_STYLES: Final = {
    "success": "good",
    "failed": "bad",
    "error": "bad",
    "denied": "bad",
    "skipped": "skipped",
    "running": "active",
    "": "idle",
}


def style_of(status: str) -> str:
    """Return the style of a status; every status that is neither an end nor running means waiting."""
    return _STYLES.get(status, "waiting")


__all__ = ["COLOURS", "style_of"]
