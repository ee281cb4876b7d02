"""Runs of agents: started once per key, watched for 25 seconds at most, cancelled when the client cancels its call."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from gert_core.api import GertError, RunError, UsageError
from gert_core.hosting import RunFinished
from gert_mcp.progress import CallProgress
from gert_mcp.wording import opaque_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mcp.server.context import ServerRequestContext

    from gert_core.hosting import Host, HostedRun, Notice
    from gert_mcp.callers import Caller

    CallKey = tuple[str | None, str]
    Context = ServerRequestContext[Any, Any]

WAIT: Final = 25.0
"""Seconds after which a call returns although its run goes on: many clients give up after 30 or 60."""
_DAY: Final = 24 * 3600.0
_REAL: Final = "real"
_LOOK: Final = 0.05


class Runs:
    """The runs of one server."""

    def __init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(100)
        self._calls: dict[CallKey, HostedRun] = {}
        self._live: dict[str, HostedRun] = {}

    async def work(self, fn: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a function that waits, in a thread."""
        return await to_thread.run_sync(partial(fn, *args, **named), limiter=self.limiter, abandon_on_cancel=True)

    async def begin(
        self,
        host: Host,
        path: Path,
        caller: Caller,
        *,
        inputs: Mapping[str, Any],
        mode: str,
        key: str | None,
        hide: bool,
    ) -> HostedRun | str:
        """Start a run; return its id instead if a call with the same key started it before.

        With ``hide`` it is not said why a run cannot be started, where that is about what the runbook does.
        """

        def start() -> HostedRun:
            try:
                hosted = host.start(
                    path,
                    inputs=inputs,
                    mode=mode,
                    approval=host.suspending_approval,
                    questions="suspend",
                    actor=caller.actor,
                    actor_kind="agent",
                )
            except GertError as error:
                raise (opaque_error(error, doing="run here") if hide else error) from None
            return self._kept(host, hosted, notify=mode == _REAL)

        if key is None:
            return await self.work(start)
        name = _key(caller, key)
        asked = hashlib.sha256(json.dumps([str(path), mode, inputs], sort_keys=True, default=str).encode()).hexdigest()
        return await self.work(self._once, host, name, asked, start)

    async def resume(self, host: Host, run_id: str, caller: Caller, *, hide: bool) -> HostedRun | dict[str, Any]:
        """Resume a run; return its result instead if there is nothing left to do."""

        def resume() -> HostedRun | dict[str, Any]:
            try:
                found = host.resume(
                    run_id,
                    approval=host.suspending_approval,
                    questions="suspend",
                    actor=caller.actor,
                    actor_kind="agent",
                )
            except RunFinished:
                return host.run(run_id).to_json()
            except GertError as error:
                raise (opaque_error(error, doing="resumed here") if hide else error) from None
            return self._kept(host, found, notify=True)

        return await self.work(resume)

    async def watch(
        self, ctx: Context, hosted: HostedRun, *, hide: bool, seconds: float = WAIT, runs: bool = True
    ) -> dict[str, Any]:
        """Return how a run ended or what it waits for; after some seconds that it is running.

        What happens meanwhile is told as progress, unless ``hide`` says that nothing of it is shown. With ``runs`` the
        call is what the run is executed for: when the client cancels it, the run is cancelled.
        """
        call = call_of(ctx) if runs else None
        if call is not None:
            self._calls[call] = hosted
        send, receive = anyio.create_memory_object_stream[Any](float("inf"))
        loop = _loop()

        def told(notice: Notice) -> None:
            loop(send.send_nowait, notice)

        leave = hosted.subscribe(told)
        progress = CallProgress(ctx.session.report_progress)
        end: Mapping[str, Any] | None = None
        try:
            with anyio.move_on_after(seconds):
                async for notice in receive:
                    if notice.kind == "end":
                        end = notice.data
                        break
                    if not hide:
                        await progress.tell(notice)
        finally:
            leave()
            send.close()
            receive.close()
        if call is not None:
            self._calls.pop(call, None)
        return running(hosted) if end is None else ended(end, hide=hide)

    def cancelled(self, call: CallKey) -> None:
        """Cancel the run of a call that the client cancelled."""
        hosted = self._calls.pop(call, None)
        if hosted is not None and not hosted.done:
            hosted.cancel("the client cancelled the call")

    def cancel_all(self, reason: str) -> None:
        """Cancel what is executed here; what only waits for people stays as it is."""
        for hosted in list(self._live.values()):
            if not hosted.waits:
                hosted.cancel(reason)

    def live(self, run_id: str) -> HostedRun | None:
        """Return a run that is executed here."""
        found = self._live.get(run_id)
        return None if found is None or found.done else found

    def _kept(self, host: Host, hosted: HostedRun, *, notify: bool) -> HostedRun:
        """Remember a run while it is executed; tell people what it owes them when it has stopped."""
        self._live[hosted.run_id] = hosted

        def over(notice: Notice) -> None:
            if notice.kind != "end":
                return
            self._live.pop(hosted.run_id, None)
            for call in [call for call, run in list(self._calls.items()) if run is hosted]:
                self._calls.pop(call, None)
            if notify:
                threading.Thread(target=_notify, args=(host, hosted.run_id), daemon=True).start()

        hosted.subscribe(over)
        return hosted

    def _once(self, host: Host, name: str, asked: str, start: Callable[[], HostedRun]) -> HostedRun | str:
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            with host.exclusive(name) as mine:
                if mine:
                    return self._start_once(host, name, asked, start)
            time.sleep(_LOOK)
        raise UsageError("another call with this request_key is being started", hint="call again in a minute")

    def _start_once(self, host: Host, name: str, asked: str, start: Callable[[], HostedRun]) -> HostedRun | str:
        known = _known_call(host.remembered(name))
        if known is not None and time.time() - known["at"] < _DAY:
            if known.get("asked") != asked:
                message = "this request_key was used for another call within 24 hours"
                raise UsageError(message, hint="use a new key for a new run")
            return known["run_id"]
        hosted = start()
        host.remember(name, {"run_id": hosted.run_id, "at": time.time(), "asked": asked})
        return hosted


def _known_call(found: object) -> dict[str, Any] | None:
    """Return what was remembered of a call; None for a document that no call has left, which is as good as none."""
    if not isinstance(found, dict) or not isinstance(found.get("run_id"), str):
        return None
    at = found.get("at")
    return found if isinstance(at, int | float) and not isinstance(at, bool) else None


def ended(end: Mapping[str, Any], *, hide: bool) -> dict[str, Any]:
    """Return the result of a run that has stopped; raise why there is none."""
    if "error" in end:
        told = end["error"]
        error = RunError(str(told.get("message")), kind=told.get("kind"), file=told.get("file"), hint=told.get("hint"))
        raise opaque_error(error, doing="executed to its end") if hide else error
    return dict(end["result"])


def running(hosted: HostedRun) -> dict[str, Any]:
    """Return what is said about a run that goes on."""
    told = "it goes on; ask gert_run with wait, or gert_cancel"
    return {"status": "running", "run_id": hosted.run_id, "message": told}


def call_of(ctx: Context, request_id: object = None) -> CallKey | None:
    """Return what identifies a call among all that are open: its session, and its number there."""
    number = ctx.request_id if request_id is None else request_id
    session = None if ctx.request is None else ctx.request.headers.get("mcp-session-id")
    return None if number is None else (session, str(number))


def _loop() -> Callable[..., None]:
    """Return what calls a function in the loop, from any thread; nothing is called when the loop has ended."""
    import asyncio

    loop = asyncio.get_running_loop()

    def call(fn: Callable[..., object], *args: object) -> None:
        def now() -> None:
            try:
                fn(*args)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return  # the call has returned

        if not loop.is_closed():
            loop.call_soon_threadsafe(now)

    return call


def _notify(host: Host, run_id: str) -> None:
    """Deliver what a run owes people; what fails is tried again by ``gert notify flush``."""
    try:
        host.notify(run_id, tries=3)
    except (GertError, OSError):
        return


def _key(caller: Caller, key: str) -> str:
    return hashlib.sha256(json.dumps(["mcp", caller.principal, key]).encode()).hexdigest()


__all__ = ["WAIT", "Runs", "call_of", "ended", "running"]
