"""What holds for every request: whom it asks for, how much it may send, and what browsers may do with the answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from gert_web.problems import PageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, MutableMapping

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Message, Receive, Send], Awaitable[None]]

LIMIT: Final = 64 * 1024
"""The most bytes of a request."""
POLICY: Final = "default-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'"
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
CALLBACKS: Final = "/callbacks"
HEALTH: Final = "/healthz"
_TOO_LARGE: Final = f"a request may have {LIMIT} bytes at most"


class Guard:
    """Answers what is not for this server or too large, and adds the headers of every answer.

    ``names`` are the hosts that a request may ask for, so that no page whose name leads here can read it (DNS
    rebinding); None: any. ``callbacks`` is the port on which callbacks are served, and nothing else.
    """

    def __init__(self, app: App, *, names: Collection[str] | None, callbacks: int | None) -> None:
        self._app = app
        self._names = None if names is None else frozenset(name.encode() for name in names)
        self._callbacks = callbacks

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"cache-control"]
                message["headers"] = [*kept, *HEADERS]
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await _answer(guarded, *refused)
            return
        try:
            await self._app(scope, _limited(receive), guarded)
        except asyncio.CancelledError:  # the server ends, and the rest of this request has not come
            if not begun:
                await _answer(guarded, 503, "this server is being ended")

    def _refused(self, scope: Message) -> tuple[int, str] | None:
        here = scope["path"] == HEALTH or scope["path"].startswith(f"{CALLBACKS}/")
        if self._callbacks is not None and scope["path"] != HEALTH:
            port = (scope.get("server") or ("", 0))[1]
            if here != (port == self._callbacks):
                return 404, "there is nothing here"
        named = [value.lower() for key, value in scope["headers"] if key == b"host"]
        if len(named) != 1 or (self._names is not None and not here and named[0] not in self._names):
            return 421, "this server has another name: go to the address that it was started with"
        length = [value for key, value in scope["headers"] if key == b"content-length"]
        if length and (not length[0].isdigit() or int(length[0]) > LIMIT):
            return 413, _TOO_LARGE
        return None


def _limited(receive: Receive) -> Receive:
    """Return what reads a request, and raises ``PageError`` where it is too large: the application answers that."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LIMIT:
            raise PageError(413, _TOO_LARGE)
        return message

    return limited


async def _answer(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{text}\n".encode()})


__all__ = ["CALLBACKS", "HEADERS", "HEALTH", "LIMIT", "POLICY", "Guard"]
