"""A list of rows of which only those on the screen are drawn, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    Part = tuple[str, str]

_MATCH = Style(reverse=True, bold=True)


class RowsView(ScrollView, can_focus=True):
    """Rows with a cursor; subclasses say how many there are and what each consists of.

    Texts of rows are drawn as they are: subclasses spell out what came from elsewhere.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "to_end(False)", "First", show=False),
        Binding("end,G", "to_end(True)", "Last", show=False),
        Binding("left", "sideways(-8)", "Left", show=False),
        Binding("right", "sideways(8)", "Right", show=False),
    ]
    cursor: reactive[int] = reactive(0)
    shows_cursor = True

    class Moved(Message):
        """The person moved the cursor."""

        def __init__(self, view: RowsView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> RowsView:
            """The list."""
            return self.view

    class Chosen(Moved):
        """The person chose the row at the cursor."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.needle = ""
        """What is searched for; rows show where it is."""
        self._widest = 0

    # -- for subclasses ------------------------------------------------------------------------------------------

    def count(self) -> int:
        """Return how many rows there are."""
        raise NotImplementedError

    def parts(self, number: int) -> Sequence[Part]:
        """Return a row as texts, each with its style."""
        raise NotImplementedError

    def changed(self) -> None:
        """Draw again, because rows were added or changed."""
        total = self.count()
        self.virtual_size = Size(max(self._widest, self.size.width), total)
        if self.cursor >= total:
            self.cursor = max(total - 1, 0)
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Show the row at the cursor also when there is less room."""
        self.changed()
        self.call_after_refresh(self._show_cursor)

    def _show_cursor(self) -> None:
        if self.cursor >= 0:
            self.move_to(self.cursor)

    # -- drawing -------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        scroll_x, scroll_y = self.scroll_offset
        number, width = scroll_y + y, self.size.width
        base = self.rich_style
        if number >= self.count():
            return Strip.blank(width, base)
        strip = Strip([Segment(text, base + Style.parse(style)) for text, style in self._marked(number)])
        if strip.cell_length > self._widest:
            self._widest = strip.cell_length
            self.call_later(self.changed)
        shown = strip.crop_extend(scroll_x, scroll_x + width, base)
        if self.shows_cursor and number == self.cursor:
            shown = Strip(
                [Segment(s.text, (s.style or base) + Style(reverse=self.has_focus, bold=True)) for s in shown]
            )
        return shown

    def _marked(self, number: int) -> Sequence[Part]:
        parts = self.parts(number)
        if not self.needle:
            return parts
        found: list[Part] = []
        for text, style in parts:
            lower, start = text.lower(), 0
            while (at := lower.find(self.needle.lower(), start)) >= 0:
                found += [(text[start:at], style), (text[at : at + len(self.needle)], f"{style} reverse bold".strip())]
                start = at + len(self.needle)
            found.append((text[start:], style))
        return [part for part in found if part[0]]

    # -- moving --------------------------------------------------------------------------------------------------

    def move_to(self, number: int) -> None:
        """Put the cursor on a row, and show that row."""
        self.cursor = min(max(number, 0), max(self.count() - 1, 0))
        self.scroll_to_region(
            Region(self.scroll_offset.x, self.cursor, 1, 1), animate=False, force=True, immediate=True
        )
        self.refresh()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.move_to(self.cursor + by)
        self.post_message(self.Moved(self))

    def action_page(self, by: int) -> None:
        """Move the cursor by what is seen."""
        self.action_move(by * max(self.size.height - 1, 1))

    def action_to_end(self, last: bool) -> None:
        """Move the cursor to the first or the last row."""
        self.action_move(self.count() if last else -self.count())

    def action_sideways(self, by: int) -> None:
        """Show what is further left or right."""
        self.scroll_to(x=max(self.scroll_offset.x + by, 0), animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the person clicked; twice chooses the row."""
        number = self.scroll_offset.y + event.get_content_offset_capture(self).y
        if 0 <= number < self.count():
            again = number == self.cursor and event.chain > 1
            self.move_to(number)
            self.post_message(self.Chosen(self) if again else self.Moved(self))

    # -- searching -----------------------------------------------------------------------------------------------

    def text_of(self, number: int) -> str:
        """Return a row as text."""
        return "".join(text for text, _ in self.parts(number))

    def search(self, needle: str, *, by: int = 1, here: bool = False) -> bool:
        """Move to the next row with a text, round the end; return whether there is one. ``by`` -1 looks backwards."""
        self.needle = needle
        total = self.count()
        self.refresh()
        if not needle or not total:
            return False
        for distance in range(0 if here else 1, total + 1):
            number = (self.cursor + by * distance) % total
            if needle.lower() in self.text_of(number).lower():
                self.move_to(number)
                self.post_message(self.Moved(self))
                return True
        return False


__all__ = ["RowsView"]
