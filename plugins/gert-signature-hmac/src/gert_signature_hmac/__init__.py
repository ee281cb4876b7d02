"""The signature scheme ``hmac-sha256``: one shared key signs and verifies."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import SignatureScheme


@hookimpl
def gert_signature_schemes() -> list[SignatureScheme]:
    """Register ``hmac-sha256``."""
    return [
        SignatureScheme(
            algorithm="hmac-sha256",
            sign="gert_signature_hmac.scheme:sign",
            verify="gert_signature_hmac.scheme:verify",
            symmetric=True,
            summary="HMAC with SHA-256; the same key signs and verifies.",
        )
    ]
