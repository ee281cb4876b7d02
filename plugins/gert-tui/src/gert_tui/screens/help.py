"""The help: which keys work on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button

from gert_tui.screens.page import Page
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from textual.screen import Screen

    from gert_tui.screens.base import Roomy

_NAMES: Final = {
    "question_mark": "?",
    "slash": "/",
    "escape": "Esc",
    "enter": "Enter",
    "ctrl+x": "Ctrl-X",
    "ctrl+s": "Ctrl-S",
    "ctrl+d": "Ctrl-D",
    "ctrl+r": "Ctrl-R",
    "tab": "Tab",
    "f1": "F1",
    "up": "Up",
    "down": "Down",
}
_MOVING: Final = (
    "",
    "Moving:",
    "  Up Down j k      a row",
    "  PgUp PgDn        a page",
    "  Home End g G     the first row, the last one",
    "  Left Right       what is further left or right",
)


_FILLING: Final = (
    "",
    "Fields:",
    "  Tab Shift-Tab    the next field or button, the one before",
    "  Space            tick or clear a box, choose one of several",
    "  Up Down          move among several",
    "  Enter            press the button; behind a line, go on",
)


def help_page(screen: Roomy) -> Page:
    """Return the help of a screen, made of the keys that it has."""
    shown = cast("Screen[Any]", screen)
    lines = ["Keys:"]
    seen = set(screen.unlisted)
    for kind in type(screen).__mro__:
        for binding in kind.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.key not in seen and kind.__module__.startswith("gert_tui."):
                seen.add(binding.key)
                names = " ".join(_NAMES.get(key, key) for key in binding.key.split(","))
                lines.append(f"  {names:<16} {binding.description}")
    rows = [one for one in shown.query(RowsView) if one.display]
    moving = _MOVING if rows and not isinstance(screen, ModalScreen) else ()
    filling = _FILLING if [one for one in shown.query(Button) if _is_shown(one)] else ()
    panels = ["  Tab              the other panel"] if len(rows) > 1 and "tab" not in seen else []
    return Page(f"Help: {screen.name_shown}", [*lines, *moving, *filling, *panels])


def _is_shown(one: Button) -> bool:
    return all(around.display for around in one.ancestors_with_self if isinstance(around, Widget))


__all__ = ["help_page"]
