"""The fields of forms: a line of text, a check box, one of several; all terminals can draw them, without colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from rich.segment import Segment
from textual.strip import Strip
from textual.widgets import Checkbox, Input, RadioButton, RadioSet

from gert_core.kit.escaping import is_visible

if TYPE_CHECKING:
    from textual.geometry import Size

    from gert_tui.app import GertApp

_MARK: Final = "•"
"""What Textual draws for each character of a line that is hidden."""


class TextLine(Input):
    """A line of text; what cannot be drawn is a question mark on the screen, and stays as it is in the value."""

    def __init__(self, value: str = "", **options: Any) -> None:
        super().__init__(value, select_on_focus=False, **options)
        self.cursor_blink = False

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        plain = cast("GertApp", self.app).look.ascii
        return Strip([Segment(_seen(one.text, plain), one.style) for one in super().render_line(y)]).crop(
            0, self.size.width
        )


def _seen(text: str, plain: bool) -> str:
    shown = text.replace(_MARK, "*") if plain else text
    if is_visible(shown) and (shown.isascii() or not plain):
        return shown
    return "".join(char if is_visible(char) and (char.isascii() or not plain) else "?" for char in shown)


def _rows(mark: Checkbox | RadioButton, width: int) -> int:
    """Return how many rows a mark and its label take; Textual cuts them to one."""
    return max(mark.render().get_height(mark.styles.get_rules(), width), 1)


class Box(Checkbox):
    """A check box."""

    BUTTON_LEFT = BUTTON_RIGHT = ""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many rows there are."""
        return _rows(self, width)

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]  # noqa: N802 - Textual's name, whose mark differs in colour
        """The box, with a mark when it is ticked."""
        return "[x]" if self.value else "[ ]"


class Radio(RadioButton):
    """One of several."""

    BUTTON_LEFT = BUTTON_RIGHT = ""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many rows there are."""
        return _rows(self, width)

    @property
    def BUTTON_INNER(self) -> str:  # type: ignore[override]  # noqa: N802 - Textual's name, whose mark differs in colour
        """The button, with a mark when it is chosen."""
        return "(*)" if self.value else "( )"


class OneOf(RadioSet):
    """Several things of which one is chosen; the cursor begins at that one."""

    def on_mount(self) -> None:
        """Put the cursor on what is chosen, once Textual has put it on the first one."""
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        for _ in range(self.pressed_index):
            self.action_next_button()


__all__ = ["Box", "OneOf", "Radio", "TextLine"]
