"""The two ways to a server, as the streams of messages that the SDK's client reads and writes."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import httpx2
from anyio import from_thread, to_thread
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from gert_core.kit.processes import OUTPUT_LIMIT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from gert_core.api import Deadline
    from gert_core.kit.processes import Child

    Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

CALL: Final = "gert/call"
"""Under this name a request says in its ``_meta`` which call of gert's it is."""
_GRACE: Final = 1.0
"""Seconds that a server has to end after its input was closed."""


class ChildLink:
    """A server that is a child process: its lines are messages, and it is known which calls were written to it."""

    def __init__(self, child: Child, deadline: Deadline, stray: Callable[[bytes], None]) -> None:
        self.child = child
        self.deadline = deadline
        """How long writing may take: that of the latest call."""
        self.fault: str | None = None
        """What it wrote that no client can read."""
        self.grace = _GRACE
        self.ended = False
        """Whether it closed its output."""
        self._stray = stray
        self._written: set[str] = set()

    def has_sent(self, call: str) -> bool:
        """Return whether the server may know of a call."""
        return call in self._written

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Streams, None]:
        """Give the streams; the process has ended when this is left."""
        received, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, to_send = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(to_thread.run_sync, self._read, received))
                tasks.start_soon(self._write, to_send, received)
                try:
                    yield read, write
                finally:
                    read.close()
                    write.close()
                    with anyio.CancelScope(shield=True):
                        await to_thread.run_sync(self.child.close, self.grace)
                    tasks.cancel_scope.cancel()
        finally:
            received.close()
            to_send.close()

    def _read(self, received: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand on every message, in a thread of its own; other lines are what the program prints."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, RuntimeError):  # the client has been closed
            try:
                for line in self.child.lines(OUTPUT_LIMIT):
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        self._stray(line + b"\n")
                        continue
                    from_thread.run(received.send, SessionMessage(message))
            except OverflowError:
                self.fault = f"wrote a message of more than {OUTPUT_LIMIT} bytes"
            self.ended = True
            from_thread.run(received.aclose)

    async def _write(
        self,
        to_send: MemoryObjectReceiveStream[SessionMessage],
        received: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        try:
            async for message in to_send:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                call = call_of(message)
                if call:
                    self._written.add(call)
                await to_thread.run_sync(self.child.write, data, self.deadline)
        except BrokenPipeError:
            if call:  # nothing that could be read as a message was taken
                self._written.discard(call)
            await received.aclose()
        except TimeoutError:
            await received.aclose()


class HttpLink:
    """A server at an address; whether a call has reached it is known only where no connection was made."""

    fault: str | None = None
    ended = False

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.url = url
        # Limits count the bytes that come in: a small answer must not unpack to a large one.
        self._headers = {**headers, "Accept-Encoding": "identity"}
        self._sent: set[str] = set()

    def has_sent(self, call: str) -> bool:
        """Return whether the server may know of a call."""
        return call in self._sent

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Streams, None]:
        """Give the streams."""
        transport = _BoundedTransport(self._sent)
        timeout = httpx2.Timeout(30.0, read=None)  # the deadline of the step ends a call
        async with (
            httpx2.AsyncClient(transport=transport, headers=self._headers, timeout=timeout) as client,
            streamable_http_client(self.url, http_client=client) as streams,
        ):
            yield streams  # type: ignore[misc]  # the SDK's protocols for the same streams


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    """Sends requests, notes which calls were sent, and ends answers that are too long."""

    def __init__(self, sent: set[str]) -> None:
        super().__init__()
        self._sent = sent

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = _call_in(request.content) if request.method == "POST" else None
        if call:
            self._sent.add(call)
        try:
            response = await super().handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if call:
                self._sent.discard(call)
            raise
        if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            await response.aclose()
            raise httpx2.ReadError("the answer is compressed, which was not asked for")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of an answer up to the limit of outputs."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > OUTPUT_LIMIT:
                raise httpx2.ReadError(f"the answer has more than {OUTPUT_LIMIT} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def call_of(message: SessionMessage) -> str | None:
    """Return which call of gert's a message is; None for every other one."""
    params = getattr(message.message, "params", None) or {}
    found = (params.get("_meta") or {}).get(CALL)
    return found if isinstance(found, str) else None


def _call_in(body: bytes) -> str | None:
    try:
        return call_of(SessionMessage(jsonrpc_message_adapter.validate_json(body, by_name=False)))
    except ValueError:
        return None


__all__ = ["CALL", "ChildLink", "HttpLink"]
