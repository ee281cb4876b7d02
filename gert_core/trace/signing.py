"""Keys of signed traces: the signer of the environment, and the verifying key of a key id."""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import PluginError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.signatures import SignatureScheme

    Schemes = Callable[[str], SignatureScheme | None]

SIGNING_KEY: Final = "GERT_TRACE_SIGNING_KEY"
VERIFY_KEY: Final = "GERT_TRACE_VERIFY_KEY"
SIGNING_ALG: Final = "GERT_TRACE_SIGNING_ALG"
VERIFY_ALG: Final = "GERT_TRACE_VERIFY_ALG"
DEFAULT_ALGORITHM: Final = "hmac-sha256"
DEFAULT_KEY_ID: Final = "default"


class Signer(Struct, frozen=True, kw_only=True):
    """A key ready to sign: ``sign`` returns lowercase hex."""

    algorithm: str
    key_id: str
    sign: Callable[[bytes], str]


def signer_from_environ(environ: Mapping[str, str], schemes: Schemes) -> Signer | None:
    """Return the signer that the environment configures, tried once; ``None`` when no key is set.

    Raises before the run starts when the scheme is missing or the key does not fit it.
    """
    text = environ.get(SIGNING_KEY)
    if not text:
        return None
    algorithm = environ.get(SIGNING_ALG) or DEFAULT_ALGORITHM
    key_id = environ.get(f"{SIGNING_KEY}_ID") or DEFAULT_KEY_ID
    scheme = require_scheme(algorithm, schemes)
    key = decode_key(text, name=SIGNING_KEY)
    function = _resolve(scheme.sign)

    def sign(message: bytes) -> str:
        try:
            return str(function(key, message))
        except ValueError as error:
            raise UsageError(
                f"{SIGNING_KEY} is not a valid key for {algorithm}: {error}",
                kind=ErrorKind.SIGNING_KEY,
                hint=f"set {SIGNING_KEY} to a base64 key made for {algorithm}, or unset it",
            ) from None

    if not re.fullmatch(r"(?:[0-9a-f]{2})+", sign(b"0" * 64)):
        raise PluginError(f"signature scheme {algorithm} does not return lowercase hex")
    return Signer(algorithm=algorithm, key_id=key_id, sign=sign)


def require_scheme(algorithm: str, schemes: Schemes) -> SignatureScheme:
    """Return the scheme of an algorithm; raise ``PluginError`` when no plugin provides it."""
    scheme = schemes(algorithm)
    if scheme is None:
        raise PluginError(
            f"no plugin provides signature algorithm {algorithm}",
            hint=f"install a gert-signature plugin that provides {algorithm}, or change the algorithm",
        )
    return scheme


class AlgorithmRefusedError(Exception):
    """A signature with an algorithm that is not accepted for its key."""


def verifying_key(algorithm: str, key_id: str, *, environ: Mapping[str, str], schemes: Schemes) -> bytes | None:
    """Return the key named after the key id, else the general one, else a symmetric scheme's signing key.

    Raises ``AlgorithmRefusedError`` when another algorithm is pinned: a public key is not a secret, and could be used
    as the shared key of a symmetric scheme.
    """
    names = [f"{VERIFY_KEY}_{key_suffix(key_id)}", VERIFY_KEY]
    scheme = schemes(algorithm)
    pin = _pin(key_id, environ)
    own = environ.get(SIGNING_ALG)
    if pin is None and own and scheme is not None and scheme.symmetric and _asymmetric(own, schemes):
        pin = SIGNING_ALG  # with a key pair the verifying key is public, so it must not be taken for a shared key
    if pin is not None and environ[pin] != algorithm:
        raise AlgorithmRefusedError(f"it is signed with {algorithm}, and {pin} accepts {environ[pin]} only")
    if scheme is not None and scheme.symmetric:
        names.append(SIGNING_KEY)
    for name in names:
        if text := environ.get(name):
            return decode_key(text, name=name)
    return None


def pinned(key_id: str, environ: Mapping[str, str]) -> bool:
    """Return whether only one algorithm is accepted for this key."""
    return _pin(key_id, environ) is not None


def _pin(key_id: str, environ: Mapping[str, str]) -> str | None:
    return next((n for n in (f"{VERIFY_ALG}_{key_suffix(key_id)}", VERIFY_ALG) if environ.get(n)), None)


def _asymmetric(algorithm: str, schemes: Schemes) -> bool:
    scheme = schemes(algorithm)
    return scheme is not None and not scheme.symmetric


def verify_signature(scheme: SignatureScheme, key: bytes, message: bytes, signature: str) -> bool:
    """Return whether the signature is valid; raise ``UsageError`` when the key does not fit the scheme."""
    try:
        return bool(_resolve(scheme.verify)(key, message, signature))
    except ValueError as error:
        raise UsageError(f"the verifying key is not a valid key for {scheme.algorithm}: {error}") from None


def key_suffix(key_id: str) -> str:
    """Return a key id as the suffix of a variable: upper case, other characters as underscores."""
    return re.sub(r"[^A-Z0-9]", "_", key_id.upper())


def decode_key(text: str, *, name: str) -> bytes:
    """Decode a base64 key from the environment; the error message never shows it."""
    from base64 import b64decode

    try:
        key = b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise UsageError(
            f"{name} is not valid base64",
            kind=ErrorKind.SIGNING_KEY,
            hint=f"set {name} to the base64-encoded key",
        )
    return key


def _resolve(target: object) -> Callable[..., object]:
    from gert_core.plugin.lazy import resolve

    function: Callable[..., object] = resolve(target)
    return function


__all__ = [
    "AlgorithmRefusedError",
    "Schemes",
    "Signer",
    "decode_key",
    "key_suffix",
    "pinned",
    "require_scheme",
    "signer_from_environ",
    "verify_signature",
    "verifying_key",
]
