"""Ask the process that executes a run to stop or block it: the blob ``control/cancel.json``, which it looks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.kit.files import MIB
from gert_core.kit.json_reader import loads
from gert_core.runs.holds import key_fault

if TYPE_CHECKING:
    from gert_core.api.store_records import Lease
    from gert_core.api.stores import StoredRun

CANCEL: Final = "control/cancel.json"


class CancelRequest(Struct, frozen=True, kw_only=True):
    """Who wants a run to stop, and why; ``worker`` and ``fence`` name the lease of the process that is meant.

    With ``block`` it is to be blocked on that key before its next step, by whichever process executes it then; the
    request stays until that is done, and ``taken`` says that a process knows of it.
    """

    by: str
    reason: str = ""
    at: str = ""
    worker: str | None = None
    fence: int = 0
    block: str | None = None
    taken: bool = False

    def is_for(self, lease: Lease) -> bool:
        """Return whether the holder of a lease is meant: one that is gone took it for itself, or it came too late."""
        return self.worker is None or (self.worker, self.fence) == (lease.worker_id, lease.fence)

    def __str__(self) -> str:
        """Return it as the reason of a run that was cancelled."""
        return f"{self.by}: {self.reason}" if self.reason else self.by


def put_request(run: StoredRun, request: CancelRequest, *, new: bool = True) -> bool:
    """Write a request; False when there is one already and this is to be a ``new`` one."""
    told: dict[str, object] = {"by": request.by, "reason": request.reason, "at": request.at}
    if request.worker is not None:
        told |= {"worker": request.worker, "fence": request.fence}
    if request.block is not None:
        told |= {"block": request.block, "taken": request.taken}
    try:
        run.put(CANCEL, json.dumps(told, ensure_ascii=False).encode() + b"\n", new=new)
    except StoreError as error:
        if error.kind != ErrorKind.BLOB_EXISTS:
            raise
        return False
    return True


def read_request(run: StoredRun) -> CancelRequest | None:
    """Return the request that waits; None when there is none, or what is there is not one."""
    if run.info(CANCEL) is None:
        return None
    try:
        told = loads(run.get(CANCEL, limit=MIB) or b"null")
    except (ValueError, RunError):
        return None
    if not isinstance(told, dict):
        return None
    worker, fence, block = told.get("worker"), told.get("fence"), told.get("block")
    if block is not None and key_fault(block) is not None:
        return None  # gert did not write it, and the run could never be unblocked
    return CancelRequest(
        by=str(told.get("by") or "unknown"),
        reason=str(told.get("reason") or ""),
        at=str(told.get("at") or ""),
        worker=worker if isinstance(worker, str) else None,
        fence=fence if isinstance(fence, int) else 0,
        block=block if isinstance(block, str) else None,
        taken=told.get("taken") is True,
    )


__all__ = ["CANCEL", "CancelRequest", "put_request", "read_request"]
