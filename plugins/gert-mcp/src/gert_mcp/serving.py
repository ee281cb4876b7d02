"""Serve until the input ends, or somebody ends the process: what runs then may finish its step."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import anyio
from anyio import to_thread

from gert_mcp.agents import Served
from gert_mcp.input_lines import InputLines, when_closed
from gert_mcp.output_lines import MessageOutput, taken_stdout
from gert_mcp.server import AgentServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyio.abc import TaskStatus

    from gert_mcp.command import ServerOptions

FINISHING: Final = 30.0
"""Seconds in which steps may finish after the input has ended."""


def serve(wanted: ServerOptions, *, environ: Mapping[str, str]) -> int:
    """Serve, and return the exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="gert mcp: %(message)s")
    served = Served(wanted, environ)
    for name in served.books.unknown():
        sys.stderr.write(f"gert mcp: --only {name}: no runbook below the roots has this name or path\n")
    sys.stderr.flush()
    if wanted.transport == "http":
        from gert_mcp.http import serve_http

        return serve_http(served)
    return anyio.run(_stdio, served)


async def _stdio(served: Served) -> int:
    server, code = AgentServer(served), 0
    serving = anyio.CancelScope()

    async def stop_by_signal(*, task_status: TaskStatus[None]) -> None:
        """End everything at the first signal, also while steps finish after the input has ended; a second one kills."""
        nonlocal code
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for number in signals:
                code = 128 + number
                serving.cancel()
                await to_thread.run_sync(served.runs.cancel_all, signal.Signals(number).name)
                return

    async with anyio.create_task_group() as tasks:
        await tasks.start(stop_by_signal)
        with serving:
            await _talk(server)
        leaves = 0.0 if code else FINISHING
        await to_thread.run_sync(partial(served.roots.close, leaves=leaves))
        tasks.cancel_scope.cancel()
    return code


async def _talk(server: AgentServer) -> None:
    """Answer what comes from standard input until that ends, or the client does not read the answers any more."""
    from mcp.server.stdio import stdio_server

    lines = InputLines(sys.stdin.fileno())
    answers = MessageOutput(taken_stdout(), gone=lines.end)
    when_closed(sys.stdin.fileno(), partial(_soon, asyncio.get_running_loop(), answers.hurry))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.watch)
        async with stdio_server(
            stdin=cast("anyio.AsyncFile[str]", lines), stdout=cast("anyio.AsyncFile[str]", answers)
        ) as (read, write):
            lines.send = write.send
            await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(call)


__all__ = ["FINISHING", "serve"]
