"""How runs are shown to agents: with the address of each ticket, without steps and output of opaque runbooks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

if TYPE_CHECKING:
    from gert_core.hosting import Host, RunView

_OPAQUE: Final = (
    *("run_id", "runbook", "mode", "status", "duration", "waited", "started", "finished", "age_seconds", "actor"),
    "message",
)
"""What is shown as it is of the run of an opaque runbook; everything else could name a step or hold output."""
_TICKET: Final = ("ticket_id", "risk_level", "expires_at", "url")
_WAITING: Final = ("approval_pending", "answer_pending")
_ANSWERED: Final = "people have to answer first, as `next` says; call gert_resume with this run_id when they have"
_EVENTS: Final = 1000
"""How many events one answer has at most; the number of the last one asks for more."""


def shown_run(result: dict[str, Any], *, hide: bool, url: str | None) -> dict[str, Any]:
    """Return the document of a run for an agent; ``hide`` leaves out what an opaque runbook does."""
    shown = dict(result)
    tickets = list(shown.get("pending") or ())
    shown["pending"] = [{**ticket, "url": None if url is None else ticket_url(url, ticket)} for ticket in tickets]
    if shown.get("status") in _WAITING:
        shown["message"] = _ANSWERED
    return _opaque(shown) if hide else shown


def _opaque(shown: dict[str, Any]) -> dict[str, Any]:
    """Return of a run that it is there, how it stands and what people can do, without its steps and output."""
    found: dict[str, Any] = {name: shown[name] for name in _OPAQUE if name in shown}
    outcome, failure = shown.get("outcome"), shown.get("failure")
    if "outcome" in shown:
        names = ("category", "code")
        found["outcome"] = {name: outcome.get(name) for name in names} if isinstance(outcome, dict) else None
    if "failure" in shown:
        told = "not shown: the runbook is opaque"
        found["failure"] = {"kind": failure.get("kind"), "message": told} if isinstance(failure, dict) else None
    found["pending"] = [{name: one[name] for name in _TICKET if name in one} for one in shown["pending"]]
    found["questions"] = []
    return {**found, "next": _opaque_steps(shown)} if "next" in shown else found


def _opaque_steps(shown: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what people can do about the run of an opaque runbook: about its tickets, and where they see the rest."""
    steps = list(shown["next"] or ())
    tickets = {str(one.get("ticket_id")) for one in shown["pending"]}
    found: list[dict[str, Any]] = []
    for step in steps:
        command = list(step.get("command") or ())
        if command[1:2] in (["approve"], ["reject"]) and command[2:3] and command[2] in tickets:
            found.append({"why": f"{command[1]} what ticket {command[2]} asks", "command": command})
    if len(found) < len(steps):
        why = "see what the run needs: its steps are not shown to MCP clients"
        found.append({"why": why, "command": ["gert", "runs", "show", str(shown.get("run_id"))]})
    return found


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
