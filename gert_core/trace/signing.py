"""Keys of signed traces: the signer of the environment, and the verifying key of a key id."""

from __future__ import annotations

import re
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import PluginError, UsageError
from gert_core.keys import TRACE, UnusableKeyError, signing_key, signing_key_id, verify_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.signatures import SignatureScheme

    Schemes = Callable[[str], SignatureScheme | None]

SIGNING_KEY: Final = TRACE.signing_key
VERIFY_KEY: Final = TRACE.verify_key
DEFAULT_KEY_ID: Final = "default"
_KNOWN: Final = b"gert trace signer"
"""What a key without a public half signs for its fingerprint."""


class Signer(Struct, frozen=True, kw_only=True):
    """A key ready to sign: ``sign`` returns lowercase hex.

    ``fingerprint`` tells the key from another one under the same id: the hash of its public key, or of something that
    a key without one signs. ``verify`` checks a signature with the key itself, whatever variables say.
    """

    algorithm: str
    key_id: str
    sign: Callable[[bytes], str]
    fingerprint: str = ""
    verify: Callable[[bytes, str], bool] | None = None

    def to_json(self) -> dict[str, str]:
        """Return the ``signer`` of ``run_start``."""
        return {"algorithm": self.algorithm, "key_id": self.key_id, "fingerprint": self.fingerprint}


def signer_from_environ(environ: Mapping[str, str], schemes: Schemes) -> Signer | None:
    """Return the signer that the environment configures, tried once; ``None`` when no key is set.

    Raises before the run starts when the scheme is missing or the key does not fit it.
    """
    try:
        key = signing_key(environ, TRACE)
        key_id = signing_key_id(environ, TRACE) or DEFAULT_KEY_ID
    except UnusableKeyError as error:
        raise UsageError(
            str(error),
            kind=ErrorKind.SIGNING_KEY,
            hint=f"set {SIGNING_KEY} to a key like ed25519:BASE64, or unset it",
        ) from None
    if key is None:
        return None
    algorithm = key.algorithm
    scheme = require_scheme(algorithm, schemes)
    data = key.data
    function = _load(scheme.sign)

    def sign(message: bytes) -> str:
        try:
            return str(function(data, message))
        except ValueError as error:
            raise UsageError(
                f"{SIGNING_KEY} is not a valid key for {algorithm}: {error}",
                kind=ErrorKind.SIGNING_KEY,
                hint=f"set {SIGNING_KEY} to a base64 key made for {algorithm}, or unset it",
            ) from None

    if not re.fullmatch(r"(?:[0-9a-f]{2})+", sign(b"0" * 64)):
        raise PluginError(f"signature scheme {algorithm} does not return lowercase hex")
    known = sign(_KNOWN).encode() if scheme.public is None else bytes(_load(scheme.public)(data))  # type: ignore[call-overload]
    verify = None
    if scheme.symmetric or scheme.public is not None:
        verify = partial(verify_signature, scheme, data if scheme.symmetric else known)
    return Signer(
        algorithm=algorithm, key_id=key_id, sign=sign, fingerprint=sha256(known).hexdigest()[:32], verify=verify
    )


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
    """A signature with an algorithm that its key is not for; ``unnamed`` when the key names none."""

    def __init__(self, message: str, *, unnamed: bool) -> None:
        super().__init__(message)
        self.unnamed = unnamed


def verifying_key(algorithm: str, key_id: str, *, environ: Mapping[str, str]) -> bytes | None:
    """Return the key named after the key id, else the general one, else a shared signing key under its own id.

    Raises ``AlgorithmRefusedError`` when the key is for another algorithm.
    """
    own = {**environ, TRACE.signing_key_id: environ.get(TRACE.signing_key_id) or DEFAULT_KEY_ID}
    try:
        key = verify_key(own, TRACE, key_id)
    except UnusableKeyError as error:
        raise UsageError(str(error), kind=ErrorKind.SIGNING_KEY) from None
    if key is None:
        return None
    if (refusal := key.refusal(algorithm)) is not None:
        raise AlgorithmRefusedError(refusal, unnamed=not key.named)
    return key.data


def key_named(key_id: str, environ: Mapping[str, str]) -> bool:
    """Return whether the key that verifies this key id names its algorithm."""
    try:
        key = verify_key(environ, TRACE, key_id)
    except UnusableKeyError:
        return False
    return key is not None and key.named


def verify_signature(scheme: SignatureScheme, key: bytes, message: bytes, signature: str) -> bool:
    """Return whether the signature is valid; raise ``UsageError`` when the key does not fit the scheme."""
    try:
        return bool(_load(scheme.verify)(key, message, signature))
    except ValueError as error:
        raise UsageError(f"the verifying key is not a valid key for {scheme.algorithm}: {error}") from None


def _load(target: object) -> Callable[..., object]:
    from gert_core.plugin.lazy import load_target

    function: Callable[..., object] = load_target(target)
    return function


__all__ = [
    "AlgorithmRefusedError",
    "Schemes",
    "Signer",
    "key_named",
    "require_scheme",
    "signer_from_environ",
    "verify_signature",
    "verifying_key",
]
