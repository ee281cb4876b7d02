"""Resume runs here once they were answered: one at a time, and what cannot be resumed is said on its page."""

from __future__ import annotations

import logging
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, GertError, RunStatus
from gert_core.hosting import RunFinished

if TYPE_CHECKING:
    from gert_core.hosting import Host

_LATER: Final = (ErrorKind.HOST_BUSY, ErrorKind.RUN_LOCKED)
"""What is tried again: too many runs are at work here, or another process executes the run."""
log = logging.getLogger("gert_web")


class Resuming:
    """Resumes runs in a thread of its own; without ``--resume`` it does nothing."""

    def __init__(self, host: Host, *, wanted: bool) -> None:
        self._host = host
        self._wanted = wanted
        self._asked: SimpleQueue[str | None] = SimpleQueue()
        self._problems: dict[str, str] = {}
        self._later: set[str] = set()
        """Runs that another process executed, or for which too many were at work here."""
        self._thread = threading.Thread(target=self._work, name="gert-web-resume", daemon=True)
        if wanted:
            self._thread.start()

    def soon(self, run_id: str) -> None:
        """Resume a run as soon as it has what it waits for."""
        if self._wanted:
            self._problems.pop(run_id, None)
            self._asked.put(run_id)

    def answered(self) -> None:
        """Resume the runs that were answered in another way, by a callback or in a shell; called now and then."""
        if not self._wanted:
            return
        found = {view.request.run_id for view in self._host.tickets(status="answered")}
        found |= {row.run_id for row in self._host.rows() if row.status == RunStatus.ANSWER_PENDING}
        for run_id in sorted(found | self._later):
            if run_id not in self._problems:
                self._asked.put(run_id)

    def problem_of(self, run_id: str) -> str:
        """Return why a run could not be resumed; empty when it could, or was not tried."""
        return self._problems.get(run_id, "")

    def close(self) -> None:
        """Resume nothing any more."""
        if self._wanted:
            self._asked.put(None)
            self._thread.join(5.0)

    def _work(self) -> None:
        while (run_id := self._asked.get()) is not None:
            try:
                self._resume(run_id)
            except RunFinished:
                continue
            except GertError as error:
                if error.kind in _LATER:
                    self._later.add(run_id)
                else:
                    self._problems[run_id] = error.message
                    log.error("run %s is not resumed: %s", run_id, error.message)

    def _resume(self, run_id: str) -> None:
        """Resume a run that waits for nothing any more; it is suspended again where it waits for people."""
        self._later.discard(run_id)
        view = self._host.run(run_id)
        if view.state is None or view.info.live or not view.state.resumable or self._waits(run_id):
            return
        self._host.resume(run_id, approval=self._host.suspending_approval, questions="suspend")

    def _waits(self, run_id: str) -> bool:
        """Return whether a ticket of a run has no decision, or a question of it no answer."""
        if any(view.request.run_id == run_id for view in self._host.tickets(status="pending")):
            return True
        return bool(self._host.questions(run_id))


__all__ = ["Resuming"]
