"""A block that somebody asked for while the run is executed: no step begins any more, and the run is suspended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import RunStatus
from gert_core.engine.signals import Rank, Signal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.runs.control import CancelRequest


class Requested:
    """The request of one run; steps look at ``signal`` before they begin."""

    __slots__ = ("request", "signal")

    def __init__(self) -> None:
        self.request: CancelRequest | None = None
        self.signal: Signal | None = None
        """What ends a list of steps before its next one; ``None`` while nothing is asked for."""

    def take(self, request: CancelRequest) -> bool:
        """Take a request; False when there was one already."""
        if self.request is not None:
            return False
        self.request = request
        self.signal = Signal(rank=Rank.SUSPENDED, blocked=(str(request.block),))
        return True

    def recorded(self, waiting: Mapping[str, Any]) -> dict[str, Any]:
        """Return what ``run_suspended`` says of a run that waits for something; blocked, if that was asked for."""
        request = self.request
        if request is None:
            return dict(waiting)
        known = waiting.get("unblock_keys") or [waiting[name] for name in ("unblock_key",) if name in waiting]
        keys = list(dict.fromkeys([*known, str(request.block)]))
        told = {"key": str(request.block), "actor": request.by} | (
            {"message": request.reason} if request.reason else {}
        )
        more = {"unblock_keys": keys} if len(keys) > 1 else {}
        return {**waiting, "status": str(RunStatus.BLOCKED), "unblock_key": keys[0], **more, "block": told}


__all__ = ["Requested"]
