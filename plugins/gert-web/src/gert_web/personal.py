"""Personal links: whom one is for, as long as it is whole and not too old."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gert_core.kit.links import read_link
from gert_web.people import BRIDGE, Visitor
from gert_web.problems import PageError

if TYPE_CHECKING:
    from starlette.requests import Request

    from gert_core.hosting import Host
    from gert_core.kit.links import LinkClaims

_AGAIN: Final = "Ask for a new one."


class LinkDoorman:
    """Believes links that were signed with the key of this server."""

    def __init__(self, host: Host, key: bytes | None) -> None:
        self._host = host
        self._key = key

    def person(self, request: Request) -> Visitor:
        """Return whom a link is for; raise ``PageError`` for one that was altered, is over or was used."""
        claims = self.claims(request)
        login = self._host.login_of(claims.person)
        if login is None:
            raise PageError(403, "No policy says under which name the person of this link logs in.", hint=_AGAIN)
        identity = {"provider": BRIDGE, "user": login}
        return Visitor(name=claims.person, forms=f"link {claims.nonce}", identity=identity, guest=True)

    def claims(self, request: Request) -> LinkClaims:
        """Return what a link says."""
        if self._key is None:
            raise PageError(404, "This server takes no personal links.", hint="GERT_LINK_SIGNING_KEY is not set there.")
        try:
            found = read_link(str(request.path_params["token"]), self._key)
        except ValueError:
            raise PageError(409, "This link is altered or not complete.", hint=_AGAIN) from None
        if datetime.now(UTC) > found.expires:
            raise PageError(410, "This link is too old.", hint=_AGAIN)
        return found


__all__ = ["LinkDoorman"]
