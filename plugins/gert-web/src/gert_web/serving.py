"""Serve until the process is ended: listen, say where, go the rounds, and close the host in the end."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from anyio import CancelScope, to_thread

from gert_core.api import UsageError
from gert_core.hosting import Host
from gert_core.hosting.bridges import bridge_key, link_key
from gert_core.kit.owners import account_name
from gert_core.kit.server_secrets import hide_memory, keep_from_runs
from gert_core.kit.unread import unwaited_stderr
from gert_web.app import application
from gert_web.connections import Crowd, protocol
from gert_web.endings import Endings
from gert_web.forms import FormKeys
from gert_web.guarding import Guard
from gert_web.live import LiveRuns
from gert_web.people import BRIDGE, LoginSessions, TrustedHeader
from gert_web.personal import LinkDoorman
from gert_web.resuming import Resuming
from gert_web.site import WebSite
from gert_web.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from starlette.applications import Starlette

    from gert_core.kit.listening import ListenAddress
    from gert_web.command import WebOptions

CLOSING: Final = 2
"""Seconds in which open requests may end when the server does."""
RESERVED: Final = 256
"""Descriptors for everything but browsers that follow a run; half of them are for other connections."""
WANTED: Final = 1000
"""Browsers that can follow runs at once, if the system lets us open so many files."""
_MOST: Final = 65_536


def serve(wanted: WebOptions, *, environ: Mapping[str, str]) -> int:
    """Serve, and return the exit code; a standard error that is not read holds up neither serving nor ending."""
    with unwaited_stderr():
        return _serve(wanted, environ=environ)


def _serve(wanted: WebOptions, *, environ: Mapping[str, str]) -> int:
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="gert web: %(message)s")
    clients = _descriptors() - RESERVED
    hide_memory()  # sessions of people and the secrets of callbacks are in it too
    environ = keep_from_runs(environ, wanted.secret_env, key="GERT_WEB_PROXY_KEY")
    link = link_key(environ)
    bridge_key(environ, BRIDGE)  # what is wrong with it is said now
    # People are who the system says they are: no variable makes somebody else of them.
    options: dict[str, Any] = {"actor": account_name(os.getuid()), "allow": wanted.allow, "block": wanted.block}
    with Host(wanted.root, environ=environ, store=wanted.store, **options) as host:
        sockets = [_listening("--bind", wanted.bind)]
        port = int(sockets[0].getsockname()[1])
        if wanted.callbacks is not None:
            sockets.append(_listening("--callbacks-bind", wanted.callbacks))
        site = _site(host, wanted, port, clients, link)
        upkeep = Upkeep(site)
        crowd = Crowd(clients + RESERVED // 2, _say)

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
            asyncio.get_running_loop().set_exception_handler(crowd.on_error)
            upkeep.start()
            yield
            site.live.close()
            with CancelScope(shield=True):
                await to_thread.run_sync(site.resume.close)
                await to_thread.run_sync(upkeep.close)
                await to_thread.run_sync(host.close)

        app = Guard(
            application(site, lifespan=lifespan),
            names=_names(wanted, port),
            callbacks=None if wanted.callbacks is None else int(sockets[1].getsockname()[1]),
        )
        config = uvicorn.Config(
            app, log_level="error", access_log=False, proxy_headers=False, server_header=False, http=protocol(crowd)
        )
        config.timeout_graceful_shutdown = CLOSING
        _Announced(config, site, _told(host, wanted, port, clients)).run(sockets=sockets)
    return 0


def _site(host: Host, wanted: WebOptions, port: int, clients: int, link: bytes | None) -> WebSite:
    cookie = "__Host-gert" if wanted.url.startswith("https:") else f"gert_{port}"
    if wanted.header is None:
        base = wanted.base_url or f"http://{wanted.bind.shown.rpartition(':')[0]}:{port}"
        doorman: Any = LoginSessions(host.actor, cookie=f"{cookie}_login", tell=lambda path: _say(f"open {base}{path}"))
    else:
        doorman = TrustedHeader(wanted)
    keys = FormKeys(cookie=f"{cookie}_form", base_url=wanted.base_url)
    return WebSite(
        host,
        wanted,
        doorman=doorman,
        links=LinkDoorman(host, link),
        keys=keys,
        live=LiveRuns(host, clients=clients),
        endings=Endings(host),
        resume=Resuming(host, wanted=wanted.resume),
    )


def _names(wanted: WebOptions, port: int) -> list[str] | None:
    """Return the hosts that requests may ask for; a server that others reach is named in ways that are not known."""
    if not wanted.bind.loopback:
        return None
    names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    return names if wanted.base_url is None else [*names, wanted.base_url.rpartition("/")[2]]


def _told(host: Host, wanted: WebOptions, port: int, clients: int) -> list[str]:
    """Return what is said at the start."""
    found = [f"serving {wanted.root} at http://{wanted.bind.shown.rpartition(':')[0]}:{port}"]
    if host.traces is not None:
        found.append(
            f"runs are files here: these are the runs of user {host.actor}; a team shares a database (--store), or one"
            " account that all runs are started with"
        )
    if clients < WANTED:
        found.append(
            f"at most {clients} browsers can follow runs at once, because so few files may be open: raise `ulimit -n`"
        )
    if not wanted.resume:
        found.append("runs that are answered here are resumed by `gert resume`; --resume does it here")
    return found


def _descriptors() -> int:
    """Return how many files may be open, after asking for more; raise ``UsageError`` where that is too few to serve."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    found = _MOST if soft == resource.RLIM_INFINITY else soft
    if found <= RESERVED:
        raise UsageError(f"only {found} files may be open, and gert web needs more", hint="raise `ulimit -n`")
    return found


def _listening(option: str, where: ListenAddress) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {where.shown}: {error.strerror or error}", hint=f"choose another {option}"
        ) from None
    found.listen(2048)
    found.setblocking(False)
    return found


class _Announced(uvicorn.Server):
    """Says where it listens, once it does."""

    def __init__(self, config: uvicorn.Config, site: WebSite, told: list[str]) -> None:
        super().__init__(config)
        self._site = site
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if self.started:
            for line in self._told:
                _say(line)
            if isinstance(self._site.doorman, LoginSessions):
                self._site.doorman.announce()


def _say(text: str) -> None:
    sys.stderr.write(f"gert web: {text}\n")
    sys.stderr.flush()


__all__ = ["serve"]
