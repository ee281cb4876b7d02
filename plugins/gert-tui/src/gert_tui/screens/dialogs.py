"""Small forms over a screen: choose one of several things, or fill in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from gert_tui.app import GertApp
    from gert_tui.look import Look

    Check = Callable[[dict[str, str]], str]


class _Options(RowsView):
    """The things to choose from, each with the key that chooses it."""

    def __init__(self, labels: Sequence[str], look: Look) -> None:
        super().__init__()
        self._labels = [look.spell(label) for label in labels]

    def count(self) -> int:
        """Return how many there are."""
        return len(self._labels)

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return one of them."""
        return [(self._labels[number], "")]

    def on_mount(self) -> None:
        """Take as many rows as there are things."""
        self.styles.height = self.count() + 2
        self.changed()


class Choose(ModalScreen[int | None]):
    """Choose one of several things; the result is its number, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "leave"),
        Binding("enter", "choose", "choose", priority=True),
        Binding("down,j", "move(1)", "down", priority=True),  # also before the list has the focus
        Binding("up,k", "move(-1)", "up", priority=True),
    ]

    def __init__(self, title: str, lines: Sequence[str], options: Sequence[str]) -> None:
        super().__init__()
        self._title, self._lines, self._options = title, lines, options

    def compose(self) -> ComposeResult:
        """Yield the question and the things."""
        look = cast("GertApp", self.app).look
        with Vertical(classes="dialog"):
            yield Static(look.spell(self._title), classes="title", markup=False)
            for line in self._lines:
                yield Static(look.spell(line), markup=False)
            yield _Options(self._options, look)

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Take what was clicked."""
        self.dismiss(message.view.cursor)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.query_one(_Options).action_move(by)

    def action_choose(self) -> None:
        """Take the thing at the cursor."""
        self.dismiss(self.query_one(_Options).cursor)

    def action_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)


class Fill(ModalScreen[dict[str, str] | None]):
    """Fill in a few lines; the result has them by name, or is None.

    ``fields`` are name, label and what is there already; ``check`` returns what is wrong with the lines.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave"),
        Binding("enter", "next", "next line", priority=True),  # before keys that are typed right behind it
    ]

    def __init__(
        self,
        title: str,
        lines: Sequence[str],
        fields: Sequence[tuple[str, str, str]],
        *,
        button: str = "OK",
        hidden: bool = False,
        check: Check | None = None,
    ) -> None:
        super().__init__()
        self._title, self._lines, self._fields = title, lines, fields
        self._button, self._hidden, self._check = button, hidden, check

    def compose(self) -> ComposeResult:
        """Yield the lines and the buttons."""
        look = cast("GertApp", self.app).look
        with Vertical(classes="dialog"):
            yield Static(look.spell(self._title), classes="title", markup=False)
            with VerticalScroll(classes="fields", can_focus=False):
                for line in self._lines:
                    yield Static(look.spell(line), markup=False)
                for name, label, value in self._fields:
                    yield Static(look.spell(label), markup=False)
                    box = Input(value, id=f"field-{name}", password=self._hidden, select_on_focus=False)
                    box.cursor_blink = False
                    yield box
            yield Static("", classes="wrong", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(Text(f"[ {self._button} ]"), id="ok")
                yield Button(Text("[ Cancel ]"), id="cancel")

    def action_next(self) -> None:
        """Go to the next line; behind the last one, take them. On a button, press it."""
        if isinstance(self.focused, Button):
            self.focused.press()
            return
        boxes = list(self.query(Input))
        at = boxes.index(self.focused) if isinstance(self.focused, Input) else len(boxes)
        if at + 1 < len(boxes):
            self.set_focus(boxes[at + 1])
        else:
            self._take()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take the lines, or leave."""
        if event.button.id == "ok":
            self._take()
        else:
            self.dismiss(None)

    def action_leave(self) -> None:
        """Leave without taking anything."""
        self.dismiss(None)

    def _take(self) -> None:
        found = {name: self.query_one(f"#field-{name}", Input).value for name, _, _ in self._fields}
        wrong = self._check(found) if self._check is not None else ""
        if wrong:
            self.query_one(".wrong", Static).update(Text(cast("GertApp", self.app).look.spell(wrong)))
        else:
            self.dismiss(found)


__all__ = ["Choose", "Fill"]
