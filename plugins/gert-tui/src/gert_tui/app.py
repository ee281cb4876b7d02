"""The app: which screens there are, the runs that are looked at, and what is done over all screens."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.text import Text
from textual.app import App

from gert_core.api import GertError
from gert_core.hosting import Giving
from gert_tui.driver import TerminalDriver
from gert_tui.endings import error_lines
from gert_tui.session import RunSession
from gert_tui.terminal import end_if_gone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import RenderableType
    from textual.binding import BindingType

    from gert_core.hosting import Host
    from gert_tui.command import TuiOptions
    from gert_tui.look import Look


_FORM: Final = Giving(hint="fill it in")
_LOOKS: Final = 2.0
"""Seconds between two looks whether the terminal is still there."""


class GertApp(App[None]):
    """Runs of one project on one terminal."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, host: Host, wanted: TuiOptions, *, look: Look) -> None:
        super().__init__(TerminalDriver, ansi_color=True)  # the colours of the terminal, and with NO_COLOR really none
        self.host = host
        self.wanted = wanted
        self.look = look
        self.mode = str(wanted.start.get("mode") or "real")
        """The mode of runs that are started next."""
        self.sessions: dict[str, RunSession] = {}
        """The runs that were started here, by their ids."""
        self.broken: BaseException | None = None
        """The unexpected error that ended the screen."""
        self.unwritten = False
        """Whether nothing more can be drawn."""
        self._left = False

    def on_mount(self) -> None:
        """Show the first screen: the list of runs, and over it what the command line asks for."""
        from gert_tui.screens.runs import RunsScreen

        if self._left:
            self.exit()
            return
        self.theme = "ansi-dark"
        self.animation_level = "none"
        self.set_class(self.look.ascii, "-ascii")
        if not self.is_headless:
            self.set_interval(_LOOKS, end_if_gone)
        self.push_screen(RunsScreen())
        if self.wanted.run is not None:
            self.open_run(self.wanted.run)
        elif self.wanted.runbook is not None:
            from gert_tui.screens.start import StartScreen

            self.push_screen(
                StartScreen(self.wanted.runbook, dict(self.wanted.start.get("inputs") or {}), at_once=True)
            )

    # -- runs ----------------------------------------------------------------------------------------------------

    def open_run(self, run_id: str) -> None:
        """Show a run: one that is executed here goes on where it is, any other is followed."""
        from gert_tui.screens.run import RunScreen

        try:
            found = self.host.run(run_id).run_id
            session = self.sessions.get(found) or RunSession.follow(self.host, found)
        except GertError as error:
            self.show_error("This run cannot be shown", error)
            return
        self.push_screen(RunScreen(session))

    def start_run(
        self, runbook: Path, inputs: dict[str, Any], *, mode: str, failed: Callable[[], object] | None = None
    ) -> None:
        """Start a run and show it; what is wrong is shown on a page."""
        options = {name: value for name, value in self.wanted.start.items() if name not in ("inputs", "mode")}
        if mode != "real":
            options.pop("record", None)

        def work() -> None:
            try:
                session = RunSession.start(self.host, runbook, inputs=inputs, giving=_FORM, mode=mode, **options)
            except GertError as error:
                self.call_later(self.show_error, f"{runbook.name} was not started", error)
                if failed is not None:
                    self.call_later(failed)
                return
            self.call_later(self._show_started, session)

        self.apart(work)

    def _show_started(self, session: RunSession) -> None:
        from gert_tui.screens.run import RunScreen
        from gert_tui.screens.start import StartScreen

        if session.run_id:
            self.sessions[session.run_id] = session
        if isinstance(self.screen, StartScreen):
            self.pop_screen()
        self.push_screen(RunScreen(session))

    @property
    def live(self) -> list[RunSession]:
        """The runs that are executed here now."""
        return [session for session in self.sessions.values() if session.live]

    # -- what screens use ----------------------------------------------------------------------------------------

    def apart(self, work: Callable[[], None]) -> None:
        """Do something that takes time in a thread of its own; an unexpected error of it is said."""

        def guarded() -> None:
            try:
                work()
            except Exception as error:  # a thread that dies would draw a traceback over the screen
                self.call_later(self.say_fault, error)

        threading.Thread(target=guarded, name="gert-tui", daemon=True).start()

    def drawn(self, text: str) -> Text:
        """Return a text that is drawn as it is, with everything in it visible."""
        return Text(self.look.spell(text), no_wrap=True, end="")

    def say(self, text: str) -> None:
        """Show a sentence for some seconds."""
        self.notify(self.look.spell(text), markup=False, timeout=4)

    def say_fault(self, error: BaseException) -> None:
        """Show an unexpected error with which the screen can go on."""
        told = f": {error}" if str(error) else ""
        self.say(f"internal error: {type(error).__name__}{told}")

    def show_error(self, title: str, error: GertError) -> None:
        """Show an error as the command line says it."""
        from gert_tui.screens.page import Page

        self.push_screen(Page(title, error_lines(error)))

    # -- ends ----------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Close the screen, from any thread, also before it is open."""
        self._left = True
        self.call_later(self.exit)

    def broke(self, error: BaseException | None) -> None:
        """End with an unexpected error, which the command line says."""
        self.broken = self.broken or error or RuntimeError("the screen cannot go on")
        self._close_messages_no_wait()

    def panic(self, *renderables: RenderableType) -> None:
        """End without what Textual would draw: tracebacks with the values of variables."""
        del renderables
        self.broke(sys.exc_info()[1])

    def _fatal_error(self) -> None:
        self.broke(sys.exc_info()[1])

    def toggle_mode(self) -> None:
        """Let the next runs be dry-runs, or real again."""
        self.mode = "real" if self.mode == "dry-run" else "dry-run"
        self.say(f"runs that you start now are {'dry-runs: nothing is called' if self.mode == 'dry-run' else 'real'}")


__all__ = ["GertApp"]
