"""Sign and verify approvals: what a signature covers, and the keys."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api.error_kinds import ErrorKind
from gert_core.plugin.lazy import resolve
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import ApprovalResponse, SignatureScheme

    Schemes = Callable[[str], SignatureScheme | None]

SIGNING_KEY: Final = "GERT_APPROVAL_SIGNING_KEY"
VERIFY_KEY: Final = "GERT_APPROVAL_VERIFY_KEY"
VERIFY_ALG: Final = "GERT_APPROVAL_VERIFY_ALG"


class UnverifiedError(Exception):
    """A signature that is missing, invalid or cannot be verified; ``kind`` is a stable word, the text a sentence."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def request_hash(
    *, runbook_hash: str, step_id: str, contract: Mapping[str, object], inputs: Mapping[str, object]
) -> str:
    """Return the hash that binds an approval to its step; ``inputs`` are the masked ones shown to the approver."""
    facts = {"runbook_hash": runbook_hash, "step_id": step_id, "contract": contract, "inputs": inputs}
    return hashlib.sha256(canonical(facts)).hexdigest()


def signature_payload(response: ApprovalResponse, request_hash: str) -> bytes:
    """Return the bytes an approver signs."""
    return canonical(
        {
            "ticket_id": response.ticket_id,
            "approved": response.approved,
            "approver_id": response.approver_id,
            "timestamp": response.timestamp,
            "request_hash": request_hash,
        }
    )


def sign_response(
    response: ApprovalResponse,
    *,
    request_hash: str,
    scheme: SignatureScheme,
    key: bytes,
    key_id: str | None = None,
) -> ApprovalResponse:
    """Return the response with its signature; raise ``ValueError`` when the key does not fit the scheme."""
    sign = resolve(scheme.sign)
    signature = sign(key, signature_payload(response, request_hash))
    return replace(response, signature=signature, signature_alg=scheme.algorithm, key_id=key_id)


def verify_response(
    response: ApprovalResponse, *, request_hash: str, schemes: Schemes, environ: Mapping[str, str]
) -> None:
    """Raise ``UnverifiedError`` unless there is a signature and it is valid."""
    if not response.signature:
        raise UnverifiedError(ErrorKind.SIGNATURE_MISSING, "the answer has no signature")
    algorithm = response.signature_alg
    scheme = schemes(algorithm) if algorithm else None
    if not algorithm or scheme is None:
        raise UnverifiedError(
            ErrorKind.SIGNATURE_ALGORITHM,
            f"no installed plugin supports the signature algorithm {algorithm or '(none)'!r}",
        )
    pinned = _first(environ, VERIFY_ALG, response.key_id)
    if pinned is not None and pinned[1] != algorithm:
        raise UnverifiedError(
            ErrorKind.SIGNATURE_ALGORITHM,
            f"{pinned[0]} requires {pinned[1]!r} and the answer is signed with {algorithm!r}",
        )
    key = verify_key(environ, response.key_id, symmetric=scheme.symmetric)
    if key is None:
        raise UnverifiedError(
            ErrorKind.SIGNATURE_KEY_MISSING,
            f"there is no key to verify it: set {key_variable(VERIFY_KEY, response.key_id)}",
        )
    verify = resolve(scheme.verify)
    try:
        valid = verify(key, signature_payload(response, request_hash), response.signature)
    except ValueError as error:
        raise UnverifiedError(
            ErrorKind.SIGNATURE_KEY_UNUSABLE, f"the key cannot be used to verify it: {error}"
        ) from error
    if valid is not True:
        raise UnverifiedError(
            ErrorKind.SIGNATURE_WRONG,
            "the signature is invalid: the answer was altered or signed with another key",
        )


def verify_key(environ: Mapping[str, str], key_id: str | None, *, symmetric: bool) -> bytes | None:
    """Return the key that verifies signatures of ``key_id``; symmetric schemes fall back to the signing key."""
    names = (VERIFY_KEY, SIGNING_KEY) if symmetric else (VERIFY_KEY,)
    candidates = [key_variable(name, key_id) for name in names] + list(names)
    for variable in dict.fromkeys(candidates):
        if environ.get(variable):
            return _decode(variable, environ[variable])
    return None


def signing_key(environ: Mapping[str, str], key_id: str | None = None) -> bytes | None:
    """Return the signing key, the one of ``key_id`` first; raise ``UnverifiedError`` when it is not base64."""
    found = _first(environ, SIGNING_KEY, key_id)
    return None if found is None else _decode(*found)


def key_variable(name: str, key_id: str | None) -> str:
    """Return the environment variable of a key id: upper case, every other character an underscore."""
    if not key_id:
        return name
    return f"{name}_{re.sub(r'[^A-Z0-9]', '_', key_id.upper())}"


def _first(environ: Mapping[str, str], name: str, key_id: str | None) -> tuple[str, str] | None:
    for variable in dict.fromkeys((key_variable(name, key_id), name)):
        if environ.get(variable):
            return variable, environ[variable]
    return None


def _decode(variable: str, text: str) -> bytes:
    try:
        key = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise UnverifiedError(ErrorKind.SIGNATURE_KEY_UNUSABLE, f"{variable} is not a base64-encoded key")
    return key


__all__ = [
    "SIGNING_KEY",
    "VERIFY_ALG",
    "VERIFY_KEY",
    "UnverifiedError",
    "key_variable",
    "request_hash",
    "sign_response",
    "signature_payload",
    "signing_key",
    "verify_key",
    "verify_response",
]
