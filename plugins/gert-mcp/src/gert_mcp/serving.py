"""Serve until the input ends, or somebody ends the process: what runs then may finish its step."""

from __future__ import annotations

import logging
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import anyio
from anyio import to_thread

from gert_mcp.agents import Served
from gert_mcp.input_lines import InputLines
from gert_mcp.server import AgentServer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_mcp.command import ServerOptions

FINISHING: Final = 30.0
"""Seconds in which steps may finish after the input has ended."""


def serve(wanted: ServerOptions, *, environ: Mapping[str, str]) -> int:
    """Serve, and return the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="gert mcp: %(message)s")
    served = Served(wanted, environ)
    if wanted.transport == "http":
        from gert_mcp.http import serve_http

        return serve_http(served)
    return anyio.run(_stdio, served)


async def _stdio(served: Served) -> int:
    from mcp.server.stdio import stdio_server

    server, code = AgentServer(served), 0
    ended = anyio.Event()

    async def stop_by_signal(scope: anyio.CancelScope) -> None:
        nonlocal code
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                code = 128 + number
                scope.cancel()
                return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_by_signal, tasks.cancel_scope)
        tasks.start_soon(server.watch)
        lines = cast("anyio.AsyncFile[str]", InputLines(sys.stdin.fileno()))
        async with stdio_server(stdin=lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        ended.set()
        tasks.cancel_scope.cancel()
    with anyio.CancelScope(shield=True):
        leaves = FINISHING if ended.is_set() else 0.0
        await to_thread.run_sync(partial(served.roots.close, leaves=leaves))
    return code


__all__ = ["FINISHING", "serve"]
