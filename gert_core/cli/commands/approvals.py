"""``gert approvals``: list and show pending approval requests."""

from __future__ import annotations

import json as json_
from datetime import UTC, datetime
from typing import Annotated

from gert_core.approvals.inbox import Entry, entries, find
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.session import project_here
from gert_core.runs.directory import runs_root


def list_(
    everything: Annotated[
        bool, typer.Option("--all", help="Also tickets that are answered, resolved or expired.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """List the tickets of pending requests."""
    now = datetime.now(UTC)
    found = [e for e in entries(runs_root(project_here())) if everything or e.status(now) == "pending"]
    if json:
        out(json_.dumps({"approvals": [entry.to_json(now) for entry in found]}, ensure_ascii=False))
        return 0
    if not found:
        err("no pending tickets")
    for entry in found:
        request = entry.request
        who = f"{len(entry.approvers)} of {request.min_approvers}"
        state = entry.status(now)
        facts = f"{request.runbook_name}: {request.step_key}  {who}  until {request.expires_at}"
        out(f"{paint(request.ticket_id, 'bold')}  {state}  {escape(request.risk_level)}  {escape(facts)}")
    return 0


def show(
    ticket: Annotated[str, typer.Argument(help="The ticket.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show the request behind a ticket in full."""
    now = datetime.now(UTC)
    entry = find(runs_root(project_here()), ticket)
    if json:
        out(json_.dumps(entry.to_json(now), ensure_ascii=False))
    else:
        _show(entry, now)
    return 0


def _show(entry: Entry, now: datetime) -> None:
    request = entry.request
    facts: dict[str, object] = {
        "status": entry.status(now),
        "runbook": request.runbook_name,
        "run": request.run_id,
        "step": f"{request.step_key} ({request.step_type})",
        "about": request.description,
        "risk": request.risk_level,
        **{name: request.contract.get(name) for name in ("effects", "writes", "reads")},
        "idempotent": request.contract.get("idempotent"),
        "inputs": dict(request.inputs),
        "command": list(request.command),
        "approvals": f"{len(entry.approvers)} of {request.min_approvers}",
        "requested": f"{request.requested_by} at {request.created}",
        "expires": request.expires_at,
        "hash": request.request_hash,
    }
    out(paint(request.ticket_id, "bold"))
    for name, value in facts.items():
        if value not in (None, "", [], {}):
            text = value if isinstance(value, str) else json_.dumps(value, ensure_ascii=False)
            out(f"  {name + ':':<12} {escape(text)}")


__all__ = ["list_", "show"]
