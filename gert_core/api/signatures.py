"""Signature schemes, for approvals and traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable


class SignatureScheme(Struct, frozen=True, kw_only=True):
    """An algorithm by name (``hmac-sha256``).

    ``sign(key, message)`` returns lowercase hex, ``verify(key, message, signature)`` a truth value; both raise
    ``ValueError`` with a message when the key does not fit. Keys are raw bytes (decoded base64).
    ``symmetric`` schemes verify with the signing key. ``generate()`` returns a new signing key, and ``public(key)`` the
    key that verifies what a signing key signs; ``gert keys`` uses them, for schemes that have both.
    """

    algorithm: str
    sign: str | Callable[[bytes, bytes], str]
    verify: str | Callable[[bytes, bytes, str], bool]
    symmetric: bool = False
    generate: str | Callable[[], bytes] | None = None
    public: str | Callable[[bytes], bytes] | None = None
    summary: str = ""


__all__ = ["SignatureScheme"]
