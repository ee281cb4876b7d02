"""Start a run: choose a runbook, fill in its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Checkbox, Input, Static

from gert_core.api import GertError
from gert_core.hosting.inputs import as_text, input_fields
from gert_tui.screens.base import GertScreen
from gert_tui.widgets.fields import Box, OneOf, Radio, TextLine
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual import events
    from textual.app import ComposeResult
    from textual.widget import Widget

    from gert_core.hosting.inputs import InputField
    from gert_tui.look import Look


class _Books(RowsView):
    """The runbooks to choose from."""

    def __init__(self, look: Look, root: Path) -> None:
        super().__init__(id="books", classes="body")
        self.look = look
        self._root = root
        self.paths: list[Path] = []

    def count(self) -> int:
        """Return how many there are."""
        return len(self.paths)

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return one of them."""
        path = self.paths[number]
        return [(self.look.spell(str(path.relative_to(self._root))), "")]


class StartScreen(GertScreen):
    """A list of runbooks, then a form with the inputs of the one that was chosen.

    ``at_once`` starts a run without the form when nothing is missing; ``mode`` is that of this run alone.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "choose the runbook"),
        Binding("ctrl+s", "start", "start the run", priority=True),
        Binding("ctrl+d", "dry", "toggle dry-run", priority=True),
        Binding("d", "dry", "toggle dry-run"),
        Binding("q", "back", "back"),
    ]
    KEYS: ClassVar[str] = "F1 help  Esc back  Enter choose  Tab next field  Ctrl-S start  Ctrl-D dry-run"
    name_shown = "start a run"

    def __init__(
        self,
        runbook: Path | None = None,
        given: dict[str, Any] | None = None,
        *,
        at_once: bool = False,
        mode: str | None = None,
    ) -> None:
        super().__init__()
        self._runbook = runbook
        self._given = given or {}
        self._at_once = at_once
        self._fields: list[InputField] = []
        self._mode = mode
        self._ticked: set[int] = set()
        """The numbers of the boxes that the person ticked or cleared."""

    def body(self) -> ComposeResult:
        """Yield the list and, empty, the form."""
        yield Static("", id="head", markup=False)
        yield _Books(self.gert.look, self.gert.host.root)
        with Vertical(classes="dialog body", id="form"):
            yield VerticalScroll(classes="fields", id="fields", can_focus=False)
            with Horizontal(classes="buttons"):
                yield Button(Text("[ Start ]"), id="start")
                yield Button(Text("[ Back ]"), id="back")

    def on_mount(self) -> None:
        """Look for runbooks, or show the form of the one that is given."""
        self.query_one("#form").display = False
        self._head()
        if self._runbook is not None:
            self.query_one(_Books).display = False
            self._read(self._runbook)
            return
        self.query_one(_Books).focus()
        app = self.gert

        def work() -> None:
            app.call_later(self._list, list(app.host.runbooks()))

        app.apart(work)

    def _head(self) -> None:
        name = "choose a runbook" if self._runbook is None else self._runbook.name
        self.query_one("#head", Static).update(self.gert.drawn(f"Start: {name}  [{self._mode or self.gert.mode}]"))

    def _list(self, found: list[Path]) -> None:
        if not self.query(_Books):  # the screen was left meanwhile
            return
        view = self.query_one(_Books)
        view.paths = found
        view.changed()
        if not found:
            self.gert.say("there is no runbook below this directory")

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Take the runbook that was clicked twice."""
        self.action_choose()

    def action_choose(self) -> None:
        """Show the form of the runbook at the cursor."""
        view = self.query_one(_Books)
        if view.display and view.cursor < len(view.paths):
            self._runbook = view.paths[view.cursor]
            self._head()
            self._read(self._runbook)

    def _read(self, runbook: Path) -> None:
        """Read the inputs of a runbook, in a thread."""
        app = self.gert

        def work() -> None:
            try:
                fields = input_fields(app.host, runbook)
            except GertError as error:
                app.call_later(self._refuse, error)
                return
            app.call_later(self._ask, fields)

        app.apart(work)

    def _refuse(self, error: GertError) -> None:
        self.app.pop_screen()
        self.gert.show_error("It cannot be started", error)

    def _ask(self, fields: list[InputField]) -> None:
        self._fields = fields
        at_once, self._at_once = self._at_once, False
        if not self.query("#fields"):  # the screen was left meanwhile
            return
        if at_once and not any(field.missing and field.name not in self._given for field in fields):
            self._start(self._given, failed=lambda: self._ask(fields))
            return
        self.query_one(_Books).display = False
        self.query_one("#form").display = True
        place = self.query_one("#fields")
        for number, field in enumerate(fields):
            place.mount(Static(self.gert.look.spell(field.label), markup=False))
            place.mount(self._line(number, field))
        if not fields:
            place.mount(Static("It has no inputs.", markup=False))
        self.call_after_refresh(self._focus_first)

    def _focus_first(self) -> None:
        boxes: list[Any] = [*self.query("#fields TextLine"), *self.query("#fields OneOf"), *self.query("#fields Box")]
        empty = [box for box in self.query("#fields TextLine").results(TextLine) if not box.value]
        first: Any = next(iter(empty or boxes), self.query_one("#start", Button))
        first.focus()

    def set_focus(self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False) -> None:
        """Let the keys go to a widget; what is scrolled then is the form's matter."""
        super().set_focus(widget, scroll_visible=False, from_app_focus=from_app_focus)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show a field and the label above it, where they do not all fit."""
        self.call_after_refresh(self._show_field, event.widget)

    def _show_field(self, field: Widget) -> None:
        fields = self.query_one("#fields", VerticalScroll)
        if field.parent is fields:
            label = fields.children[list(fields.children).index(field) - 1]
            both = label.virtual_region.union(field.virtual_region)
            fields.scroll_to_region(both, animate=False, force=True, origin_visible=True)

    def _line(self, number: int, field: InputField) -> TextLine | OneOf | Box:
        given = self._given.get(field.name, field.default)
        value = "" if given is None else as_text(given)
        if field.type == "bool":
            return Box(Text(self.gert.look.spell(field.name)), value == "true", id=f"input-{number}")
        if field.options:
            spell = self.gert.look.spell
            return OneOf(*(Radio(Text(spell(one)), one == value) for one in field.options), id=f"input-{number}")
        return TextLine(value, id=f"input-{number}", password=field.secret)

    def _values(self) -> dict[str, Any]:
        """Return what was filled in; what is as the runbook has it is left to the runbook.

        A default that was cleared is an empty value, and a box without a default that was not touched is none.
        """
        found: dict[str, Any] = {}
        for number, field in enumerate(self._fields):
            box = self.query_one(f"#input-{number}")
            value: Any = None
            if isinstance(box, Box):
                untouched = not field.required and field.default is None and number not in self._ticked
                value = "" if untouched and field.name not in self._given else "true" if box.value else "false"
            elif isinstance(box, OneOf):
                value = field.options[box.pressed_index] if box.pressed_index >= 0 else ""
            elif isinstance(box, TextLine):
                value = box.value
            if value != (field.default or ""):
                found[field.name] = value
        return found

    def on_checkbox_changed(self, event: Checkbox.Changed) -> None:
        """Keep which boxes the person ticked or cleared."""
        self._ticked.add(int(str(event.checkbox.id).rpartition("-")[2]))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next field; behind the last one, to the button."""
        if event.input.id == "search":
            super().on_input_submitted(event)
        else:
            event.stop()
            self.focus_next()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Start the run, or go back."""
        if event.button.id == "start":
            self.action_start()
        else:
            self.app.pop_screen()

    def action_start(self) -> None:
        """Start the run with what was filled in."""
        if self._runbook is not None and self.query_one("#form").display:
            self._start(self._values())

    def _start(self, inputs: dict[str, Any], *, failed: Callable[[], object] | None = None) -> None:
        assert self._runbook is not None  # noqa: S101 - the form is there when it was chosen
        self.gert.start_run(self._runbook, inputs, mode=self._mode or self.gert.mode, failed=failed)

    def action_dry(self) -> None:
        """Toggle dry-run."""
        if self._mode is not None:
            self.gert.say(f"this form is for a {self._mode}")
            return
        self.gert.toggle_mode()
        self._head()


__all__ = ["StartScreen"]
