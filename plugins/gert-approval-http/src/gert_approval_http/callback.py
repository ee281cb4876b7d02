"""Take the answers that a service posts: check by what it is entitled before they are read."""

from __future__ import annotations

import hmac
import json
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from gert_approval_http.answers import LARGEST, NoResponseError, read_answer, token_hashes
from gert_approval_http.settings import VERIFY_KEY
from gert_core.api import CallbackReply, ErrorKind, GertError, UsageError

if TYPE_CHECKING:
    from gert_core.api import CallbackRequest, Services

_GONE: Final = frozenset({ErrorKind.TICKET_RESOLVED, ErrorKind.TICKET_EXPIRED})
_BEARER: Final = "Bearer "


def callback(request: CallbackRequest, services: Services) -> CallbackReply:
    """Take an answer to one ticket: 200 when it counts, else why it does not.

    401: neither the token of this ticket nor a signature; 403: that person may not; 409: answered already or altered;
    410: the ticket is over.
    """
    assert services.tickets is not None  # noqa: S101 - programs that take answers give them
    ticket_id = request.path.strip("/")
    if request.method != "POST":
        return _said(HTTPStatus.METHOD_NOT_ALLOWED, "answers are posted")
    if not ticket_id or "/" in ticket_id:
        return _said(HTTPStatus.NOT_FOUND, "there is no such ticket")
    if len(request.body) > LARGEST:
        return _said(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"an answer has at most {LARGEST} bytes")
    try:
        signed = _is_signed(request, services)
        if not signed and not _has_token(request, services, ticket_id):
            return _said(HTTPStatus.UNAUTHORIZED, "neither the token of this ticket nor a signature")
    except UsageError as error:
        return _said(HTTPStatus.UNAUTHORIZED, error.message)
    try:
        answer = read_answer(request.body, ticket_id)
    except NoResponseError as error:
        return _said(HTTPStatus.BAD_REQUEST, str(error))
    try:
        if signed and answer.signature is None:
            state = services.tickets.decide(
                ticket_id,
                approved=answer.approved,
                identity=answer.identity or {},
                evidence=answer.evidence,
                reason=answer.reason,
            )
        else:
            state = services.tickets.take(answer)
    except GertError as error:
        return _refusal(error)
    return _document(HTTPStatus.OK, {"status": state.status, "approvers": list(state.approvers)})


def _is_signed(request: CallbackRequest, services: Services) -> bool:
    header, key = request.header("gert-signature"), services.environ.get(VERIFY_KEY)
    if header is None or not key:
        return False
    from gert_http import is_signed

    try:
        return is_signed(key, request.body, header, now=request.now.timestamp())
    except ValueError as error:
        raise UsageError(f"{VERIFY_KEY} cannot be used: {error}") from None


def _has_token(request: CallbackRequest, services: Services, ticket_id: str) -> bool:
    """Return whether a token of this very ticket was sent; what is kept of each is its hash."""
    given = request.header("authorization") or ""
    if not given.startswith(_BEARER) or services.tickets is None:
        return False
    try:
        kept = token_hashes(services.tickets.sent(ticket_id) or {})
    except GertError:  # there is no such ticket: the answer is the same as to a wrong token
        return False
    digest = sha256(given.removeprefix(_BEARER).encode()).hexdigest()
    return any(hmac.compare_digest(digest, one) for one in kept)


def _refusal(error: GertError) -> CallbackReply:
    status = HTTPStatus.FORBIDDEN
    if error.kind in _GONE:
        status = HTTPStatus.GONE
    elif error.kind in (ErrorKind.TICKET_DUPLICATE, ErrorKind.TICKET_ALTERED):
        status = HTTPStatus.CONFLICT
    elif error.kind == ErrorKind.TICKET_UNKNOWN:
        status = HTTPStatus.NOT_FOUND
    return _said(status, error.message, kind=str(error.kind))


def _said(status: HTTPStatus, message: str, *, kind: str = "usage") -> CallbackReply:
    return _document(status, {"error": {"kind": kind, "message": message}})


def _document(status: HTTPStatus, document: object) -> CallbackReply:
    return CallbackReply(
        status=int(status), body=json.dumps(document).encode() + b"\n", content_type="application/json"
    )


__all__ = ["callback"]
