"""HMAC-SHA256 over the message, as 64 lowercase hex digits."""

from __future__ import annotations

import hmac


def sign(key: bytes, message: bytes) -> str:
    """Return the signature; any key but an empty one will do."""
    if not key:
        raise ValueError("an HMAC key must not be empty")
    return hmac.new(key, message, "sha256").hexdigest()


def verify(key: bytes, message: bytes, signature: str) -> bool:
    """Return whether ``signature`` is exactly what ``sign`` gives; compared in constant time."""
    return hmac.compare_digest(sign(key, message).encode(), signature.encode("utf-8", "replace"))


__all__ = ["sign", "verify"]
