"""Make and read personal links to a ticket: one ticket, one person, until a moment, signed with a shared key."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from gert_core.kit.json_reader import decode_as

_LONGEST: Final = 4_096
_FORBID: Final = "a link is altered or not complete"


class LinkClaims(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a link says; ``exp`` is in seconds since 1970."""

    ticket: str
    person: str
    exp: int
    nonce: str

    @property
    def expires(self) -> datetime:
        """Return until when it is valid."""
        return datetime.fromtimestamp(self.exp, UTC)


def sign_link(ticket: str, person: str, *, expires: datetime, key: bytes) -> str:
    """Return the part of a link behind ``/a/``."""
    claims = LinkClaims(ticket=ticket, person=person, exp=int(expires.timestamp()), nonce=secrets.token_urlsafe(18))
    fields = {name: getattr(claims, name) for name in claims.__struct_fields__}
    body = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    payload = urlsafe_b64encode(body.encode()).rstrip(b"=")
    return f"{payload.decode()}.{_mac(payload, key)}"


def read_link(token: str, key: bytes) -> LinkClaims:
    """Return what a link says; raise ``ValueError`` unless it is exactly as it was signed. Its time is not checked."""
    if len(token) > _LONGEST or not token.isascii():
        raise ValueError(_FORBID)
    payload, dot, mac = token.partition(".")
    if not dot or not hmac.compare_digest(_mac(payload.encode(), key), mac):
        raise ValueError(_FORBID)
    try:
        return decode_as(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), LinkClaims)
    except ValueError as error:
        raise ValueError(_FORBID) from error


def _mac(payload: bytes, key: bytes) -> str:
    return hmac.new(key, b"gert-link\n" + payload, hashlib.sha256).hexdigest()


__all__ = ["LinkClaims", "read_link", "sign_link"]
