"""Sign what is posted, so that a receiver that has the same key knows who sent it and when."""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode
from typing import Final

LEAST: Final = 16
"""The least length of a key, in bytes."""
_ALGORITHM: Final = "hmac-sha256:"


def signature(key: str, body: bytes, *, at: int) -> str:
    """Return ``t=<at>,v1=<HMAC-SHA256 in hex>`` over the time, a dot and the body.

    ``key`` is written as ``gert keys new`` does: ``hmac-sha256:BASE64``, or base64 alone. Raise ``ValueError`` for one
    that is not; the message does not show it.
    """
    data = f"{at}.".encode() + body
    return f"t={at},v1={hmac.new(_decoded(key), data, 'sha256').hexdigest()}"


def _decoded(key: str) -> bytes:
    try:
        found = b64decode("".join(key.strip().removeprefix(_ALGORITHM).split()), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) < LEAST:
        raise ValueError(f"the key is not base64 of at least {LEAST} bytes")
    return found


__all__ = ["LEAST", "signature"]
