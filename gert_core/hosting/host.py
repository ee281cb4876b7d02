"""A host: runs of one project, started, resumed, followed, answered and decided from one program."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, UsageError
from gert_core.api.giving import Giving
from gert_core.documents.scenario import named_scenario
from gert_core.engine.answering import answer as store_answers
from gert_core.engine.answering import open_questions
from gert_core.engine.cancelling import cancel as cancel_run
from gert_core.engine.prepare import prepare
from gert_core.engine.request import DRIFT, Request, Resume
from gert_core.engine.resume.read import read_run
from gert_core.engine.run import default_actor
from gert_core.hosting.catalogue import Catalogue
from gert_core.hosting.deciding import Deciding
from gert_core.hosting.documents import Documents
from gert_core.hosting.hosted import GRACE, HostedRun
from gert_core.hosting.inbox import RECORDED, HostInbox
from gert_core.hosting.looking import Looking
from gert_core.hosting.people import HOST, HostPeople, actor_id, answer_open
from gert_core.hosting.recordings import HostRecording
from gert_core.hosting.site import Site
from gert_core.hosting.views import result_document
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.followers import Followers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from gert_core.api import RunStore
    from gert_core.engine.again import RunAgain
    from gert_core.engine.run import Run
    from gert_core.hosting.hosted import Prepare
    from gert_core.hosting.people import OnNotice
    from gert_core.hosting.views import RunView

LIMIT: Final = 8
"""How many runs may work at once in a host."""
_CLOSED: Final = "the host was closed"
_STOPPED: Final = 20.0
"""Seconds in which a run that is cancelled has ended: what hangs is left after 12."""
_AWAY: Final = 2.0
"""Seconds in which a run that only waits for people is suspended."""


class Host(Catalogue, Deciding, Documents, Looking):
    """Runs of one project, in this process.

    ``root`` is the project's directory, or any other: relative paths begin there, and programs are started there.
    ``environ`` is read once; ``actor`` is who runs are attributed to; ``allow`` and ``block`` name plugins as ``-p``
    does; ``limit`` is how many runs may work at once, those that only wait for people not counted. ``store`` is where
    runs are kept, or its address; None: as the environment or the project says.
    """

    def __init__(
        self,
        root: str | Path = ".",
        *,
        environ: Mapping[str, str] | None = None,
        actor: str | None = None,
        allow: Sequence[str] = (),
        block: Sequence[str] = (),
        limit: int = LIMIT,
        store: str | RunStore | None = None,
    ) -> None:
        super().__init__()
        self._site = Site(root, environ=environ, allow=allow, block=block, store=store)
        self.actor = actor or default_actor(self._site.environ)
        self._limit = limit
        self._inbox = HostInbox()
        self._followers = Followers()
        self._lock = threading.Lock()
        self._runs: dict[HostedRun, None] = {}
        self._closed = False
        self._suspended: set[HostedRun] = set()

    def start(
        self,
        runbook: str | Path,
        *,
        inputs: Mapping[str, object] | None = None,
        giving: Giving | None = None,
        mode: str = "real",
        scenario: str | None = None,
        policies: Sequence[str | Path] = (),
        approval: str | None = None,
        questions: str | None = None,
        actor: str | None = None,
        actor_kind: str = "human",
        trace: str | Path | None = None,
        notify: Sequence[str | Path] = (),
        record: str | None = None,
        fail_on: Sequence[str] | None = None,
        on_notice: OnNotice | None = None,
    ) -> HostedRun:
        """Start a run in a thread of its own; raise ``GertError`` for everything that is known before it runs.

        ``approval`` is a provider; None is the project's, else ``host``: tickets as in the inbox, for which the run
        waits. ``questions`` are ``ask``, ``suspend`` or ``fail``; None is ``ask`` with ``on_notice``, else
        ``suspend``. ``trace`` is another file for the trace, ``notify`` are files with rules about who is told,
        ``record`` is the name or the directory of the scenario that the run is kept as when it ends, ``fail_on`` are
        the categories of outcomes that the run remembers as failures; None: those of the project. It returns before
        the first step, or while the run asks for an input. ``giving`` has the words for errors about ``inputs``.
        """
        path = self._site.path(runbook)
        if not path.is_file():
            raise UsageError(f"{path} does not exist", file=str(path), hint="give the path of a runbook")
        recorded = HostRecording(self._site, record, path, mode)
        chosen: dict[str, Any] = {
            "remember": recorded.remember,
            "mode": mode,
            "host_vars": dict(inputs or {}),
            "giving": giving or Giving(),
            "scenario": None if scenario is None else named_scenario(scenario, path, base=self._site.root).model,
            "policies": tuple(map(self._site.path, policies)),
            "cwd": self._site.directory(self._site.root),
            "trace": None if trace is None else self._site.path(trace),
            "notify": tuple(map(self._site.path, notify)),
            "fail_on": None if fail_on is None else tuple(fail_on),
        }
        people = HostPeople(approval, questions, actor_id(actor or self.actor, actor_kind), on_notice)

        def begin(hosted: HostedRun, stack: ExitStack, _: RunAgain | None) -> Run:
            return prepare(self._request(hosted, people, path, **chosen), stack)

        return self._begin(begin, people, recorded)

    def resume(
        self,
        run_id: str,
        *,
        retry_failed: bool = False,
        reconcile: Mapping[str, str] | None = None,
        outputs: Mapping[str, Mapping[str, object]] | None = None,
        on_drift: str = DRIFT[0],
        yes: bool = False,
        abort: bool = False,
        inputs: Mapping[str, object] | None = None,
        approval: str | None = None,
        questions: str | None = None,
        actor: str | None = None,
        actor_kind: str = "human",
        on_notice: OnNotice | None = None,
    ) -> HostedRun:
        """Resume a run; raise ``RunFinished``, which has the ``result``, when there is nothing left to do.

        The options are those of ``gert resume``; ``inputs`` are secret inputs, which the trace does not have. The
        run goes on in the directory in which it was started.
        """
        if on_drift not in DRIFT:
            raise UsageError(f"on_drift takes {' or '.join(DRIFT)}, not {on_drift!r}")
        found = self.run(run_id).run_id
        asked: dict[str, Any] = {"retry_failed": retry_failed, "yes": yes, "abort": abort}
        asked |= {"reconcile": reconcile or {}, "outputs": outputs or {}}
        people = HostPeople(approval, questions, actor_id(actor or self.actor, actor_kind), on_notice)

        def begin(hosted: HostedRun, stack: ExitStack, again: RunAgain | None) -> Run:
            recorded = read_run(self._site.store, found, stack)
            more = asked if again is None else {"again": again.keys, "known": again.known}
            request = self._request(
                hosted,
                people,
                recorded.choices.runbook,
                recorded=recorded.choices.approval_provider,
                host_vars=dict(inputs or {}),
                cwd=None if recorded.choices.cwd is None else self._site.directory(Path(recorded.choices.cwd)),
                resume=Resume(run=recorded, allow_drift=on_drift != DRIFT[0], **more),
            )
            return prepare(request, stack)

        return self._begin(begin, people)

    # -- tickets and questions, whichever process executes the run -----------------------------------------------

    def answer(
        self,
        run_id: str,
        step_key: str,
        values: Mapping[str, str],
        *,
        by: str | None = None,
        reject: str | None = None,
    ) -> list[str]:
        """Answer questions of a step; return the names that are still to be answered.

        A run that asks here goes on; answers to one that is suspended are stored, and used when it is resumed.
        """
        hosted = next((run for run in self._hosted() if run.run_id == run_id), None)
        if hosted is not None and (asked := hosted.console.names_of(step_key)):
            return answer_open(hosted, asked, values, by=by, reject=reject)
        with find_run(self._site.store, run_id) as stored:
            found = open_questions(stored, step_key)
            store_answers(found, values, by=by or self.actor, reject=reject, environ=self._site.environ)
            return [str(question["name"]) for question in found.missing]

    def cancel(self, run_id: str, *, reason: str = "", by: str | None = None) -> RunView:
        """Stop a run that is executed here or by another process: ``gert runs cancel``; return where it stands then."""
        found = self.run(run_id).run_id
        here = next((run for run in self._hosted() if run.run_id == found), None)
        if here is not None:
            here.cancel(f"{by or self.actor}: {reason}" if reason else by or self.actor)
            here.wait(_STOPPED)
            return self.run(found)
        cancel_run(found, store=self._site.store, by=by or self.actor, reason=reason, environ=self._site.environ)
        return self.run(found)

    def end(self, reason: str = _CLOSED, *, leaves: float = 0.0) -> None:
        """Begin to end what runs here, as ``close`` does, without waiting; nothing more is started."""
        with self._lock:
            self._closed = True
        for hosted in self._hosted():
            if hosted.waits:
                self._suspended.add(hosted)
                hosted.suspend()
            elif hosted not in self._suspended:
                hosted.cancel(reason, leaves=leaves)

    def abandon(self) -> None:
        """End every run that does not end: kill its programs, and write its end although a step has not stopped."""
        for hosted in self._hosted():
            hosted.abandon()

    def close(self, *, timeout: float = GRACE, leaves: float = 0.0) -> None:
        """End what runs here: suspend runs that only wait for people, cancel the others, and wait for them.

        With ``leaves`` the steps that are executed now may take that many seconds to finish first.
        """
        until = time.monotonic() + timeout + leaves
        self.end(leaves=leaves)
        open_ = self._hosted()
        for hosted in open_:
            if hosted.leave.thrown and not hosted.stop.thrown and hosted.wait(_AWAY) is None:
                hosted.cancel(_CLOSED)
        for hosted in open_:
            if hosted.wait(max(until - time.monotonic(), 0.0)) is None:
                hosted.abandon()
        self._site.close()

    def __enter__(self) -> Host:
        """Return the host."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _request(
        self, hosted: HostedRun, people: HostPeople, runbook: Path, *, recorded: str | None = None, **chosen: Any
    ) -> Request:
        project = self._site.project_of(runbook)
        registry = self._site.registry_of(project)
        registry.require_healthy()
        wanted = people.provider(project, recorded)
        return Request(
            runbook=runbook,
            registry=registry,
            project=project,
            console=hosted.console,
            progress=hosted.progress,
            observers=((HOST, hosted.progress.observe),),
            stop=hosted.stop,
            leave=hosted.leave,
            environ=self._site.environ,
            store=self._site.store,
            actor=people.actor,
            questions=people.questions,
            approval=RECORDED if wanted == HOST else wanted,
            provider=self._inbox.provider() if wanted == HOST else None,
            **chosen,
        )

    def _begin(self, begin: Prepare, people: HostPeople, recorded: HostRecording | None = None) -> HostedRun:
        hosted = HostedRun(
            record=(recorded or HostRecording(self._site)).end,
            actor=people.actor,
            asks=people.questions == "ask",
            view=self.run,
            document=lambda result: result_document(result, self.run),
            allowed=self._site.attachment,
            events=lambda run_id, after: self.events(run_id, after=after),
            since_last=self._site.since_last,
            over=self._forget,
        )
        with self._lock:
            if self._closed:
                raise UsageError("the host is closed", kind=ErrorKind.HOST_BUSY)
            busy = sum(not run.waits for run in self._runs)
            if busy >= self._limit:
                raise UsageError(
                    f"this host has a limit of {self._limit} at once, and so many runs are at work",
                    kind=ErrorKind.HOST_BUSY,
                    hint="wait until one of them has ended, or give the host another limit",
                )
            self._runs[hosted] = None
        if people.on_notice is not None:
            hosted.subscribe(people.on_notice)
        hosted.begin(begin)
        return hosted

    def _forget(self, hosted: HostedRun) -> None:
        with self._lock:
            self._runs.pop(hosted, None)

    def _hosted(self) -> list[HostedRun]:
        with self._lock:
            return list(self._runs)


__all__ = ["LIMIT", "Host"]
