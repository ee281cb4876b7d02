"""The events of a run's trace, as they come; one of them in full."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Static

from gert_core.kit.display import readable_key
from gert_tui.screens.base import GertScreen
from gert_tui.screens.page import Page
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from gert_tui.session import RunSession


class _Events(RowsView):
    """The events."""

    def __init__(self, session: RunSession, look: Any) -> None:
        super().__init__(id="events", classes="body")
        self.session = session
        self.look = look

    def count(self) -> int:
        """Return how many there are."""
        return len(self.session.model.events)

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return an event: number, time, type, step, and its data in short."""
        event = self.session.model.events[number]
        data: Mapping[str, Any] = event.get("data") or {}
        told = " ".join(f"{n}={v}" for n, v in data.items() if isinstance(v, str | int | bool) and n != "step_id")
        return [
            (f"{event.get('seq', ''):>5} ", "dim"),
            (f"{str(event.get('timestamp'))[11:23]} ", "dim"),
            (f"{self.look.spell(str(event['type'])):<20} ", "bold"),
            (f"{self.look.spell(readable_key(str(event.get('step_key') or '')))}  ", "cyan"),
            (self.look.spell(told[:400]), ""),
        ]


class TraceScreen(GertScreen):
    """The trace of a run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "the whole event"),
        Binding("q", "back", "back"),
    ]
    KEYS: ClassVar[str] = "Enter the whole event  / search  n N next, before  Esc back  ? help"
    name_shown = "the trace"

    def __init__(self, session: RunSession) -> None:
        super().__init__()
        self.session = session

    def body(self) -> ComposeResult:
        """Yield the events."""
        yield Static(self.gert.look.spell(f"Trace of {self.session.run_id}"), id="head", markup=False)
        yield _Events(self.session, self.gert.look)

    def on_mount(self) -> None:
        """Show the newest event, and those to come."""
        view = self.query_one(_Events)
        view.focus()
        self._seen = -1
        self.set_interval(0.25, self._look)
        self._look()

    def _look(self) -> None:
        view = self.query_one(_Events)
        if view.count() != self._seen:
            last = view.cursor >= self._seen - 1
            self._seen = view.count()
            view.changed()
            if last:
                self.call_after_refresh(view.move_to, self._seen - 1)

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Show the event that was clicked twice."""
        self.action_open()

    def action_open(self) -> None:
        """Show the whole event at the cursor."""
        view = self.query_one(_Events)
        if view.count():
            event = self.session.model.events[view.cursor]
            lines = json.dumps(event, ensure_ascii=False, indent=2, default=str).splitlines()
            self.app.push_screen(Page(f"Event {event.get('seq')}: {event['type']}", lines))


__all__ = ["TraceScreen"]
