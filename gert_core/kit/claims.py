"""Decide who may take a claim in a ledger, the same in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from gert_core.api.store_records import Claim


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


__all__ = ["is_replaceable"]
