"""The screen of one run: its steps, what tools write, and a line that says how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from gert_core.kit.escaping import wrap
from gert_tui.endings import ending_lines
from gert_tui.screens.asking import Asking
from gert_tui.screens.base import TINY, GertScreen
from gert_tui.screens.going_on import GoingOn
from gert_tui.screens.leaving import Leaving
from gert_tui.widgets.bar import StatusBar
from gert_tui.widgets.output import OutputView
from gert_tui.widgets.steps import StepsView

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.timer import Timer

    from gert_tui.session import RunSession
    from gert_tui.widgets.rows import RowsView

_AT_ONCE: Final = 2000
"""How many notices are taken before the screen is drawn."""


class RunScreen(Asking, GoingOn, Leaving, GertScreen):
    """One run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "confirm", "answer what the run asks; open or fold a step"),
        Binding("q", "quit", "quit; a run that is executed here is cancelled, or left to the inbox"),
        Binding("d", "dry", "a dry-run of the same runbook with the same inputs"),
        Binding("v", "variables", "variables with their types, masked"),
        Binding("c", "contract", "contract, risk and rules of the step"),
        Binding("t", "trace", "events of the trace"),
        Binding("o", "output", "output of the step, or of all"),
        Binding("f", "follow", "follow the run again, or stay"),
        Binding("a", "approvals", "approvals"),
        Binding("r", "resume", "resume or retry the run"),
        Binding("ctrl+x", "cancel", "cancel the run"),
        Binding("s", "start", "start another run"),
        Binding("tab", "switch", "the other panel", priority=True),
    ]
    KEYS: ClassVar[str] = "? help  q quit  Enter open  a approvals  c contract  v variables  t trace  o output"
    name_shown = "a run"

    class Arrived(Message):
        """Something happened in the run."""

    def __init__(self, session: RunSession) -> None:
        super().__init__()
        self.session = session
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        """Yield the panels."""
        model, look = self.session.model, self.gert.look
        yield Static("", id="head", markup=False)
        yield Static("", id="tabs", markup=False)
        with Horizontal(id="panels", classes="body -steps"):
            yield StepsView(model, look, id="steps")
            yield OutputView(model, look, id="output")
        yield StatusBar(model, look, mode=self.session.mode)

    def on_mount(self) -> None:
        """Begin to take what the run tells."""
        self.steps, self.output = self.query_one(StepsView), self.query_one(OutputView)
        self.bar = self.query_one(StatusBar)
        self.steps.border_title, self.output.border_title = "Steps", "Output"
        self.steps.focus()
        self._tabs()
        self._timer = self.set_interval(1.0, self._tick)
        self.session.feed.connect(lambda: self.post_message(self.Arrived()))
        self._draw()

    def _tick(self) -> None:
        """Let the clock go on while the run does."""
        if self.session.model.end is None and self.is_current:
            self.bar.refresh()

    def on_run_screen_arrived(self, message: Arrived) -> None:
        """Take what happened, and draw it."""
        for notice in self.session.feed.take(_AT_ONCE):
            self.session.model.take(notice)
        self._draw()
        if self.session.model.end is not None and self.session.model.end is not self.session.told_end:
            self.session.told_end = self.session.model.end
            self._close_run()
        self.ask_on()

    def _close_run(self) -> None:
        """Show how it ended below its output."""
        width = max(self.output.size.width, TINY[0])
        for line in ending_lines(self.session, self.gert.look):
            for part in wrap(self.gert.look.spell(line), width):
                self.session.model.output.note("", part)
        self._draw()

    def _draw(self) -> None:
        model = self.session.model
        self.steps.follow()
        if self.output.key is not None and self.steps.selected is not None:
            self.output.show(self.steps.selected.key)
        else:
            self.output.follow()
        self._name_output()
        self.bar.refresh()
        does = "answer" if model.questions else "approvals" if model.tickets and model.end is None else "open"
        self.query_one("#keys", Static).update(self.KEYS.replace("Enter open", f"Enter {does}"))
        name = str(model.facts.get("runbook") or (self.session.runbook.stem if self.session.runbook else ""))
        where = "" if self.session.hosted is not None else "  (followed)"
        self.query_one("#head", Static).update(self.gert.drawn(f"{name}  {self.session.run_id}{where}"))

    # -- panels --------------------------------------------------------------------------------------------------

    def action_switch(self) -> None:
        """Let the keys work in the other panel; on a small terminal show it."""
        other = self.output if self.steps.has_focus else self.steps
        panels = self.query_one("#panels")
        panels.set_class(other is self.output, "-output")
        panels.set_class(other is self.steps, "-steps")
        other.focus()
        self._tabs()

    def _tabs(self) -> None:
        first = not self.query_one("#panels").has_class("-output")
        told = "[Steps]  Output   (Tab)" if first else " Steps  [Output]  (Tab)"
        self.query_one("#tabs", Static).update(self.gert.drawn(told))

    def on_rows_view_moved(self, message: RowsView.Moved) -> None:
        """Show the output of the step that is looked at, where only one is shown."""
        if message.view is self.steps and self.output.key is not None and self.steps.selected is not None:
            self.output.follows = True
            self.output.show(self.steps.selected.key)
            self._name_output()

    def action_output(self) -> None:
        """Show the output of the step at the cursor, or of all again."""
        step = self.steps.selected
        one = self.output.key is None and step is not None
        self.output.follows = True
        self.output.show(step.key if one and step is not None else None)
        self._name_output()

    def _name_output(self) -> None:
        """Say above the output whose it is."""
        step = self.steps.selected if self.output.key is not None else None
        name = "" if step is None else step.name
        self.output.border_title = Content(f"Output of {self.gert.look.spell(name)}" if name else "Output")

    def action_follow(self) -> None:
        """Go with the run again, or stay at this place."""
        on = not (self.steps.follows and self.output.follows)
        self.steps.follows = self.output.follows = on
        self.gert.say("following the run" if on else "staying here")
        self._draw()

    # -- pages ---------------------------------------------------------------------------------------------------

    def action_variables(self) -> None:
        """Show the variables."""
        from gert_tui.pages import variables_page

        self.app.push_screen(variables_page(self.session))

    def action_contract(self) -> None:
        """Show what is known about the step at the cursor."""
        from gert_tui.pages import contract_page

        self.app.push_screen(contract_page(self.session, self.steps.selected))

    def action_trace(self) -> None:
        """Show the events."""
        from gert_tui.screens.trace import TraceScreen

        self.app.push_screen(TraceScreen(self.session))

    def action_approvals(self) -> None:
        """Show what waits for approval, with the cursor on a request of this run: of the step at the cursor first."""
        from gert_tui.screens.approvals import ApprovalsScreen

        tickets, step = self.session.model.tickets, self.steps.selected
        mine = [name for name, data in tickets.items() if step is not None and data["step_key"] == step.key]
        self.app.push_screen(ApprovalsScreen(ticket=next(iter(mine or tickets), "")))

    def action_start(self) -> None:
        """Start another run."""
        from gert_tui.screens.start import StartScreen

        self.app.push_screen(StartScreen())

    def action_dry(self) -> None:
        """Start a dry-run of the same."""
        if self.session.runbook is None:
            self.gert.say("the trace does not say which file its runbook is")
            return
        from gert_tui.screens.start import StartScreen

        self.app.push_screen(StartScreen(self.session.runbook, self.session.inputs, at_once=True, mode="dry-run"))

    def on_unmount(self) -> None:
        """Follow no longer."""
        self.session.close()


__all__ = ["RunScreen"]
