"""The tickets of runs in directories, as they are listed before their runs are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api.errors import RunError
from gert_core.api.store_records import TicketRow
from gert_core.kit.blob_names import is_answer, ticket_of
from gert_core.kit.files import MIB
from gert_core.kit.json_reader import loads
from gert_core.runs.meta import read_meta
from gert_core.runs.moved import moved
from gert_core.stores.ticket_hints import hinted_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.api.stores import StoredRun
    from gert_core.stores.directory import DirectoryStore

_LIMIT: Final = 16 * MIB


def find_tickets(store: DirectoryStore, ticket_id: str | None, asked: Mapping[str, str]) -> Iterator[TicketRow]:
    """Yield the tickets of a store that are as asked for; one with a hint to its run is looked for there first."""
    hinted = None if ticket_id is None else hinted_run(store.root, ticket_id)
    found = [] if hinted is None else list(ticket_rows(_run(store, hinted), ticket_id))
    rows = found or (row for run_id in store.run_ids() for row in ticket_rows(_run(store, run_id), ticket_id))
    return (row for row in rows if all(getattr(row, name) == value for name, value in asked.items()))


def _run(store: DirectoryStore, run_id: str) -> StoredRun:
    from gert_core.stores.directory import DirectoryRun

    return DirectoryRun(store.root / run_id)


def ticket_rows(run: StoredRun, ticket_id: str | None = None) -> Iterator[TicketRow]:
    """Yield the tickets of a run; what cannot be read is left out, and is said when its run is opened."""
    try:
        names = run.names("tickets/")
        if not names or moved(read_meta(run)) is not None:
            return
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
        found = loads(run.get(f"tickets/{ticket}.json", limit=_LIMIT) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


__all__ = ["find_tickets", "ticket_rows"]
