"""The tickets of runs in directories, as they are listed before their runs are looked at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import RunError
from gert_core.api.store_records import TicketRow
from gert_core.kit.blob_names import is_answer, ticket_of
from gert_core.kit.files import MIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api.stores import StoredRun

_LIMIT: Final = 16 * MIB


def ticket_rows(run: StoredRun, ticket_id: str | None = None) -> Iterator[TicketRow]:
    """Yield the tickets of a run; what cannot be read is left out, and is said when its run is opened."""
    try:
        names = run.names("tickets/")
        answered = {ticket_of(name) for name in names if is_answer(name)}
        for ticket in (ticket_of(name) for name in names if not is_answer(name)):
            if ticket is None or ticket_id not in (None, ticket):
                continue
            found = _request(run, ticket)
            yield TicketRow(
                ticket_id=ticket,
                run_id=run.run_id,
                runbook=str(found.get("runbook_name", "")),
                step_id=str(found.get("step_id", "")),
                status="answered" if ticket in answered else "open",
            )
    except RunError:
        return


def _request(run: StoredRun, ticket: str) -> dict[str, object]:
    try:
        found = json.loads(run.get(f"tickets/{ticket}.json", limit=_LIMIT) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


__all__ = ["ticket_rows"]
