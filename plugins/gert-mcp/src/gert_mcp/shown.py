"""How runs are shown to agents: with the address of each ticket, without steps and output of opaque runbooks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

if TYPE_CHECKING:
    from gert_core.hosting import Host, RunView

_HIDDEN: Final = (
    *("steps", "outputs", "artifacts", "inputs", "failures", "resume_point", "unknown_outcomes", "warnings", "trace"),
    *("progress", "record"),
)
_EVENTS: Final = 1000
"""How many events one answer has at most; the number of the last one asks for more."""


def shown_run(result: dict[str, Any], *, hide: bool, url: str | None) -> dict[str, Any]:
    """Return the document of a run for an agent; ``hide`` leaves out what an opaque runbook does."""
    shown = dict(result)
    tickets = list(shown.get("pending") or ())
    shown["pending"] = [{**ticket, "url": None if url is None else ticket_url(url, ticket)} for ticket in tickets]
    if hide:
        shown = {name: value for name, value in shown.items() if name not in _HIDDEN}
        if isinstance(shown.get("failure"), dict):
            shown["failure"] = {"kind": shown["failure"].get("kind"), "message": "not shown: the runbook is opaque"}
        shown["questions"] = [{"step_key": one.get("step_key")} for one in shown.get("questions") or ()]
    return shown


def ticket_url(url: str, ticket: dict[str, Any]) -> str:
    """Return the plain page of a ticket, which asks who you are; it is never a signed link."""
    return f"{url}/tickets/{ticket.get('ticket_id')}"


def shown_result(view: RunView) -> dict[str, Any]:
    """Return the line of a run in a list."""
    state = view.state
    if state is None:
        return {"run_id": view.run_id, "status": view.status}
    names = ("run_id", "runbook", "mode", "started", "finished", "duration")
    found: dict[str, Any] = {name: getattr(state, name) for name in names}
    outcome = state.outcome
    return {**found, "status": view.status, "outcome": outcome, "actor": state.facts.get("actor")}


def shown_trace(host: Host, view: RunView, after: int) -> list[dict[str, Any]]:
    """Return the events of a run behind a number, those that are there now."""
    return [to_builtins(event) for event in islice(host.events(view.run_id, after=after), _EVENTS)]


__all__ = ["shown_result", "shown_run", "shown_trace", "ticket_url"]
