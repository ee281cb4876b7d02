"""The list of runs: newest first, with a filter, kept up to date."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType
from textual.widgets import Static

from gert_core.api import GertError
from gert_core.kit.time_spans import recorded_seconds
from gert_tui.screens.base import GertScreen
from gert_tui.screens.leaving import Leaving
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from gert_core.api import RunRow
    from gert_tui.app import GertApp
    from gert_tui.look import Look

MOST: Final = 10_000
"""How many runs are listed."""
_EVERY: Final = 2.0
"""Seconds between two looks for changes, at least."""
_REST: Final = 60.0
"""Between two looks it rests for at least so many times as long as a look takes a processor."""
_SORTS: Final = ("started", "runbook", "status", "duration")


class RunsView(RowsView):
    """The runs."""

    def __init__(self, look: Look) -> None:
        super().__init__(id="runs")
        self.look = look
        self.every: list[RunRow] = []
        self.rows: list[RunRow] = []
        self.filter = ""
        self.sort = _SORTS[0]
        self.waiting: frozenset[str] = frozenset()
        """The runs that are executed somewhere and wait for people."""

    @property
    def selected(self) -> RunRow | None:
        """The run at the cursor."""
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    def count(self) -> int:
        """Return how many runs are shown."""
        return len(self.rows)

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return a run: when, what, how it stands, and its id."""
        row, spell = self.rows[number], self.look.spell
        code = f" ({row.code})" if row.code else ""
        standing = f"{row.outcome}{code}" if row.outcome else row.status.replace("_", " ")
        status = row.outcome or row.status
        if row.live and row.run_id in self.waiting:
            standing = status = "waiting"
        waits = ", ".join(sorted({str(one.get("kind")) for one in row.blocked_on}))
        return [
            (f"{self.look.icon(status)} ", self.look.style(status)),
            (f"{_when(row.started):<12} ", "dim"),
            (f"{spell(row.runbook):<24} ", "bold"),
            (f"{spell(standing):<28} ", self.look.style(status)),
            (f"{row.duration or '':>9}  ", ""),
            (f"{spell(row.actor or ''):<10} ", "dim"),
            (f"{waits}  " if waits else "", "yellow"),
            (spell(row.run_id), "dim"),
        ]

    def show(self, rows: list[RunRow]) -> None:
        """Show these runs, with the cursor on the run on which it is; on none when that is not shown any more."""
        before = self.selected
        self.every = rows
        self.rows = [row for row in rows if self.filter.lower() in _text(row)]
        if self.sort == "duration":
            self.rows.sort(key=lambda row: _seconds(row.duration), reverse=True)
        elif self.sort != "started":
            self.rows.sort(key=lambda row: str(getattr(row, self.sort)))
        at = next((n for n, row in enumerate(self.rows) if before is not None and row.run_id == before.run_id), -1)
        if before is not None and at < 0:
            self.cursor = at
        self.changed()
        if at >= 0 and at != self.cursor:
            self.move_to(at)


class RunsScreen(Leaving, GertScreen):
    """All runs of the store."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open the run"),
        Binding("slash", "search", "filter"),
        Binding("s", "start", "start a run, with a form for its inputs"),
        Binding("a", "approvals", "approvals"),
        Binding("r", "resume", "resume or retry the run"),
        Binding("d", "dry", "toggle dry-run for the runs that you start"),
        Binding("S", "sort", "sort by start, runbook, status or duration"),
        Binding("y", "copy", "copy the run's id"),
        Binding("l", "look", "look for changes now"),
        Binding("q", "quit", "quit"),
    ]
    KEYS: ClassVar[str] = "? help  q quit  Enter open  s start  a approvals  r resume  / filter  d dry-run"
    name_shown = "runs"
    seeks = "filter"
    unlisted: ClassVar[tuple[str, ...]] = ("n", "N")

    def body(self) -> ComposeResult:
        """Yield the list."""
        yield Static("", id="head", markup=False)
        yield RunsView(self.gert.look)

    def on_mount(self) -> None:
        """Look for runs now, and again and again."""
        view = self.query_one(RunsView)
        view.add_class("body")
        view.focus()
        self._looking, self._next = False, 0.0
        self.action_look()
        self.set_interval(_EVERY, self._tick)

    def on_screen_resume(self) -> None:
        """Look for changes when the list is seen again."""
        if self.is_mounted:
            self.action_look()

    def _tick(self) -> None:
        if self.is_current and time.monotonic() >= self._next:
            self.action_look()

    def action_look(self) -> None:
        """Look for changes, in a thread."""
        if getattr(self, "_looking", False):
            return
        self._looking = True
        app = self.gert

        def work() -> None:
            began = time.thread_time()
            try:
                rows = list(app.host.rows(limit=MOST))
                app.call_later(self._show, rows, _waiting(app, rows))
            except GertError as error:
                app.call_later(app.say, str(error.message))
            finally:
                self._next = time.monotonic() + _REST * (time.thread_time() - began)
                self._looking = False

        app.apart(work)

    def _show(self, rows: list[RunRow], waiting: frozenset[str]) -> None:
        if not self.query(RunsView) or not self.query("#head"):  # the screen was left meanwhile
            return
        view = self.query_one(RunsView)
        if rows != view.every or waiting != view.waiting or not rows:
            view.waiting = waiting
            view.show(rows)
        self._head()

    def _head(self) -> None:
        view = self.query_one(RunsView)
        shown = f"{len(view.rows)} of {len(view.every)}" if view.filter else str(len(view.every))
        mode = [f"[{self.gert.mode}]"] if self.gert.mode != "real" else []
        parts = [*mode, f"Runs: {shown}", f"by {view.sort}"]
        parts += [f"filter {view.filter!r}"] if view.filter else []
        told = "  ".join(parts if view.every else [*mode, "No runs yet: press s to start one"])
        self.query_one("#head", Static).update(self.gert.drawn(told))

    def sought(self, text: str) -> None:
        """Show the runs that have a text anywhere; an empty one shows all."""
        view = self.query_one(RunsView)
        view.filter = text
        view.show(view.every)
        view.move_to(0)
        self._head()

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Open the run that was clicked twice."""
        self.action_open()

    def action_open(self) -> None:
        """Show the run at the cursor."""
        row = self.query_one(RunsView).selected
        if row is not None:
            self.gert.open_run(row.run_id)

    def action_start(self) -> None:
        """Start a run."""
        from gert_tui.screens.start import StartScreen

        self.app.push_screen(StartScreen())

    def action_approvals(self) -> None:
        """Show what waits for approval."""
        from gert_tui.screens.approvals import ApprovalsScreen

        self.app.push_screen(ApprovalsScreen())

    def action_resume(self) -> None:
        """Open the run at the cursor, and ask how it goes on."""
        row = self.query_one(RunsView).selected
        if row is not None:
            self.gert.open_run(row.run_id)
            self.app.call_later(self._resume_opened)

    def _resume_opened(self) -> None:
        from gert_tui.screens.run import RunScreen

        if isinstance(self.app.screen, RunScreen):
            self.app.screen.action_resume()

    def action_dry(self) -> None:
        """Toggle dry-run."""
        self.gert.toggle_mode()
        self._head()

    def action_sort(self) -> None:
        """Sort by the next thing."""
        view = self.query_one(RunsView)
        view.sort = _SORTS[(_SORTS.index(view.sort) + 1) % len(_SORTS)]
        view.show(view.every)
        self._head()

    def action_copy(self) -> None:
        """Copy the id of the run at the cursor."""
        row = self.query_one(RunsView).selected
        if row is not None:
            self.app.copy_to_clipboard(row.run_id)
            self.gert.say(f"copied {row.run_id}")

    def action_back(self) -> None:
        """Show all runs again."""
        if not self._close_search():
            self.sought("")


def _waiting(app: GertApp, rows: list[RunRow]) -> frozenset[str]:
    """Return the runs of which an open ticket or a question is known, if any is executed now."""
    if not any(row.live for row in rows):
        return frozenset()
    here = {session.run_id for session in app.live if session.hosted is not None and session.hosted.waits}
    blocked = {row.run_id for row in rows if row.live and row.blocked_on}
    return frozenset(here | blocked | {ticket.request.run_id for ticket in app.host.tickets()})


def _text(row: RunRow) -> str:
    return " ".join(
        str(part or "") for part in (row.run_id, row.runbook, row.status, row.outcome, row.code, row.actor)
    ).lower()


def _when(started: str | None) -> str:
    try:
        return f"{datetime.fromisoformat(started or '').astimezone():%m-%d %H:%M}"
    except ValueError:
        return ""


def _seconds(duration: str | None) -> float:
    seconds = recorded_seconds(duration)
    return -1.0 if seconds is None else seconds


__all__ = ["RunsScreen", "RunsView"]
