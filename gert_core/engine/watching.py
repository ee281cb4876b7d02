"""Watch for requests to stop or block the run that this process executes: one thread, which looks once a second."""

from __future__ import annotations

import _thread
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api.errors import RunError

if TYPE_CHECKING:
    from contextlib import ExitStack

    from gert_core.api import Lease, StoredRun
    from gert_core.engine.cancel import Stop
    from gert_core.engine.requested import Requested
    from gert_core.runs.control import CancelRequest
    from gert_core.trace.writer import TraceWriter

LOOK: Final = 1.0
"""The seconds between two looks; a run that is shorter is never looked at."""


def watch_requests(
    run: StoredRun | None,
    lease: Lease | None,
    writer: TraceWriter,
    stop: Stop,
    requested: Requested,
    stack: ExitStack,
    *,
    resumed: bool,
) -> None:
    """Throw ``stop``, or block the run, when somebody asks for it, until ``stack`` closes.

    A run that is not kept cannot be asked. One that is ``resumed`` may have been asked to block while its process
    before was being killed.
    """
    if run is not None and lease is not None:
        with suppress(RuntimeError, MemoryError):  # without a thread it is stopped by a signal only
            stack.callback(_Watcher(run, lease, writer, stop, requested, look=resumed).close)


class _Watcher:
    """The thread that looks at the requests of one run.

    It is started without waiting for it, which takes longer than a short run may take, and is not joined: who closes
    it waits for a look that is under way.
    """

    __slots__ = ("_lease", "_looked", "_looking", "_over", "_requested", "_run", "_stop", "_writer")

    def __init__(
        self, run: StoredRun, lease: Lease, writer: TraceWriter, stop: Stop, requested: Requested, *, look: bool
    ) -> None:
        self._run = run
        self._lease = lease
        self._writer = writer
        self._stop = stop
        self._requested = requested
        self._looked = look
        self._looking = threading.Lock()
        self._over = threading.Lock()
        self._over.acquire()
        if look:
            self._look(obey=True)
        _thread.start_new_thread(self._watch, ())

    def close(self) -> None:
        """End the thread; a request that came too late is not left for the next process.

        One to block the run is left to it unless this process has written how the run ended. A process that has lost
        its lease leaves every request to the one that has it now.
        """
        self._over.release()
        with self._looking:
            if self._looked:
                self._look(obey=False)

    def _watch(self) -> None:
        while not self._over.acquire(timeout=LOOK):
            with self._looking:
                self._looked = True
                if self._look(obey=True):
                    return

    def _look(self, *, obey: bool) -> bool:
        """Take the request that is there; return whether the run was stopped for it."""
        from gert_core.runs.control import CANCEL, read_request

        with suppress(RunError, OSError):  # what cannot be read now may be read a second later
            if self._run.info(CANCEL) is None:
                return False
            if not self._holds():  # whatever is asked for, another process is meant, or the next one
                return False
            request = read_request(self._run)
            if request is not None and request.block is not None and (obey or not self._writer.ended):
                if obey:
                    self._block(request)
                return False
            taken = obey and request is not None and request.is_for(self._lease)
            if taken:
                self._stop.throw(str(request))
            self._run.delete(CANCEL)
            return taken
        return False

    def _holds(self) -> bool:
        """Return whether the run is still this process's."""
        holder = self._run.holder()
        return holder is not None and (holder.worker_id, holder.fence) == (self._lease.worker_id, self._lease.fence)

    def _block(self, request: CancelRequest) -> None:
        """Let no step begin any more; the request is deleted when the run is suspended, so that no crash loses it."""
        from gert_core.runs.control import put_request

        if self._requested.take(request) and not request.taken:
            put_request(self._run, replace(request, taken=True), new=False)


__all__ = ["LOOK", "watch_requests"]
