"""One run in a host: a thread that executes it, its notices, and what may be done with it from any thread."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, GertError
from gert_core.engine.again import RunAgain
from gert_core.engine.cancel import Stop
from gert_core.engine.resume.plan import RunFinished
from gert_core.hosting.console import HostConsole
from gert_core.hosting.listener import HostProgress
from gert_core.hosting.notices import END, Notices
from gert_core.hosting.pulse import Pulse
from gert_core.kit.log import fault as log_fault
from gert_core.plugin.loader import saying
from gert_core.runs.result import RunResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api import ApprovalRequest
    from gert_core.api.events import TraceEvent
    from gert_core.api.hosting import Notice
    from gert_core.engine.run import Run
    from gert_core.hosting.views import RunView

    Prepare = Callable[["HostedRun", ExitStack, RunAgain | None], Run]

GRACE: Final = 12.0
"""Seconds after cancel in which a run ends by itself: children get 5 to end before they are killed."""
_ABANDONING: Final = 5.0
"""Seconds in which the end of a run that is abandoned is written."""


class HostedRun:
    """A run that a ``Host`` executes; every method may be called from any thread, also from a subscriber."""

    def __init__(
        self,
        *,
        actor: str,
        asks: bool,
        view: Callable[[str], RunView],
        document: Callable[[RunResult], dict[str, Any]],
        allowed: Callable[[str, str], str],
        events: Callable[[str, int], Iterator[TraceEvent]],
        since_last: Callable[[ApprovalRequest], Mapping[str, Any] | None],
        over: Callable[[HostedRun], None],
        record: Callable[[Run], Mapping[str, object] | None],
    ) -> None:
        self.run_id = ""
        """The id of the run; set when ``Host.start`` returns."""
        self._view = view
        self._document = document
        self._over = over
        self._record = record
        self._run: Run | None = None
        self._pulse = Pulse()
        self._notices = Notices(lambda: self.run_id, mask=self._mask, again=lambda after: events(self.run_id, after))
        self.progress = HostProgress(self._notices, self._pulse, named=self._name, since_last=since_last)
        self._ready = threading.Event()
        self.console = HostConsole(
            self.progress.tell,
            actor=actor,
            interactive=asks,
            allowed=lambda path: allowed(self.run_id, path),
            mask=self.progress.mask,
            asked=self._ready.set,  # an input is asked for before there is a run: who started it may answer
        )
        self.stop = Stop()
        self.leave = Stop()
        self.stop.on_throw(lambda: self.leave.throw("cancelled"))
        self._failure: BaseException | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._end: Mapping[str, Any] | None = None
        self._abandoned = False

    @property
    def view(self) -> RunView:
        """The run as it stands in its trace now."""
        return self._view(self.run_id)

    @property
    def done(self) -> bool:
        """Whether it has ended, or is suspended."""
        return self._ended.is_set()

    @property
    def waits(self) -> bool:
        """Whether it waits for people, and for nothing else."""
        asked = self.console.waiting
        return asked + self.progress.waiting > 0 and self.progress.leaves <= asked

    def notices(self, *, after: int = 0) -> Iterator[Notice]:
        """Yield every notice behind number ``after``, those to come included, up to ``end``."""
        return self._notices.iterate(after=after)

    def subscribe(self, fn: Callable[[Notice], object], *, after: int = 0) -> Callable[[], None]:
        """Call ``fn`` with every notice behind number ``after``, in order, in one thread; return what ends that.

        A function that raises is dropped, and a ``warning`` tells it. What a tool writes is told of calls that begin
        while somebody is told.
        """
        return self._notices.subscribe(fn, after=after)

    def answer(self, question_id: str, value: object, *, by: str | None = None) -> bool:
        """Answer a question; False when it is not open any more. ``UsageError`` for what is not an answer to it.

        ``value`` is a text, True or False for a confirmation, or the numbers of a checklist's items from 1.
        """
        return self.console.answer(question_id, value, by=by)

    def decline(self, question_id: str, reason: str, *, by: str | None = None) -> bool:
        """Decline a question for a reason; False when it is not open any more."""
        return self.console.decline(question_id, reason, by=by)

    def cancel(self, reason: str, *, leaves: float = 0.0) -> None:
        """Cancel the run; one that has not ended after 12 seconds is abandoned, and its programs are killed.

        With ``leaves`` the steps that are executed now may take that many seconds to finish first.
        """
        if leaves > 0:
            self._pulse.after(leaves, lambda: self.cancel(reason))
            self.progress.when_idle(lambda: self.cancel(reason))
            return
        self._pulse.after(GRACE, self.abandon)
        self.stop.throw(reason)

    def suspend(self) -> None:
        """Suspend the run where it waits for people, now or later; what else it does goes on until then."""
        self.leave.throw("suspended")

    def wait(self, timeout: float | None = None) -> Mapping[str, Any] | None:
        """Wait for the end, and return its data: the ``result``, or an ``error``; None when it has not ended."""
        self._ended.wait(timeout)
        return self._end

    # -- for the host --------------------------------------------------------------------------------------------

    def begin(self, prepare: Prepare) -> None:
        """Execute the run in a thread; return when it is prepared, or asks for an input; raise why it cannot run."""
        threading.Thread(target=self._work, args=(prepare,), name="gert-run", daemon=True).start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure

    def abandon(self) -> None:
        """End a run that does not end: kill its programs, and write its end although a step has not stopped."""
        run = self._run
        if self.done or run is None:
            return
        self._abandoned = True
        run.services.children.kill()
        with suppress(GertError):
            run.abandon()
        self._finish({"result": self._document(RunResult(state=run.services.journal.state, trace=run.facts.trace))})

    def _work(self, prepare: Prepare) -> None:
        needed: RunAgain | None = None
        while True:
            try:
                data = self._execute(prepare, needed)
            except RunAgain as again:  # a secret output is needed that only an earlier process knew
                needed = again
                self.progress.begin(None)
                continue
            except BaseException as error:
                data = self._error(error)
            break
        if self._abandoned:  # its programs were killed, and who did so tells the end; a step fails by that meanwhile
            self._ended.wait(_ABANDONING)
        self._finish(data)
        self.stop.close()
        self.leave.close()

    def _execute(self, prepare: Prepare, needed: RunAgain | None) -> Mapping[str, Any]:
        with ExitStack() as stack:
            run = prepare(self, stack, needed)
            self.progress.begin(run)
            self._run = run
            self._notices.kept.forgets = run.facts.stored is not None
            self._ready.set()
            result = run.execute()
        recorded = self._record(run)
        told = {} if recorded is None else {"record": recorded}
        return {"result": {**self._document(result), **told}}

    def _error(self, error: BaseException) -> Mapping[str, Any]:
        if not self._ready.is_set():
            self._failure = error
        if isinstance(error, RunFinished):
            return {"result": self._document(error.result)}
        if isinstance(error, GertError):
            return {"error": self.progress.mask(error.to_json())}
        log_fault("hosting", error, environ={}, mask=self._mask)
        message = self._mask(saying(error))
        return {"error": GertError(message, kind=ErrorKind.INTERNAL).to_json()}

    def _finish(self, data: Mapping[str, Any]) -> None:
        with self._lock:
            if self.done:
                return
            self._end = data
            self._pulse.close()
            self._notices.add(END, data)
            self._ended.set()
        self._ready.set()
        self._over(self)

    def _name(self, run_id: str) -> None:
        self.run_id = run_id

    def _mask(self, text: str) -> str:
        return str(self.progress.mask(text))


__all__ = ["GRACE", "HostedRun"]
