"""The runs in which tickets are looked for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gert_core.api.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import RunStore, StoredRun


def likely_runs(store: RunStore, ticket_id: str) -> Iterator[StoredRun]:
    """Yield the runs that the store says have a ticket, then all others."""
    told = [row.run_id for row in store.tickets(ticket_id=ticket_id)]
    for run_id in told:
        with suppress(StoreError):
            yield store.open(run_id)
    yield from (run for run in all_runs(store) if run.run_id not in told)


def all_runs(store: RunStore) -> Iterator[StoredRun]:
    """Yield every run of a store, the newest first."""
    for run_id in store.run_ids():
        with suppress(StoreError):  # it was deleted meanwhile
            yield store.open(run_id)


__all__ = ["all_runs", "likely_runs"]
