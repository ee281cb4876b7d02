"""What waits for approval, in any run: what would be done, and the keys that approve and reject it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Static

from gert_core.api import GertError
from gert_core.hosting.inputs import as_text
from gert_core.kit.approval_screen import GRAVE, approving_word, command_of, describe, name_of
from gert_core.kit.display import readable_time
from gert_tui.screens.base import GertScreen
from gert_tui.screens.dialogs import Choose, Fill
from gert_tui.screens.page import TextView
from gert_tui.widgets.rows import RowsView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from gert_core.api import ApprovalRequest
    from gert_core.hosting import TicketView
    from gert_tui.look import Look

_EVERY = 1.0
"""Seconds between two looks for tickets."""
_LONGEST = 160
"""The most characters of a command, or of all inputs, in a form."""


class _Tickets(RowsView):
    """The tickets that are open."""

    def __init__(self, look: Look) -> None:
        super().__init__(id="tickets")
        self.look = look
        self.tickets: list[TicketView] = []

    @property
    def selected(self) -> TicketView | None:
        """The ticket at the cursor."""
        return self.tickets[self.cursor] if 0 <= self.cursor < len(self.tickets) else None

    def count(self) -> int:
        """Return how many there are."""
        return len(self.tickets)

    def parts(self, number: int) -> list[tuple[str, str]]:
        """Return a ticket: risk, step, runbook, since when."""
        request, spell = self.tickets[number].request, self.look.spell
        risky = request.risk_level in GRAVE
        return [
            (f"{self.look.icon('waiting')} ", "bold yellow"),
            (f"{spell(request.risk_level):<9} ", "bold red" if risky else ""),
            (f"{name_of(request)} of {spell(request.runbook_name)}  ", "bold"),
            (f"{readable_time(request.created, clock=False)}  by {spell(request.requested_by)}  ", "dim"),
            (spell(request.ticket_id), "dim"),
        ]


class ApprovalsScreen(GertScreen):
    """Open tickets, and below them the one at the cursor.

    ``ticket`` is the one to begin with; one that is not open any more, or "", begins with none, so that no key decides
    about another. Without it the first one is at the cursor.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide(True)", "approve; id and reason are asked, at high risk the step's id too"),
        Binding("x", "decide(False)", "reject; id and reason are asked"),
        Binding("enter", "open", "open the run"),
        Binding("q", "back", "back"),
    ]
    KEYS: ClassVar[str] = "? help  Esc back  y approve  x reject  Enter open the run  Tab details"
    name_shown = "approvals"

    def __init__(self, ticket: str | None = None) -> None:
        super().__init__()
        self._wanted = ticket
        self._about: dict[str, list[str]] = {}
        """By ticket what is known about it beside the request: the last time, and comments."""
        self._looking = False

    def body(self) -> ComposeResult:
        """Yield the list and the request."""
        yield Static("Approvals", id="head", markup=False)
        yield _Tickets(self.gert.look)
        yield TextView([], self.gert.look, id="request")

    def on_mount(self) -> None:
        """Look for tickets now, and again and again."""
        self.query_one(_Tickets).add_class("body")
        self.query_one("#request").add_class("body")
        self.query_one(_Tickets).focus()
        self._look()
        self.set_interval(_EVERY, self._look)

    def _look(self) -> None:
        if self._looking or not self.is_current:
            return
        self._looking = True
        app = self.gert

        def work() -> None:
            try:
                found = [(ticket, _around(ticket)) for ticket in app.host.tickets()]
                app.call_later(self._show, found)
            except GertError as error:
                app.call_later(app.say, str(error.message))
            finally:
                self._looking = False

        app.apart(work)

    def _show(self, found: list[tuple[TicketView, list[str]]]) -> None:
        if not self.query(_Tickets) or len(self.query("#head, #request")) < 2:  # the screen was left meanwhile
            return
        view = self.query_one(_Tickets)
        before = "" if view.selected is None else view.selected.ticket_id
        known = self._about.get(before)
        self._about = {ticket.ticket_id: lines for ticket, lines in found}
        view.tickets = [ticket for ticket, _ in found]
        self._keep(view, before if self._wanted is None else self._wanted)
        view.changed()
        at = "" if view.selected is None else view.selected.ticket_id
        if not at or before != at or len(known or ()) != len(self._about[at]):
            self._describe()
        told = f"Approvals: {len(view.tickets)}" if view.tickets else "Nothing waits for approval."
        self.query_one("#head", Static).update(self.gert.drawn(told))

    def _keep(self, view: _Tickets, name: str) -> None:
        """Put the cursor on a ticket, wherever it stands now; on none when it is not open any more."""
        if not name and self._wanted is None:
            return
        at = next((n for n, one in enumerate(view.tickets) if one.ticket_id == name), -1)
        if at < 0:
            view.cursor = at
        elif at != view.cursor:
            view.move_to(at)
        if at >= 0:
            self._wanted = None

    def on_rows_view_moved(self, message: RowsView.Moved) -> None:
        """Show the request at the cursor."""
        if message.view is self.query_one(_Tickets):
            self._wanted = None
            self._describe()

    def _describe(self) -> None:
        ticket = self.query_one(_Tickets).selected
        page = self.query_one("#request", TextView)
        if ticket is None:
            page.set_lines(["Choose a request: Up and Down move."] if self.query_one(_Tickets).tickets else [])
            return
        around = self._about.get(ticket.ticket_id, [])
        page.set_lines([*around, *describe(ticket.request, columns=max(page.size.width, 30))])
        page.cursor = 0

    def action_open(self) -> None:
        """Open the run of the ticket."""
        ticket = self.query_one(_Tickets).selected
        if ticket is not None:
            self.gert.open_run(ticket.request.run_id)

    def action_decide(self, approved: bool) -> None:
        """Ask who decides and why, at high risk also for the id of the step, at critical once more; then decide."""
        ticket = self.query_one(_Tickets).selected
        if ticket is None:
            some = self.query_one(_Tickets).tickets
            self.gert.say("choose a request first: Up and Down move" if some else "nothing waits for approval")
            return
        request = ticket.request
        word = "Approve" if approved else "Reject"
        told = _facts(request)
        fields = [("who", "Your id", self.gert.host.actor), ("why", "Reason", "")]
        typed = approving_word(request) if approved else ""
        if typed:  # nothing is filled in: Enter alone must not approve it
            fields.append(("word", f"Type {typed} to approve", ""))

        def wrong(found: dict[str, str]) -> str:
            if not found["who"].strip():
                return "say who you are"
            right = not typed or found["word"].strip() == typed
            return "" if right else f"type {typed}: this step is of {request.risk_level} risk"

        def filled(found: dict[str, str] | None) -> None:
            if found is None:
                return
            if approved and request.risk_level == "critical":
                self._once_more(ticket, found)
            else:
                self._decide(ticket, approved, found)

        title = f"{word} step {name_of(request)} of {request.runbook_name} (ticket {request.ticket_id})"
        self.app.push_screen(Fill(title, told, fields, button=word, check=wrong), filled)

    def _once_more(self, ticket: TicketView, found: dict[str, str]) -> None:
        def chosen(number: int | None) -> None:
            if number == 1:
                self._decide(ticket, True, found)

        told = ["This step is critical: what it does cannot simply be taken back.", *_facts(ticket.request)]
        options = ["No", f"Yes, approve {name_of(ticket.request)}"]
        self.app.push_screen(Choose(f"Are you sure? (ticket {ticket.ticket_id})", told, options), chosen)

    def _decide(self, ticket: TicketView, approved: bool, found: dict[str, str]) -> None:
        app = self.gert

        def work() -> None:
            try:
                app.host.decide(
                    ticket.ticket_id,
                    approved=approved,
                    approver=found["who"].strip(),
                    reason=found["why"].strip() or None,
                )
            except GertError as error:
                app.call_later(app.show_error, "The answer was not taken", error)
                return
            said = f"{'approved' if approved else 'rejected'} {name_of(ticket.request)}"
            app.call_later(app.say, said)
            app.call_later(self._look)

        app.apart(work)


def _facts(request: ApprovalRequest) -> list[str]:
    """Return which request it is, in a few lines; the page below the list has all of it."""
    inputs = ", ".join(f"{name}={as_text(value)}" for name, value in request.inputs.items())
    return [
        f"run {request.run_id}, requested by {request.requested_by}",
        _short(f"command: {command_of(request)}"),
        _short(f"inputs: {inputs or 'none'}"),
        f"risk {request.risk_level}; writes {', '.join(request.contract.get('writes') or ()) or 'nothing'}",
    ]


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ... ({len(line) - _LONGEST} more characters)"


def _around(ticket: TicketView) -> list[str]:
    """Return what is different from the last time, and what people said about the request."""
    said = [f"comment by {one.by}, {readable_time(one.at)}: {one.text}" for one in ticket.comments]
    return [f"since last: {_since(ticket.since_last)}", *said]


def _since(since: Mapping[str, Any] | None) -> str:
    """Return what is different from the last request of this step that was approved."""
    if since is None:
        return "this step was not approved before"
    names = ", ".join(str(one.get("field")) for one in since.get("changed") or ())
    who = ", ".join(since.get("approvers") or ())
    told = f"changed: {names}" if names else "nothing changed"
    return f"approved {readable_time(str(since.get('at')))}{f' by {who}' if who else ''}; {told}"


__all__ = ["ApprovalsScreen"]
