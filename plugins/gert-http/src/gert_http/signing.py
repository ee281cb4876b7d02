"""Sign what is posted, and verify it: a receiver that has the same key knows who sent it and when."""

from __future__ import annotations

import binascii
import hmac
import re
from base64 import b64decode
from typing import Final

LEAST: Final = 16
"""The least length of a key, in bytes."""
APART: Final = 300
"""By how many seconds the clocks of sender and receiver may differ."""
_ALGORITHM: Final = "hmac-sha256:"
_SIGNATURE: Final = re.compile(r"t=([0-9]{1,12}),v1=[0-9a-f]{64}")


def signature(key: str, body: bytes, *, at: int) -> str:
    """Return ``t=<at>,v1=<HMAC-SHA256 in hex>`` over the time, a dot and the body.

    ``key`` is written as ``gert keys new`` does: ``hmac-sha256:BASE64``, or base64 alone. Raise ``ValueError`` for one
    that is not; the message does not show it.
    """
    data = f"{at}.".encode() + body
    return f"t={at},v1={hmac.new(_decoded(key), data, 'sha256').hexdigest()}"


def is_signed(key: str, body: bytes, header: str | None, *, now: float) -> bool:
    """Return whether a header is the signature of a body with this key, made at most five minutes from ``now``.

    Raise ``ValueError`` for a key that is not one.
    """
    found = _SIGNATURE.fullmatch(header or "")
    at = int(found[1]) if found is not None else 0
    expected = signature(key, body, at=at)
    return found is not None and hmac.compare_digest(expected, found[0]) and abs(now - at) <= APART


def _decoded(key: str) -> bytes:
    try:
        found = b64decode("".join(key.strip().removeprefix(_ALGORITHM).split()), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) < LEAST:
        raise ValueError(f"the key is not base64 of at least {LEAST} bytes")
    return found


__all__ = ["APART", "LEAST", "is_signed", "signature"]
