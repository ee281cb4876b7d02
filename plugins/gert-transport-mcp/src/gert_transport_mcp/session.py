"""The session of the transport ``mcp``: connect to a tool's server, call its tools, connect again when it is lost."""

from __future__ import annotations

import itertools
import threading
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, Final

from anyio.from_thread import BlockingPortal, start_blocking_portal

from gert_core.api import ErrorKind, Reply, StepProblem
from gert_core.kit.processes import start
from gert_transport_mcp.connection import Connection, ConnectionLostError, ServerError
from gert_transport_mcp.replies import reply_of
from gert_transport_mcp.settings import address_of, command_of, headers_of, settings_of, tool_name
from gert_transport_mcp.streams import ChildLink, HttpLink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from gert_core.api import Action, Deadline, Services, Target

    # What a server is started with: its command line and the action's own environment; the address of one that runs.
    Key = tuple[tuple[str, ...], frozenset[tuple[str, str]]]

_CLOSING: Final = 5.0
"""Seconds that a connection has to be closed in."""


class McpSession:
    """The servers of one tool: one, unless its actions start it with different arguments."""

    def __init__(self, target: Target, services: Services) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._connections: dict[Key, Connection] = {}
        self._outputs: list[Callable[[str, bytes], None]] = []
        """Who watches the calls under way, the latest last."""
        self._numbers = itertools.count(1)
        self._loop: AbstractContextManager[BlockingPortal] | None = None
        self._portal: BlockingPortal | None = None

    def call(self, action: Action, inputs: Mapping[str, object], deadline: Deadline) -> Reply:
        """Call the action's tool with the inputs as arguments; an error that the tool reports is its own failure."""
        tool = tool_name(action)
        address = address_of(self._target)
        started = () if address is not None else command_of(self._target, action)
        shown = (address, tool) if address is not None else (*started, tool)
        if action.output is not None:
            self._outputs.append(action.output)
        try:
            return self._attempts(action, tool, inputs, deadline, (started, frozenset(action.env.items())), shown)
        except StepProblem as problem:
            problem.detail.setdefault("command", list(shown))
            raise
        finally:
            if action.output is not None:
                self._outputs.remove(action.output)

    def close(self) -> None:
        """End the connections and the thread; no process is left."""
        with self._lock:
            connections, self._connections = list(self._connections.values()), {}
            loop, portal = self._loop, self._portal
            self._loop = self._portal = None
        if loop is None or portal is None:
            return
        for connection in connections:
            self._end(portal, connection)
        with suppress(RuntimeError):  # the loop has ended
            portal.call(portal.stop, True)  # nothing may keep the thread, whatever a server does
        loop.__exit__(None, None, None)

    def _attempts(
        self,
        action: Action,
        tool: str,
        inputs: Mapping[str, object],
        deadline: Deadline,
        key: Key,
        shown: tuple[str, ...],
    ) -> Reply:
        """Call; a call whose connection was lost is made once more if it was not sent or may be repeated."""

        def attempt() -> Reply:
            return self._attempt(action, tool, inputs, deadline, key, shown)

        try:
            return attempt()
        except ConnectionLostError as lost:
            if lost.sent and not action.repeatable:
                raise _problem(lost, tool, action) from None
            sent = lost.sent
        try:
            return attempt()
        except ConnectionLostError as lost:
            raise _problem(lost, tool, action) from None
        except StepProblem as problem:
            problem.acted = problem.acted or sent
            raise

    def _attempt(
        self,
        action: Action,
        tool: str,
        inputs: Mapping[str, object],
        deadline: Deadline,
        key: Key,
        shown: tuple[str, ...],
    ) -> Reply:
        """Call once; raise ``ConnectionLostError`` with the connection given up, unless the work must stop anyway."""
        connection = self._connection(key, action, deadline)
        try:
            return self._once(connection, action, tool, inputs, deadline, shown)
        except ServerError as error:
            message = f"{self._target.tool} {tool}: {error}"
            return Reply(failed=True, message=message, stderr=str(error), command=shown, in_time=True)
        except ConnectionLostError:
            self._forget(key, connection)
            if deadline.stopped:
                raise self._stopped(tool, deadline) from None
            raise

    def _once(
        self,
        connection: Connection,
        action: Action,
        tool: str,
        inputs: Mapping[str, object],
        deadline: Deadline,
        shown: tuple[str, ...],
    ) -> Reply:
        if not self._wait(connection.ready, deadline):
            self._abandon(connection)
            raise self._stopped(tool, deadline)
        connection.ready.result()
        output = action.output

        def tell(text: str) -> None:
            if output is not None:
                output("progress", f"{text}\n".encode())

        portal = self._portal
        if portal is None:
            raise ConnectionLostError(f"{connection.name} was ended", sent=False)
        if isinstance(connection.link, ChildLink):
            connection.link.deadline = deadline
        call = portal.start_task_soon(connection.call, tool, inputs, str(next(self._numbers)), tell)
        if not self._wait(call, deadline):
            call.cancel()
            self._abandon(connection)
            raise self._stopped(tool, deadline)
        return reply_of(call.result(), action, shown)

    def _connection(self, key: Key, action: Action, deadline: Deadline) -> Connection:
        """Return the connection, a new one where there is none that can be used."""
        if deadline.stopped:
            raise self._stopped("", deadline)
        with self._lock:
            found = self._connections.get(key)
            if found is not None and not found.lost and not found.link.ended:
                return found
            if found is not None:
                self._abandon(found)
            found = self._connections[key] = self._open(key, action, deadline)
            return found

    def _open(self, key: Key, action: Action, deadline: Deadline) -> Connection:
        settings, address = settings_of(self._target), address_of(self._target)
        link: ChildLink | HttpLink
        if address is not None:
            link = HttpLink(address, headers_of(self._target, settings))
        else:
            if action.confirm is not None:
                action.confirm()
            environ = {**self._target.environ, **dict(key[1])}
            child = start(key[0], environ=environ, cwd=self._target.cwd, on_stderr=self._show)
            link = ChildLink(child, deadline, stray=lambda data: self._show(data, "stdout"))
        connection = Connection(link, protocol=settings.protocol, name=address or repr(key[0][0]))
        if self._portal is None:
            self._loop = start_blocking_portal()
            self._portal = self._loop.__enter__()
        connection.served = self._portal.start_task_soon(connection.serve)
        return connection

    def _show(self, data: bytes, stream: str = "stderr") -> None:
        """Hand on what the program writes, which does not tell for which of several calls it is."""
        for output in self._outputs[-1:]:
            output(stream, data)

    def _wait(self, future: Future[Any], deadline: Deadline) -> bool:
        """Wait until a future is done or the work must stop; return whether it is done."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        withdraw = deadline.on_stop(done.set)
        try:
            done.wait(deadline.remaining())
        finally:
            withdraw()
        return future.done()

    def _stopped(self, tool: str, deadline: Deadline) -> StepProblem:
        name = f"{self._target.tool} {tool}".strip()
        if deadline.cancelled:
            return StepProblem(ErrorKind.CANCELLED, f"{name} was ended: the run was cancelled")
        return StepProblem(ErrorKind.TIMEOUT, f"{name} did not answer in time and was ended")

    def _abandon(self, connection: Connection) -> None:
        """End a server whose answer is not waited for any more."""
        connection.lost = True
        if isinstance(connection.link, ChildLink):
            connection.link.grace = 0
            connection.link.child.close(0)
        if connection.served is not None:
            connection.served.cancel()

    def _end(self, portal: BlockingPortal, connection: Connection) -> None:
        served = connection.served
        if served is None or served.done():
            return
        with suppress(RuntimeError):  # the loop has ended
            portal.start_task_soon(connection.stop)
        with suppress(TimeoutError, Exception):
            served.result(_CLOSING)
        if not served.done():
            self._abandon(connection)

    def _forget(self, key: Key, connection: Connection) -> None:
        with self._lock:
            if self._connections.get(key) is connection:
                del self._connections[key]
        self._abandon(connection)


def _problem(lost: ConnectionLostError, tool: str, action: Action) -> StepProblem:
    """Return the error of a step whose server was lost."""
    if lost.sent and not action.repeatable:
        message = f"{lost}; whether {tool!r} took effect is unknown, and it may not be repeated (`idempotent`)"
        return StepProblem(ErrorKind.UNKNOWN_OUTCOME, message)
    return StepProblem(ErrorKind.CRASHED, str(lost), acted=lost.sent)


__all__ = ["McpSession"]
