"""Small forms over a screen: choose one of several things, or fill in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from gert_core.kit.escaping import wrap
from gert_tui.screens.base import HELP, TOO_SMALL, Roomy
from gert_tui.widgets.fields import TextLine
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult

    from gert_tui.app import GertApp
    from gert_tui.look import Look

    Check = Callable[[dict[str, str]], str]

Result = TypeVar("Result")
"""What a form gives when it is closed."""


class _Options(RowsView):
    """The things to choose from, wrapped so that all of each can be read."""

    def __init__(self, labels: Sequence[str], look: Look) -> None:
        super().__init__()
        self._labels = [look.spell(label) for label in labels]
        self._rows = list(enumerate(self._labels))
        """The rows, each with the number of its thing."""

    @property
    def chosen(self) -> int:
        """The number of the thing at the cursor."""
        return self._rows[self.cursor][0]

    def count(self) -> int:
        """Return how many rows there are."""
        return len(self._rows)

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return one of them."""
        return [(self._rows[number][1], "")]

    def on_resize(self, event: events.Resize) -> None:
        """Take as many rows as the things need."""
        if not event.size.width:
            return
        at = self.chosen
        width = max(event.size.width, 10)
        self._rows = [(n, part) for n, label in enumerate(self._labels) for part in wrap(label, width)]
        self.styles.height = len(self._rows) + 2
        self.changed()
        self.to(at)

    def to(self, thing: int) -> None:
        """Put the cursor on a thing."""
        last = len(self._labels) - 1
        self.move_to(next(row for row, (n, _) in enumerate(self._rows) if n == min(max(thing, 0), last)))


class Dialog(Roomy, ModalScreen[Result]):
    """A form over a screen: its lines scroll where there is little room, its title, buttons and keys stay."""

    BINDINGS: ClassVar[list[BindingType]] = [HELP]
    KEPT: ClassVar[int] = 8
    """How many rows are not the lines: the border, the title, what is wrong, the buttons, the keys."""
    KEYS: ClassVar[str] = ""

    def __init__(self, title: str, lines: Sequence[str] = ()) -> None:
        super().__init__()
        self._title, self._lines = title, lines

    @property
    def look(self) -> Look:
        """The characters that things are drawn with."""
        return cast("GertApp", self.app).look

    def compose(self) -> ComposeResult:
        """Yield the form, and the sentence that stands there instead of it on a tiny terminal."""
        yield Static(TOO_SMALL, id="tiny", markup=False)
        with Vertical(classes="dialog"):
            yield Static(self.look.spell(self._title), classes="title", markup=False)
            with VerticalScroll(classes="fields", can_focus=False):
                for line in self._lines:
                    yield Static(self.look.spell(line), markup=False)
                yield from self.fields()
            yield from self.below()
            yield Static(self.KEYS, classes="keys", markup=False)

    def fields(self) -> ComposeResult:
        """Yield what is filled in."""
        yield from ()

    def below(self) -> ComposeResult:
        """Yield what does not scroll with the lines."""
        yield from ()

    def wrong(self, text: str) -> None:
        """Say what is wrong with what was filled in."""
        self.query_one(".wrong", Static).update(Text(self.look.spell(text)))

    def on_resize(self, event: events.Resize) -> None:
        """Give the lines what the rest leaves."""
        for lines in self.query(".fields"):
            lines.styles.max_height = max(event.size.height * 95 // 100 - self.KEPT, 1)


class Choose(Dialog[int | None]):
    """Choose one of several things; the result is its number, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "leave"),
        Binding("enter", "choose", "choose", priority=True),
        Binding("down,j", "move(1)", "down", priority=True),  # also before the list has the focus
        Binding("up,k", "move(-1)", "up", priority=True),
    ]
    KEYS: ClassVar[str] = "Enter choose  Esc leave  ? help"
    name_shown = "a choice"

    def __init__(self, title: str, lines: Sequence[str], options: Sequence[str]) -> None:
        super().__init__(title, lines)
        self._options = options

    def below(self) -> ComposeResult:
        """Yield the things."""
        yield _Options(self._options, self.look)

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Take what was clicked."""
        self.dismiss(self.query_one(_Options).chosen)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        view = self.query_one(_Options)
        view.to(view.chosen + by)

    def action_choose(self) -> None:
        """Take the thing at the cursor."""
        self.dismiss(self.query_one(_Options).chosen)

    def action_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)


class Fill(Dialog[dict[str, str] | None]):
    """Fill in a few lines; the result has them by name, or is None.

    ``fields`` are name, label and what is there already; ``check`` returns what is wrong with the lines.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave"),
        Binding("enter", "next", "next line", priority=True),  # before keys that are typed right behind it
    ]
    KEYS: ClassVar[str] = "Enter next line  Esc leave  F1 help"
    name_shown = "a form"

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
        super().__init__(title, lines)
        self._fields, self._button, self._hidden, self._check = fields, button, hidden, check

    def fields(self) -> ComposeResult:
        """Yield the lines that are filled in."""
        for name, label, value in self._fields:
            yield Static(self.look.spell(label), markup=False)
            yield TextLine(value, id=f"field-{name}", password=self._hidden)

    def below(self) -> ComposeResult:
        """Yield what is wrong, and the buttons."""
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
            self.wrong(wrong)
        else:
            self.dismiss(found)


__all__ = ["Choose", "Dialog", "Fill"]
