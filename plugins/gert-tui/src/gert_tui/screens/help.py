"""The help: which keys work on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.binding import Binding

from gert_tui.screens.page import Page

if TYPE_CHECKING:
    from gert_tui.screens.base import GertScreen

_NAMES: Final = {
    "question_mark": "?",
    "slash": "/",
    "escape": "Esc",
    "enter": "Enter",
    "ctrl+x": "Ctrl-X",
    "tab": "Tab",
}
_MOVING: Final = (
    "",
    "Moving:",
    "  Up Down j k      a row",
    "  PgUp PgDn        a page",
    "  Home End g G     the first row, the last one",
    "  Left Right       what is further left or right",
    "  Tab              the other panel",
)


def help_page(screen: GertScreen) -> Page:
    """Return the help of a screen, made of the keys that it has."""
    lines = ["Keys:"]
    seen: set[str] = set()
    for kind in type(screen).__mro__:
        for binding in kind.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.key not in seen and kind.__module__.startswith("gert_tui."):
                seen.add(binding.key)
                lines.append(f"  {_NAMES.get(binding.key, binding.key):<16} {binding.description}")
    return Page(f"Help: {screen.name_shown}", [*lines, *_MOVING])


__all__ = ["help_page"]
