"""What a host knows about the runs of its store, whichever process executes them: runs, tickets, what they owe."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from gert_core.api.store_records import RunQuery
from gert_core.approvals import inbox
from gert_core.documents.project import DEFAULT_TRACES
from gert_core.hosting.inbox import RECORDED
from gert_core.hosting.views import RunView, TicketView
from gert_core.runs.find import find_run
from gert_core.runs.lifecycle.stream import follow_events
from gert_core.stores.directory import DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from gert_core.api import Deadline, RunRow, TraceEvent
    from gert_core.hosting.past import PastRuns
    from gert_core.hosting.site import Site
    from gert_core.runs.lifecycle.followers import Followers


class Looking:
    """The runs of one store, for hosts."""

    _site: Site
    _followers: Followers

    @property
    def approval(self) -> str | None:
        """The approval provider that the project names."""
        return None if self._site.project is None else self._site.project.model.approvals.provider

    @property
    def approval_config(self) -> Mapping[str, Any]:
        """What the project says under ``approvals.config``."""
        return {} if self._site.project is None else self._site.project.model.approvals.config

    @property
    def suspending_approval(self) -> str:
        """The approval provider of runs that must not wait for people here: the project's, or the inbox."""
        named = self.approval
        known = {} if named is None else self._site.registry.approval_providers()
        return named if named in known and not known[named].blocking else RECORDED

    @property
    def traces(self) -> Path | None:
        """The directory for further traces: the project's, else ``traces``; None where runs are not kept in files."""
        if not isinstance(self._site.store, DirectoryStore):
            return None
        project = self._site.project
        return self._site.root / DEFAULT_TRACES if project is None else project.traces_dir

    def runs(
        self,
        *,
        limit: int | None = None,
        runbook: str | None = None,
        status: str | None = None,
        since: str | None = None,
    ) -> Iterator[RunView]:
        """Yield the runs of the store, the newest first; ``since`` is a moment (RFC 3339)."""
        query = RunQuery(status=() if status is None else (status,), runbook=runbook, since=since)
        for row in islice(self._site.store.runs(query), limit):
            yield self.run(row.run_id)

    def rows(self, *, limit: int | None = None) -> Iterator[RunRow]:
        """Yield a row for each run of the store, the newest first, without reading more of it than the list needs."""
        yield from islice(self._site.store.runs(RunQuery()), limit)

    def run(self, run_id: str) -> RunView:
        """Return a run by its id, the beginning of its id, or ``latest``."""
        with find_run(self._site.store, run_id) as stored:
            return RunView(stored)

    def follow(self, run_id: str, *, after: int = 0, deadline: Deadline | None = None) -> Iterator[TraceEvent]:
        """Yield the events of a run behind number ``after`` and those to come, through suspensions, until it is over.

        It also ends when no process has executed an interrupted run for two seconds, and with the ``deadline``.
        """
        with find_run(self._site.store, run_id) as stored:
            sleep = time.sleep if deadline is None else deadline.wait
            yield from follow_events(
                stored, since_seq=after, follow=True, through_suspend=True, sleep=sleep, followers=self._followers
            )

    def events(self, run_id: str, *, after: int = 0) -> Iterator[TraceEvent]:
        """Yield the events that the trace of a run has behind number ``after``."""
        with find_run(self._site.store, run_id) as stored:
            yield from follow_events(stored, since_seq=after)

    def lines(self, run_id: str) -> Iterator[bytes]:
        """Yield the lines of a run's trace, exactly as they are kept."""
        with find_run(self._site.store, run_id) as stored:
            yield from stored.lines()

    def tickets(
        self, *, status: str | None = "pending", report: Callable[[Mapping[str, Any]], object] = lambda _: None
    ) -> Iterator[TicketView]:
        """Yield the tickets of all runs, those of the newest run first; ``status`` None: all of them.

        What cannot be read is left out, and ``report`` is told of it: ``unreadable`` of ``gert approvals list --json``.
        """
        unresolved = status in inbox.UNRESOLVED
        for entry in inbox.entries(
            self._site.store, known=self._site.known, unresolved=unresolved, report=lambda what: report(what.to_json())
        ):
            view = TicketView(entry, self._site.since_last)
            if status is None or view.status == status:
                yield view

    def ticket(self, ticket_id: str) -> TicketView:
        """Return a ticket; raise ``UsageError`` when no run has it."""
        entry = inbox.find(self._site.store, ticket_id, known=self._site.known)
        return TicketView(entry, self._site.since_last)

    def questions(self, run_id: str) -> list[dict[str, Any]]:
        """Return what steps of a run ask that is not answered yet: ``step_key``, ``name``, ``kind``, ``items`` ..."""
        from gert_core.runs.answers import answered
        from gert_core.runs.result import RunResult

        with find_run(self._site.store, run_id) as stored:
            state = RunView(stored).state
            asked = [] if state is None else RunResult(state=state, trace=None).questions
            given = answered(stored, asked)
            declined = {one.step_key for one in given.values() if one.declined is not None}  # their steps fail
            return [one for one in asked if one["seq"] not in given and one["step_key"] not in declined]

    def past(self) -> PastRuns:
        """Return the runs of the store for summaries, and the traces that are kept elsewhere."""
        from gert_core.hosting.past import PastRuns

        return PastRuns(self._site.store, traces=self.traces)

    def notify(self, run_id: str, *, tries: int = 1) -> list[dict[str, Any]]:
        """Deliver what a run owes people and is due, and return what became of it: ``gert notify flush --json``.

        What another process is delivering has no ``status``. It takes ten seconds at most.
        """
        from gert_core.hosting.deliveries import Deliverer, Effort

        with find_run(self._site.store, run_id) as stored:
            deliverer = Deliverer(self._site.store, registry=self._site.registry, environ=self._site.environ)
            return [told.to_json() for told in deliverer.deliver(stored, effort=Effort(tries=tries))]

    def flush(self) -> Iterator[dict[str, Any]]:
        """Deliver what all runs of the store owe people and is due, one try each, and yield what became of it.

        It is what ``gert notify flush`` does, as far as it is asked for: ten seconds at most for each run.
        """
        from gert_core.hosting.flushing import flush

        site = self._site
        for told in flush(site.store, registry=site.registry, environ=site.environ):
            yield told.to_json()


__all__ = ["Looking"]
