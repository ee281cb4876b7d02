"""hmac-sha256 keeps to what every signature scheme promises."""

from __future__ import annotations

import gert_signature_hmac

from gert_core.testing.conformance import SignatureSchemeConformance


class TestHmacConformance(SignatureSchemeConformance):
    plugin = gert_signature_hmac
    signing_key = b"k" * 32
    verify_key = b"k" * 32
