"""Read the answers of a service: ``ApprovalResponse`` as JSON, of one ticket."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import ApprovalResponse
from gert_core.kit.json_reader import decode_as, loads
from gert_core.kit.wire import unique

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST: Final = 64 * 1024
_REASON: Final = 2_000
_MOST: Final = 100


class NoResponseError(Exception):
    """What was received is not an answer to the ticket; the message is a sentence without any of it."""


class _Given(Struct, forbid_unknown_fields=True, kw_only=True):
    """An answer as a service writes it; what it leaves out is filled in."""

    ticket_id: str
    approved: bool
    approver_id: str
    method: str = "http"
    timestamp: str | None = None
    signature: str | None = None
    signature_alg: str | None = None
    key_id: str | None = None
    reason: str | None = None
    identity: dict[str, str] | None = None
    evidence: str | None = None


def token_hashes(kept: Mapping[str, Any]) -> list[str]:
    """Return the hashes of the tokens of a ticket, from what is kept of its requests; earlier versions kept one."""
    found = kept.get("token_sha256")
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, str)]


def read_answer(body: bytes, ticket_id: str) -> ApprovalResponse:
    """Return one answer; raise ``NoResponseError``.

    One that is signed stays as it is. In another, who answered is what the service says: an identity of the bridge.
    """
    given = _response(_decoded(body, _Given), body, ticket_id)
    if given.signature is not None:
        return given
    return replace(given, identity={"provider": "http", "user": given.approver_id})


def read_answers(body: bytes, ticket_id: str) -> list[ApprovalResponse]:
    """Return the answers in a document, which is one of them or a list; they are claims where they are not signed."""
    found = _decoded(body, list[_Given] | _Given)
    given = found if isinstance(found, list) else [found]
    if len(given) > _MOST:
        raise NoResponseError(f"there are more than {_MOST} answers")
    return [_response(one, msgspec.json.encode(one), ticket_id) for one in given]


def _decoded(body: bytes, kind: Any) -> Any:
    if len(body) > LARGEST:
        raise NoResponseError(f"it has more than {LARGEST} bytes")
    try:
        loads(body, object_pairs_hook=unique)  # of a field that is given twice, readers take different ones
        return decode_as(body, kind)
    except ValueError:
        raise NoResponseError("it is not an ApprovalResponse, or has a field twice") from None


def _response(given: _Given, raw: bytes, ticket_id: str) -> ApprovalResponse:
    if given.ticket_id != ticket_id:
        raise NoResponseError("it is for another ticket")
    if len(given.reason or "") > _REASON:
        raise NoResponseError(f"its reason has more than {_REASON} characters")
    facts = {name: getattr(given, name) for name in given.__struct_fields__ if name != "timestamp"}
    stamp = given.timestamp or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    response = ApprovalResponse(**facts, timestamp=stamp)
    if given.signature is not None:
        return response
    return replace(response, method="http", identity=None, evidence=sha256(raw).hexdigest())


__all__ = ["LARGEST", "NoResponseError", "read_answer", "read_answers", "token_hashes"]
