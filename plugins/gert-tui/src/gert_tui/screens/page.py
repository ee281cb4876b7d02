"""A page of text: variables, a contract, an event, an error, help."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Static

from gert_core.kit.escaping import wrap
from gert_tui.screens.base import GertScreen
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from gert_tui.look import Look


class TextView(RowsView):
    """Lines that are wrapped to the width of the screen."""

    def __init__(self, lines: Sequence[str], look: Look, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.look = look
        self._given = [look.spell(line) for line in lines]
        self._shown = self._given

    def count(self) -> int:
        """Return how many lines there are."""
        return len(self._shown)

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return a line; one that ends with a colon is a heading."""
        line = self._shown[number]
        return [(line, "bold" if line.endswith(":") and not line.startswith(" ") else "")]

    def set_lines(self, lines: Sequence[str]) -> None:
        """Show other lines."""
        self._given = [self.look.spell(line) for line in lines]
        self._fit(self.size.width)

    def on_resize(self, event: events.Resize) -> None:
        """Wrap the lines again."""
        self._fit(event.size.width)

    def _fit(self, width: int) -> None:
        self._shown = [part for line in self._given for part in wrap(line, max(width, 10))]
        self.changed()


class Page(GertScreen):
    """A titled page; Escape leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "back", "back")]
    KEYS: ClassVar[str] = "Esc back  / search  n N next, before  ? help"

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self.lines = list(lines)

    def body(self) -> ComposeResult:
        """Yield the title and the lines."""
        look = self.gert.look
        yield Static(look.spell(self._title), id="head", markup=False)
        yield TextView(self.lines, look, id="page")

    def on_mount(self) -> None:
        """Let the keys move through the lines."""
        view = self.query_one(TextView)
        view.add_class("body")
        view.focus()


__all__ = ["Page", "TextView"]
