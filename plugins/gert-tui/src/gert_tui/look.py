"""How things look: icons for statuses, styles that also work without colour, and text from elsewhere made visible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.kit.escaping import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST: Final = 20_000
"""The most characters of one line that are drawn; `gert runs logs` has all of it."""
STATUSES: Final = {
    "success": "done",
    "completed": "done",
    "resolved": "done",
    "planned": "done",
    "failed": "failed",
    "error": "failed",
    "denied": "failed",
    "rejected": "failed",
    "unreadable": "failed",
    "cancelled": "failed",
    "running": "running",
    "queued": "open",
    "open": "open",
    "": "open",
    "skipped": "skipped",
    "waiting": "waiting",
    "approval_pending": "waiting",
    "answer_pending": "waiting",
    "blocked": "waiting",
    "interrupted": "waiting",
    "needs_rca": "waiting",
    "escalated": "waiting",
    "again": "again",
}
"""What each status of a run, a step or an outcome looks like."""
STYLES: Final = {
    "done": "green",
    "failed": "bold red",
    "running": "bold cyan",
    "waiting": "bold yellow",
    "again": "bold cyan",
    "skipped": "dim",
    "open": "dim",
}
"""How each of them is drawn; bold and dim stay without colour."""


class Look(Struct, frozen=True, kw_only=True):
    """The characters that things are drawn with."""

    icons: Mapping[str, str]
    ascii: bool
    arrow: str
    bar: str
    dots: str
    open: str
    closed: str

    def icon(self, status: str) -> str:
        """Return the icon of a status."""
        return self.icons[STATUSES.get(status, "done")]

    def style(self, status: str) -> str:
        """Return the style of a status."""
        return STYLES[STATUSES.get(status, "done")]

    def spell(self, text: str) -> str:
        """Return a text whose characters can all be drawn and seen; what can not is spelled out."""
        shown = escape(text if len(text) <= LONGEST else f"{text[:LONGEST]}{self.dots}")
        if self.ascii:
            shown = shown.replace("…", self.dots)
        return shown.encode("ascii", "backslashreplace").decode() if self.ascii and not shown.isascii() else shown


_UNICODE: Final = {
    "done": "✓",
    "failed": "✗",
    "open": "○",
    "running": "→",
    "waiting": "⚠",
    "again": "↺",
    "skipped": "-",
}
_ASCII: Final = {"done": "+", "failed": "x", "open": "o", "running": ">", "waiting": "!", "again": "~", "skipped": "-"}
UNICODE: Final = Look(icons=_UNICODE, ascii=False, arrow="→", bar="│", dots="…", open="▾", closed="▸")
ASCII: Final = Look(icons=_ASCII, ascii=True, arrow=">", bar="|", dots="...", open="v", closed=">")

__all__ = ["ASCII", "LONGEST", "STATUSES", "UNICODE", "Look"]
