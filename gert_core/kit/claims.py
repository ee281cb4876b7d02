"""Decide who may take a claim in a ledger, and what is a run's own there, the same in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from gert_core.api.store_records import Claim, LedgerEntry


def is_replaceable(held: Claim, at: str, ttl: float | None) -> bool:
    """Return whether others may take a claim: it failed, or was made too long ago and is still open."""
    if held.state == "failed":
        return True
    if ttl is None or held.state != "open":
        return False
    try:
        return (parse_time(at) - parse_time(held.at)).total_seconds() > ttl
    except ValueError:
        return False


def is_owned(owner: str, run_id: str) -> bool:
    """Return whether an owner is a run, or a part of it: its id, or its id and more behind a space."""
    return owner == run_id or owner.startswith(f"{run_id} ")


def is_restorable(held: Claim | None, entry: LedgerEntry) -> bool:
    """Return whether a claim of another ledger is written: not the same again, nor over what another run has."""
    if held is None:
        return True
    if (held.owner, held.state, held.at) == (entry.owner, entry.state, entry.at):
        return False
    return held.state == "failed" or is_owned(held.owner, entry.owner.partition(" ")[0])


__all__ = ["is_owned", "is_replaceable", "is_restorable"]
