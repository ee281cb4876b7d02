"""Call methods of one child process: numbered requests, and one thread that dispatches the answers."""

from __future__ import annotations

import itertools
import threading
from contextlib import closing, suppress
from time import monotonic
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, StepProblem
from gert_core.kit.excerpts import last_line
from gert_core.kit.processes import Child, stopped_with_run  # Child here, so that no branch has to import it
from gert_jsonrpc.errors import PeerError, PeerFault, RpcError
from gert_jsonrpc.frames import InvalidMessageError, parse, request

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import Deadline

_OVERSLEPT: Final = 0.5
"""Seconds by which a wait that ends too late shows that the process was stopped."""
LINE_LIMIT: Final = 10 * 1024 * 1024
"""The most bytes of one message from the peer."""


class _Call:
    __slots__ = ("done", "error", "method", "result")

    def __init__(self, method: str) -> None:
        self.method = method
        self.done = threading.Event()
        self.result: object = None
        self.error: RpcError | PeerError | None = None


class Client:
    """A JSON-RPC client of a started child process; several threads may call at once.

    A peer that violates the protocol, ends, or does not answer in time is ended with all its open calls: the meaning
    of its next line would be unknown, and an abandoned request must not continue unnoticed. Raises ``StepProblem``
    (``spawn``), with the process ended, when no thread can be started.
    """

    def __init__(self, child: Child, *, limit: int = LINE_LIMIT) -> None:
        self._child = child
        self._limit = limit
        self._lock = threading.Lock()
        self._calls: dict[int, _Call] = {}
        self._numbers = itertools.count(1)
        self._failure: PeerError | None = None
        self._exit_code: int | None = None
        self._reader = threading.Thread(target=self._read, name=f"jsonrpc {child.program}", daemon=True)
        try:
            self._reader.start()
        except (RuntimeError, MemoryError):
            child.close(0)
            raise StepProblem(
                ErrorKind.SPAWN,
                f"{child.program!r} was ended: no thread can be started to read its answers; "
                "raise the limit of processes or of memory",
            ) from None

    @property
    def failure(self) -> PeerError | None:
        """Why this peer cannot be used any more; None while it can."""
        return self._failure

    def call(self, method: str, params: object, deadline: Deadline) -> object:
        """Return the result of one request; raise ``RpcError`` for an error answer, ``PeerError`` for a lost peer."""
        if deadline.stopped:
            fault = PeerFault.CANCELLED if deadline.cancelled else PeerFault.TIMEOUT
            raise PeerError(fault, f"{method!r} was not sent to {self._child.program!r}: the deadline has passed")
        call = _Call(method)
        number = next(self._numbers)
        try:
            line = request(number, method, params)
        except ValueError as error:
            raise RpcError(-32602, f"the parameters of {method!r} cannot be sent as JSON: {error}") from None
        with self._lock:
            if self._failure is not None:
                raise self._failure
            self._calls[number] = call
        withdraw = deadline.on_stop(call.done.set)
        try:
            self._wait(call, deadline.remaining() if self._send(line, deadline) else 1.0)
        finally:
            withdraw()
            with self._lock:
                answered = self._calls.pop(number, None) is None
        if not answered:
            self._give_up(call, deadline)
        if self._exit_code is not None and call.error is not None and stopped_with_run(self._exit_code, deadline):
            raise self._problem(
                PeerFault.CANCELLED, f"{self._child.program!r} was stopped during {method!r} together with the run"
            )
        if call.error is not None:
            raise call.error
        return call.result

    def close(self, grace: float = 1.0, *, farewell: str | None = None) -> None:
        """End the peer: its input is closed, then TERM, then KILL, with ``grace`` seconds before TERM.

        ``farewell`` is a method called first, with no parameters. Other calls under way fail.
        """
        if self._failure is not None:
            grace = 0  # it is being ended already
        elif farewell is not None:
            self._send_farewell(farewell, grace)
        self._fail(PeerError(PeerFault.CLOSED, f"{self._child.program!r} was ended"))
        self._child.close(grace)
        if threading.current_thread() is not self._reader:
            self._reader.join(2.0)

    def _send_farewell(self, method: str, grace: float) -> None:
        call, number = _Call(method), next(self._numbers)
        with self._lock:
            if self._failure is not None:
                return
            self._calls[number] = call
        with suppress(OSError):  # it is busy or has ended already, and will be ended anyway
            self._child.write(request(number, method, {}), None)
            call.done.wait(grace)

    def _send(self, line: bytes, deadline: Deadline) -> bool:
        try:
            self._child.write(line, deadline)
        except BrokenPipeError:
            return False  # the reader is about to find the reason
        except TimeoutError:
            pass  # the same as no answer
        return True

    def _wait(self, call: _Call, seconds: float | None) -> None:
        """Wait for the answer; if this process was stopped meanwhile, the answer may be there and not yet read."""
        began = monotonic()
        if not call.done.wait(seconds) and seconds is not None and monotonic() - began > seconds + _OVERSLEPT:
            call.done.wait(_OVERSLEPT)

    def _give_up(self, call: _Call, deadline: Deadline) -> None:
        name = self._child.program
        if deadline.cancelled:
            fault, why = PeerFault.CANCELLED, f"{name!r} was ended during {call.method!r}: the run was cancelled"
        elif deadline.stopped:
            fault, why = PeerFault.TIMEOUT, f"{name!r} did not answer {call.method!r} in time and was ended"
        else:
            fault, why = PeerFault.CRASHED, f"{name!r} no longer reads its input; {call.method!r} was not sent"
        self._fail(self._problem(fault, why))
        self._child.close(0)
        call.error = self._problem(fault, why)

    def _read(self) -> None:
        name = self._child.program
        try:
            with closing(self._child.lines(self._limit)) as lines:
                for line in lines:
                    self._dispatch(line)
        except OverflowError:
            self._fail_protocol(f"{name!r} wrote a line of more than {self._limit} bytes")
        except InvalidMessageError as error:
            self._fail_protocol(f"{name!r} wrote {error}")
        else:
            code = self._exit_code = self._child.wait(1.0)
            how = "closed its output" if code is None else f"ended with exit code {code}"
            self._fail(lambda call: self._problem(PeerFault.CRASHED, f"{name!r} {how} before it answered {call}"))
            self._child.close(0)

    def _dispatch(self, line: bytes) -> None:
        answer = parse(line)
        if answer is None:
            return
        with self._lock:  # a caller that finds the call gone must find the answer in it
            call = self._calls.pop(answer.id, None)
            if call is not None:
                call.result, call.error = answer.result, answer.error
                call.done.set()
        if call is None:
            raise InvalidMessageError(f"an answer with id {answer.id}, which is not the id of an open request")

    def _fail_protocol(self, why: str) -> None:
        self._fail(self._problem(PeerFault.PROTOCOL, why))
        self._child.close(0)

    def _fail(self, problem: PeerError | Callable[[str], PeerError]) -> None:
        """Store the first reason and fail every open call with it."""
        with self._lock:
            calls, self._calls = list(self._calls.values()), {}
            if self._failure is None:
                self._failure = problem if isinstance(problem, PeerError) else problem("the next request")
            for call in calls:
                call.error = self._failure if isinstance(problem, PeerError) else problem(repr(call.method))
                call.done.set()

    def _problem(self, fault: PeerFault, why: str) -> PeerError:
        stderr = self._child.stderr
        last = last_line(stderr)
        return PeerError(fault, f"{why}; last line on stderr: {last}" if last else why, stderr=stderr)


__all__ = ["Client"]
