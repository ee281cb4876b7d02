"""One connection to a server: opened and used by the SDK's client, in a task of its own."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import httpx2
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, Implementation
from pydantic import ValidationError

from gert_core.api import ErrorKind, StepProblem
from gert_core.kit.excerpts import first_line, last_line
from gert_transport_mcp.streams import CALL, ChildLink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_types import CallToolResult, RequestParamsMeta

    from gert_transport_mcp.streams import HttpLink

_PAGES: Final = 100
"""How many pages of tools are read: a server must not keep a client busy for ever."""
_SHOWN: Final = 8
"""How many names of tools a message lists."""
_COSTLY: Final = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "pattern", "patternProperties", "propertyNames", "uniqueItems"}
)
"""With these a server's schema can make a check of its results take for ever, which no signal and no timeout ends."""
_SAID: Final = 400
"""How much of an error a message shows."""
logger = logging.getLogger("gert.transport-mcp")
for _name in ("mcp", "httpx2"):
    # What the SDK logs has answers of servers in it, unmasked and with tracebacks; what went wrong is told by the step.
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class ConnectionLostError(Exception):
    """The connection was lost; ``sent`` is whether the server may have received the call."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class ServerError(Exception):
    """An error answer of the server, which can still be used."""


class Connection:
    """A server that was asked for its tools. ``serve`` runs in the loop's thread, as every ``async`` method does."""

    def __init__(self, link: ChildLink | HttpLink, *, protocol: str, name: str) -> None:
        self.link = link
        self.name = name
        self.ready: Future[None] = Future()
        """Done when the tools are known, or with the reason why there are none."""
        self.served: Future[Any] | None = None
        self.lost = False
        self._protocol = protocol
        self._stop = anyio.Event()
        self._tools: tuple[str, ...] = ()
        self._client: Client | None = None

    async def serve(self) -> None:
        """Connect, tell that it is ready, and keep the connection until ``stop``."""
        info = Implementation(name="gert", version="0.1.0")
        try:
            async with Client(self.link.open(), mode=self._protocol, client_info=info, cache=None) as client:
                self._tools = await _tools(client)
                self._client = client
                self.ready.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if not self.ready.done():
                self.ready.set_exception(self._why(error, sent=False))
            elif not isinstance(error, Exception):
                raise
            else:
                logger.debug("%s: the connection ended: %s", self.name, error)
            if not isinstance(error, Exception):
                raise
        finally:
            self.lost = True

    async def stop(self) -> None:
        """Let ``serve`` end."""
        self._stop.set()

    async def call(
        self, tool: str, arguments: Mapping[str, object], number: str, told: Callable[[str], None]
    ) -> CallToolResult:
        """Call a tool; raise ``StepProblem`` (an unknown name), ``ServerError`` or ``ConnectionLostError``."""
        if self._client is None:
            raise ConnectionLostError(f"{self.name} is not connected", sent=False)
        if tool not in self._tools:
            raise self._unknown(tool)

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told(message or (f"{progress:g}" if total is None else f"{progress:g} of {total:g}"))

        meta = cast("RequestParamsMeta", {CALL: number})
        try:
            return await self._client.call_tool(tool, dict(arguments), progress_callback=tell, meta=meta)
        except (MCPError, ValidationError, httpx2.HTTPError, anyio.ClosedResourceError, RuntimeError) as error:
            raise self._why(error, sent=self.link.has_sent(number)) from None

    def _why(self, error: BaseException, *, sent: bool) -> Exception:
        """Return an error of the SDK's as what it means for the call."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if self.link.fault is not None:
            return StepProblem(ErrorKind.PROTOCOL, f"{self.name} {self.link.fault}", detail=self._detail())
        if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
            return ServerError(f"{error.message} (code {error.code})")
        if isinstance(
            error, MCPError | httpx2.HTTPError | OSError | anyio.ClosedResourceError | anyio.BrokenResourceError
        ):
            self.lost = True
            return ConnectionLostError(self._ending(error), sent=sent)
        if isinstance(error, ValidationError | RuntimeError):
            why = first_line(str(error), _SAID)
            return StepProblem(ErrorKind.PROTOCOL, f"{self.name} gave no valid result: {why}", detail=self._detail())
        self.lost = True
        return ConnectionLostError(f"{type(error).__name__}: {error}", sent=sent)

    def _ending(self, error: BaseException) -> str:
        """Return how the server went away."""
        if not isinstance(self.link, ChildLink):
            return f"the connection to {self.name} was lost: {first_line(str(error), _SAID) or type(error).__name__}"
        child = self.link.child
        code = child.wait(1.0)
        how = "closed its output" if code is None else f"ended with exit code {code}"
        last = last_line(child.stderr)
        return f"{self.name} {how}" + (f"; last line on stderr: {last}" if last else "")

    def _detail(self) -> dict[str, object]:
        return {"stderr": self.link.child.stderr} if isinstance(self.link, ChildLink) else {}

    def _unknown(self, tool: str) -> StepProblem:
        near = get_close_matches(tool, self._tools, n=3)
        listed = near or list(self._tools[:_SHOWN])
        more = ", ..." if not near and len(self._tools) > _SHOWN else ""
        hint = f"{'the nearest are' if near else 'it has'} {', '.join(listed)}{more}" if listed else "it has none"
        message = f"{self.name} has no tool {tool!r}; {hint}"
        return StepProblem(ErrorKind.ACTION_UNKNOWN, message, acted=False, retryable=False)


async def _tools(client: Client) -> tuple[str, ...]:
    """Return the names of all tools of a server."""
    names: list[str] = []
    cursor = None
    for _ in range(_PAGES):
        try:
            page = await client.list_tools(cursor=cursor)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                break
            raise
        for tool in page.tools:
            names.append(tool.name)
            if tool.output_schema is not None and not _is_cheap(tool.output_schema):
                tool.output_schema.clear()  # the client checks results by this very map, and an empty one takes all
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(names)


def _is_cheap(schema: object) -> bool:
    """Return whether a result is checked by a schema in a time that both their sizes bound."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if not _COSTLY.isdisjoint(one):
                return False
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return True


__all__ = ["Connection", "ConnectionLostError", "ServerError"]
