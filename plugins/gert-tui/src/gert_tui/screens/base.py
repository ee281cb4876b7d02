"""What all screens have: the keys for help and search, and a sentence instead of everything on a tiny terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.widgets import Input, Static

from gert_tui.widgets.fields import TextLine
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.widget import Widget

    from gert_tui.app import GertApp

TINY: Final = (40, 10)
SMALL: Final = (80, 24)
TOO_SMALL: Final = "This terminal is too small for gert: make it 40 columns wide and 10 rows high, or more."


HELP: Final = Binding("question_mark,f1", "help", "help: the keys that work here")
"""F1 is for where a question mark is text."""


class Roomy:
    """What a screen does on a tiny terminal: a sentence instead of it, and no key does anything but quit."""

    _kept: Widget | None = None
    name_shown: ClassVar[str] = "a page"
    """What its help is called."""
    unlisted: ClassVar[tuple[str, ...]] = ()
    """Keys of all screens that do nothing on this one."""

    def on_resize(self, event: events.Resize) -> None:
        """Choose how much is shown."""
        screen = cast("Screen[Any]", self)
        width, height = event.size
        was, tiny = screen.has_class("-tiny"), width < TINY[0] or height < TINY[1]
        if tiny and not was:
            self._kept = screen.focused
            screen.set_focus(None)
        screen.set_class(tiny, "-tiny")
        screen.set_class(width < SMALL[0] or height < SMALL[1], "-small")
        if was and not tiny:
            screen.call_after_refresh(self._focus_again)

    def _focus_again(self) -> None:
        screen = cast("Screen[Any]", self)
        if self._kept is not None and self._kept.is_attached:
            screen.set_focus(self._kept)
        elif screen.focused is None:
            screen.focus_next()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let no key do what cannot be seen."""
        return action == "quit" or not cast("Screen[Any]", self).has_class("-tiny")

    def action_help(self) -> None:
        """Show the keys that work here."""
        from gert_tui.screens.help import help_page

        cast("Screen[Any]", self).app.push_screen(help_page(self))


class GertScreen(Roomy, Screen[None]):
    """A screen with a line of keys at the bottom, help and search."""

    BINDINGS: ClassVar[list[BindingType]] = [
        HELP,
        Binding("slash", "search", "search"),
        Binding("n", "again(1)", "next place of what was searched for"),
        Binding("N", "again(-1)", "the place before"),
        Binding("l", "runs", "the list of runs; what is executed here goes on"),
        Binding("escape", "back", "back"),
    ]
    KEYS: ClassVar[str] = "? help  q quit"
    seeks: ClassVar[str] = "search"
    """What the line of / does."""

    @property
    def gert(self) -> GertApp:
        """The app."""
        return cast("GertApp", self.app)

    def body(self) -> ComposeResult:
        """Yield what the screen shows."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yield the parts of the screen."""
        yield Static(TOO_SMALL, id="tiny", markup=False)
        yield from self.body()
        yield TextLine(id="search", classes="body-line", placeholder=self.seeks)
        yield Static(self.KEYS, id="keys", markup=False)

    # -- search --------------------------------------------------------------------------------------------------

    def searched(self) -> RowsView | None:
        """Return the list that is searched: the one with the focus, else the first."""
        if isinstance(self.focused, RowsView):
            return self.focused
        try:
            return self.query(RowsView).first()
        except NoMatches:
            return None

    def action_search(self) -> None:
        """Ask what to search for."""
        self._target = self.searched()
        box = self.query_one("#search", Input)
        box.value = ""
        box.add_class("-open")
        box.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search."""
        if event.input.id == "search":
            event.stop()
            self._close_search()
            self.sought(event.value)

    def sought(self, text: str) -> None:
        """Show the next place of a text, or say that there is none."""
        view = self._target or self.searched()
        if view is not None and not view.search(text, here=True) and text:
            self.gert.say(f"nothing here has {text!r}")

    def action_again(self, by: int) -> None:
        """Show the next place, or the one before."""
        view = self.searched()
        if view is None or not view.needle:
            self.gert.say("search with / first")
        elif not view.search(view.needle, by=by):
            self.gert.say(f"nothing here has {view.needle!r}")

    def _close_search(self) -> bool:
        box = self.query_one("#search", Input)
        was = box.has_class("-open")
        box.remove_class("-open")
        if was and self._target is not None:
            self._target.focus()
        return was

    _target: RowsView | None = None

    # -- others --------------------------------------------------------------------------------------------------

    def action_runs(self) -> None:
        """Show the list of runs, which is below all screens."""
        while len(self.app.screen_stack) > 2:
            self.app.pop_screen()

    def action_back(self) -> None:
        """Close the search, or leave the screen."""
        if not self._close_search() and len(self.app.screen_stack) > 2:
            self.app.pop_screen()


__all__ = ["HELP", "TINY", "TOO_SMALL", "GertScreen", "Roomy"]
