"""Seal the answers that a signed run accepts, so that one written by another program does not count."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Sign = Callable[[bytes], str]

SEAL: Final = "seal"
_COVERED: Final = (
    *("ticket_id", "approved", "approver_id", "timestamp", "signature", "identity", "evidence", "result", "status"),
)


def seal_of(data: Mapping[str, object], *, run_id: str, request_hash: str, sign: Sign) -> str:
    """Return the seal of an ``approval_response`` or ``approval_resolved``: a signature with the run's trace key."""
    covered = {name: data.get(name) for name in _COVERED}
    return sign(canonical({"run_id": run_id, "request_hash": request_hash, **covered}))


def is_sealed(data: Mapping[str, object], *, run_id: str, request_hash: str, sign: Sign) -> bool:
    """Return whether recorded data has the seal that the same key gives it now; signatures are deterministic."""
    expected = seal_of(data, run_id=run_id, request_hash=request_hash, sign=sign)
    return hmac.compare_digest(str(data.get(SEAL) or "").encode(), expected.encode())


__all__ = ["SEAL", "Sign", "is_sealed", "seal_of"]
