"""Sign and verify approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import PluginError
from gert_core.keys import APPROVAL, UnusableKeyError, variable, verify_key
from gert_core.plugin.lazy import load_target
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gert_core.api import ApprovalResponse, SignatureScheme
    from gert_core.keys import Key

    Schemes = Callable[[str], SignatureScheme | None]

SIGNING_KEY: Final = APPROVAL.signing_key
VERIFY_KEY: Final = APPROVAL.verify_key


class UnverifiedError(Exception):
    """A signature that is missing, invalid or cannot be verified; ``kind`` is a stable word, the text a sentence."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def signature_payload(response: ApprovalResponse, request_hash: str) -> bytes:
    """Return the bytes an approver signs; identity and evidence are covered where there are any."""
    signed: dict[str, object] = {
        "ticket_id": response.ticket_id,
        "approved": response.approved,
        "approver_id": response.approver_id,
        "timestamp": response.timestamp,
        "request_hash": request_hash,
    }
    if response.identity is not None or response.evidence is not None:
        signed |= {"v": 2, "identity": response.identity, "evidence": response.evidence}
    return canonical(signed)


def sign_response(
    response: ApprovalResponse,
    *,
    request_hash: str,
    scheme: SignatureScheme,
    key: bytes,
    key_id: str | None = None,
) -> ApprovalResponse:
    """Return the response with its signature; raise ``ValueError`` when the key does not fit the scheme."""
    sign = load_target(scheme.sign)
    signature = sign(key, signature_payload(response, request_hash))
    return replace(response, signature=signature, signature_alg=scheme.algorithm, key_id=key_id)


def signing_key_of(
    response: ApprovalResponse, *, request_hash: str, schemes: Schemes, keys: Iterable[Key]
) -> Key | None:
    """Return which of these keys signed an answer; a key is tried for its own algorithm only."""
    scheme = schemes(response.signature_alg) if response.signature and response.signature_alg else None
    if scheme is None or not response.signature:
        return None
    verify, payload = load_target(scheme.verify), signature_payload(response, request_hash)
    for key in keys:
        if key.algorithm == scheme.algorithm:
            try:
                if verify(key.data, payload, response.signature) is True:
                    return key
            except ValueError:  # a key that does not fit its algorithm signs nothing
                continue
    return None


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
    try:
        key = verify_key(environ, APPROVAL, response.key_id)
    except UnusableKeyError as error:
        raise UnverifiedError(ErrorKind.SIGNATURE_KEY_UNUSABLE, str(error)) from None
    if key is None:
        raise UnverifiedError(
            ErrorKind.SIGNATURE_KEY_MISSING,
            f"there is no key to verify it: set {variable(VERIFY_KEY, response.key_id)}",
        )
    if (refusal := key.refusal(algorithm)) is not None:
        raise UnverifiedError(ErrorKind.SIGNATURE_ALGORITHM, refusal)
    verify = load_target(scheme.verify)
    try:
        valid = verify(key.data, signature_payload(response, request_hash), response.signature)
    except ValueError as error:
        raise UnverifiedError(
            ErrorKind.SIGNATURE_KEY_UNUSABLE, f"the key cannot be used to verify it: {error}"
        ) from error
    except PluginError as error:
        raise UnverifiedError(error.kind, f"it cannot be verified: {error.message}") from error
    if valid is not True:
        raise UnverifiedError(
            ErrorKind.SIGNATURE_WRONG,
            "the signature is invalid: the answer was altered or signed with another key",
        )


__all__ = [
    "SIGNING_KEY",
    "VERIFY_KEY",
    "UnverifiedError",
    "sign_response",
    "signature_payload",
    "signing_key_of",
    "verify_response",
]
