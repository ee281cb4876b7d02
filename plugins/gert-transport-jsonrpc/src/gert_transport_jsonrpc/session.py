"""The session of the transport ``jsonrpc``: keep a tool's process, call its methods, restart it when it ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gert_jsonrpc import Client, PeerError, PeerFault, RpcError

from gert_core.api import ErrorKind, Reply, StepProblem
from gert_core.kit.processes import start
from gert_core.kit.wire import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import Action, Deadline, Services, Target

    # What a process is started with: its command line and the action's own environment.
    Command = tuple[tuple[str, ...], frozenset[tuple[str, str]]]


class JsonRpcSession:
    """The processes of one tool: one, unless its actions start it with different arguments."""

    def __init__(self, target: Target, services: Services) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._clients: dict[Command, Client] = {}
        self._outputs: list[Callable[[str, bytes], None]] = []
        """Who watches the calls under way, the latest last."""

    def call(self, action: Action, inputs: Mapping[str, object], deadline: Deadline) -> Reply:
        """Call the action's method with the inputs as parameters; an error answer is the tool's own failure."""
        command = self._command(action)
        if action.method is None:
            raise StepProblem(
                ErrorKind.SPAWN,
                f"action {action.name!r} of tool {self._target.tool!r} has no method to call",
                retryable=False,
            )
        shown = (*command, action.method)
        key = (command, frozenset(action.env.items()))
        if action.output is not None:
            self._outputs.append(action.output)
        try:
            result = self._client(key, action).call(action.method, dict(inputs), deadline)
        except RpcError as error:
            message = f"{self._target.tool} {action.method}: {error.message} (code {error.code})"
            stderr = error.message if error.data is None else f"{error.message}\n{encode(error.data)}"
            return Reply(failed=True, message=message, stderr=stderr, command=shown, in_time=True)
        except PeerError as error:
            self._forget(key)
            problem = error.to_problem()
            problem.detail["command"] = list(shown)
            raise problem from None
        finally:
            if action.output is not None:
                self._outputs.remove(action.output)
        if isinstance(result, dict):
            return Reply(outputs=result, command=shown, in_time=True)
        if result is None:
            return Reply(outputs={}, command=shown, in_time=True)
        return Reply(stdout=result if isinstance(result, str) else encode(result), command=shown, in_time=True)

    def close(self) -> None:
        """End the processes: input closed, then TERM, then KILL."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            client.close()

    def _command(self, action: Action) -> tuple[str, ...]:
        binary = self._target.binary
        command = (binary, *action.argv[1:]) if binary else action.argv
        if not command:
            raise StepProblem(ErrorKind.SPAWN, f"tool {self._target.tool!r} has no program; set meta.binary")
        return command

    def _client(self, key: Command, action: Action) -> Client:
        command, env = key
        with self._lock:
            client = self._clients.get(key)
            failure = client.failure if client else None
            if failure is not None and failure.fault is PeerFault.PROTOCOL:
                raise failure  # not reported yet: it came after the last answer
            if client is None or failure is not None:
                if action.confirm is not None:
                    action.confirm()
                environ = {**self._target.environ, **dict(env)}
                client = Client(start(command, environ=environ, cwd=self._target.cwd, on_stderr=self._show))
                self._clients[key] = client
            return client

    def _show(self, data: bytes) -> None:
        """Hand on what the process writes to standard error, which does not tell for which of several calls it is."""
        for output in self._outputs[-1:]:
            output("stderr", data)

    def _forget(self, key: Command) -> None:
        with self._lock:
            client = self._clients.get(key)
            if client is not None and client.failure is not None:
                del self._clients[key]


__all__ = ["JsonRpcSession"]
