"""Who sends a request: the user of this process by a session, or somebody whom a trusted proxy names."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from gert_core.kit.escaping import is_visible
from gert_web.command import SECRET_HEADER
from gert_web.problems import PageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from gert_web.command import Network, WebOptions

BRIDGE: Final = "web"
"""The name of this bridge in policies and in identities."""
LASTING: Final = 12 * 3600.0
"""Seconds for which a session lasts."""
_SESSIONS: Final = 1000
_LONGEST: Final = 256


class Visitor(Struct, frozen=True, kw_only=True):
    """Somebody who looks and decides."""

    name: str
    """As pages show them."""
    forms: str
    """What their forms belong to: a session, a name, or a link."""
    identity: Mapping[str, str] | None = None
    """Who they are as the proxy or a link says; None: the user of this process."""
    guest: bool = False
    """Whether they came by a personal link, which is for one ticket only."""


class Doorman(Protocol):
    """Says who sends a request."""

    def person(self, request: Request) -> Visitor:
        """Return who it is; raise ``PageError`` when that is not known."""


class LoginSessions:
    """People who opened the address that was printed: they are the user of this process."""

    def __init__(self, user: str, *, cookie: str, tell: Callable[[str], object]) -> None:
        self._user = user
        self.cookie = cookie
        self._tell = tell
        self._token = secrets.token_urlsafe(32)
        self._until: dict[str, float] = {}

    def announce(self) -> None:
        """Tell the path that opens a session, once."""
        self._tell(f"/login/{self._token}")

    def open(self, token: str) -> str | None:
        """Return the cookie of a new session for the token that was told, which is used up; None for any other."""
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return None
        self._token = secrets.token_urlsafe(32)
        self.announce()
        value = secrets.token_urlsafe(32)
        now = time.monotonic()
        self._until = {key: until for key, until in self._until.items() if until > now}
        while len(self._until) >= _SESSIONS:
            self._until.pop(next(iter(self._until)))
        self._until[_digest(value)] = now + LASTING
        return value

    def person(self, request: Request) -> Visitor:
        """Return the user of this process for a browser that has the cookie of a session."""
        key = _digest(request.cookies.get(self.cookie, ""))
        if self._until.get(key, 0.0) <= time.monotonic():
            hint = "Open the address that gert web printed where it was started; each of them works once."
            raise PageError(401, "This browser has no session here.", hint=hint)
        return Visitor(name=self._user, forms=f"session {key}")


class TrustedHeader:
    """People whom a proxy names in a header; a header of any other sender is not believed."""

    def __init__(self, wanted: WebOptions) -> None:
        assert wanted.header is not None  # noqa: S101 - only made for --auth header
        self._header = wanted.header
        self._proxies = wanted.proxies
        self._secret = wanted.proxy_secret

    def person(self, request: Request) -> Visitor:
        """Return who the proxy says it is; raise ``PageError`` for a request that did not come through it."""
        peer = request.client.host if request.client is not None else ""
        if not any(_within(peer, network) for network in self._proxies):
            hint = "Go to the address of the proxy instead."
            raise PageError(403, "This request did not come through the proxy.", hint=hint)
        if self._secret is not None:
            sent = self._one(request, SECRET_HEADER)
            if not hmac.compare_digest(sent, self._secret.encode()):
                raise PageError(403, "This request does not have the secret of the proxy.")
        name = self._named(self._one(request, self._header))
        return Visitor(name=name, forms=f"header {name}", identity={"provider": BRIDGE, "user": name})

    def _one(self, request: Request, header: str) -> bytes:
        """Return the only value of a header; a second one, or one whose name a proxy may confuse, is not believed."""
        wanted = header.encode()
        found = [(key, value) for key, value in request.headers.raw if key.lower().replace(b"_", b"-") == wanted]
        if len(found) != 1 or found[0][0].lower() != wanted:
            told = "is missing" if not found else "is there twice, or in two spellings"
            hint = "The proxy must remove what people send in it, and set it once."
            raise PageError(403, f"The header {header} of the proxy {told}.", hint=hint)
        return found[0][1]

    def _named(self, value: bytes) -> str:
        try:
            name = value.decode()
        except UnicodeDecodeError:
            name = ""
        if not name or name != name.strip() or len(name) > _LONGEST or not is_visible(name):
            raise PageError(403, f"The header {self._header} of the proxy has no name in it.")
        return name


def _within(peer: str, network: Network) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.version == network.version and address in network


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


__all__ = ["BRIDGE", "Doorman", "LoginSessions", "TrustedHeader", "Visitor"]
