"""Serve over streamable HTTP: on loopback with checks of Host and Origin, elsewhere to holders of the token."""

from __future__ import annotations

import hmac
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import uvicorn
from anyio import to_thread
from mcp.server.transport_security import TransportSecuritySettings

from gert_core.api import UsageError
from gert_mcp.server import AgentServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping

    from gert_mcp.agents import Served

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Message, Receive, Send], Awaitable[None]]

CLOSING: Final = 2
"""Seconds in which open requests may end when the server does."""


def serve_http(served: Served) -> int:
    """Serve until the process is ended, and return the exit code."""
    wanted = served.wanted
    server = AgentServer(served)
    inner = server.streamable_http_app(transport_security=security(served), host=wanted.bind.host)
    app: App = _Living(inner, server, served)
    if wanted.token is not None:
        app = _WithToken(app, wanted.token)
    config = uvicorn.Config(
        app,
        host=wanted.bind.host,
        port=wanted.bind.port,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        ws="none",
    )
    config.timeout_graceful_shutdown = CLOSING
    listening = _Announced(config, f"http://{wanted.bind.shown}/mcp")
    try:
        listening.run()
    except OSError as error:
        raise UsageError(f"cannot listen on {wanted.bind.host}:{wanted.bind.port}: {error.strerror or error}") from None
    except SystemExit:  # uvicorn says by itself what is wrong with the address
        raise UsageError(
            f"cannot listen on {wanted.bind.host}:{wanted.bind.port}", hint="choose another --bind"
        ) from None
    return 0


def security(served: Served) -> TransportSecuritySettings:
    """Return which hosts and origins a request may name: those of this machine, so that no web page is one.

    A server with a token that other machines reach is named in ways that are not known here; no web page has the token.
    """
    names = ("127.0.0.1", "localhost", "[::1]")
    if not served.wanted.bind.loopback:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return TransportSecuritySettings(
        allowed_hosts=[*names, *(f"{name}:*" for name in names)],
        allowed_origins=[f"http://{name}:*" for name in names],
    )


class _WithToken:
    """Answers 401 to every request without the token."""

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and self._may(scope)):
            await self._app(scope, receive, send)
            return
        headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send(
            {"type": "http.response.body", "body": b'{"error": {"kind": "token", "message": "a token is needed"}}'}
        )

    def _may(self, scope: Message) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


class _Living:
    """Looks for changed files while the application runs, and cancels what runs when it ends.

    That is done before the process ends by its signal, which leaves nothing to be done afterwards.
    """

    def __init__(self, app: Any, server: AgentServer, served: Served) -> None:
        self._app = app
        within = app.router.lifespan_context

        @asynccontextmanager
        async def lifespan(asked: Any) -> AsyncGenerator[Any, None]:
            async with within(asked) as state, anyio.create_task_group() as tasks:
                tasks.start_soon(server.watch)
                yield state
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(served.roots.close)
                tasks.cancel_scope.cancel()

        app.router.lifespan_context = lifespan

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Hand a request on."""
        await self._app(scope, receive, send)


class _Announced(uvicorn.Server):
    """Says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, address: str) -> None:
        super().__init__(config)
        self._address = address

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if self.started:
            sys.stderr.write(f"gert mcp: serving at {self._address}\n")
            sys.stderr.flush()


__all__ = ["security", "serve_http"]
