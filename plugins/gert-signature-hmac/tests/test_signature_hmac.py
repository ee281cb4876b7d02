"""The scheme ``hmac-sha256`` against published vectors and its own rules."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import gert_signature_hmac
import pytest
from gert_signature_hmac.scheme import sign, verify

from gert_core.plugin.lazy import load_target

DOC = Path(__file__).parents[3] / "docs" / "reference" / "signatures.md"


def vector() -> dict[str, str]:
    block = DOC.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    return {line[:12].strip(): line[12:].strip() for line in block.splitlines()}


def test_published_vector() -> None:
    facts = vector()
    key, message = b64decode(facts["key"]), facts["message"].encode()
    assert sign(key, message) == facts["hmac-sha256"]
    assert verify(key, message, facts["hmac-sha256"])


def test_a_vector_of_rfc_4231() -> None:
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert sign(b"Jefe", b"what do ya want for nothing?") == expected


@pytest.mark.parametrize("change", ["upper", "shorter", "other key", "other message", "not ascii", "empty"])
def test_nothing_else_verifies(change: str) -> None:
    key, message = b"k" * 32, b"m" * 64
    good = sign(key, message)
    cases = {
        "upper": (key, message, good.upper()),
        "shorter": (key, message, good[:-2]),
        "other key": (b"K" * 32, message, good),
        "other message": (key, b"M" * 64, good),
        "not ascii": (key, message, "ä" + good[1:]),
        "empty": (key, message, ""),
    }
    assert verify(key, message, good)
    assert not verify(*cases[change])


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        sign(b"", b"m")
    with pytest.raises(ValueError, match="empty"):
        verify(b"", b"m", "00")


def test_the_hook_registers_a_symmetric_scheme_that_resolves() -> None:
    (scheme,) = gert_signature_hmac.gert_signature_schemes()
    assert (scheme.algorithm, scheme.symmetric) == ("hmac-sha256", True)
    assert load_target(scheme.verify)(b"k", b"m", load_target(scheme.sign)(b"k", b"m"))
