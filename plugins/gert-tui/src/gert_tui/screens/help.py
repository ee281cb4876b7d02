"""The help: which keys work on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.binding import Binding

from gert_tui.screens.page import Page
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from gert_tui.screens.base import GertScreen

_NAMES: Final = {
    "question_mark": "?",
    "slash": "/",
    "escape": "Esc",
    "enter": "Enter",
    "ctrl+x": "Ctrl-X",
    "ctrl+s": "Ctrl-S",
    "ctrl+d": "Ctrl-D",
    "tab": "Tab",
}
_MOVING: Final = (
    "",
    "Moving:",
    "  Up Down j k      a row",
    "  PgUp PgDn        a page",
    "  Home End g G     the first row, the last one",
    "  Left Right       what is further left or right",
)


def help_page(screen: GertScreen) -> Page:
    """Return the help of a screen, made of the keys that it has."""
    lines = ["Keys:"]
    seen = set(screen.unlisted)
    for kind in type(screen).__mro__:
        for binding in kind.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.key not in seen and kind.__module__.startswith("gert_tui."):
                seen.add(binding.key)
                lines.append(f"  {_NAMES.get(binding.key, binding.key):<16} {binding.description}")
    panels = ["  Tab              the other panel"] if len(screen.query(RowsView)) > 1 and "tab" not in seen else []
    return Page(f"Help: {screen.name_shown}", [*lines, *_MOVING, *panels])


__all__ = ["help_page"]
