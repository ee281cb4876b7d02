"""Deliver what a run owes people: claim each notification, try it, and record what became of it."""

from __future__ import annotations

import secrets
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import ErrorKind, GertError
from gert_core.api.errors import StoreError
from gert_core.documents.project import find_project
from gert_core.engine.cancel import Deadline, Stop
from gert_core.hosting.notifying import NotSent, Post
from gert_core.kit.log import warning
from gert_core.plugin.loader import saying
from gert_core.runs import outbox
from gert_core.runs.listing import run_info
from gert_core.runs.owed import owed_by
from gert_core.stores.ledger import ledger_key
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import RunStore, StoredRun
    from gert_core.api.notifiers import Delivery
    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.outbox import Rounds, Sent
    from gert_core.runs.owed import Owed

CLAIM: Final = 60.0
"""Seconds for which a process that delivers a notification has it for itself."""
_TRY: Final = 3.0
"""The longest that one try takes where there are several."""
_PAUSES: Final = (0.5, 1.0)
"""Seconds between tries."""
_AT_ONCE: Final = 8


class Effort(Struct, frozen=True, kw_only=True):
    """How hard one round tries: how often, and for how many seconds in all."""

    tries: int = 1
    seconds: float = 10.0


AFTER_A_RUN: Final = Effort(tries=3, seconds=10.0)
"""What a command does that executed the run."""


class _Wanted(Struct, frozen=True, kw_only=True):
    """Which notifications are tried: what is due, what is not due yet too, or what was refused or given up as well."""

    again: bool
    over: bool

    def __call__(self, known: Rounds, moment: datetime) -> bool:
        last = known.last
        if last is None or not self.again:
            return known.is_due(moment)
        return last.status == "failed" or (self.over and last.status != "delivered" and last.dropped_by is None)


class DeliveryTry(Struct, frozen=True, kw_only=True):
    """What became of one notification: as recorded, or None when another process delivers it."""

    run_id: str
    owed: Owed
    sent: Sent | None

    def to_json(self) -> dict[str, Any]:
        """Return an entry of ``gert notify flush --json``."""
        about = {"id": self.owed.id, "run_id": self.run_id, "event": self.owed.event}
        if self.sent is None:
            return about
        names = ("notifier", "status", "attempts", "at", "retry_at", "error")
        return about | {name: getattr(self.sent, name) for name in names}


class Deliverer:
    """What delivers the notifications of runs of one store; settings of notifiers are those of each run's project."""

    def __init__(self, store: RunStore, *, registry: Registry, environ: Mapping[str, str]) -> None:
        self._store = store
        self._registry = registry
        self._environ = environ
        self._projects: dict[Path, Project | None] = {}

    def deliver(
        self, run: StoredRun, *, effort: Effort = AFTER_A_RUN, again: bool = False, over: bool = False
    ) -> list[DeliveryTry]:
        """Try what a run owes and what is due, and return what became of it; never raise for a notification.

        With ``again``, what is not due yet is tried too, and with ``over`` what was refused or given up.
        """
        wanted = _Wanted(again=again, over=over)
        run.check_owner()
        info, moment = run_info(run), now()
        open_ = owed_by(info, moment)
        if not open_:
            return []
        known = outbox.rounds_of(run)
        due = [one for one in open_ if wanted(known.get(one.id, outbox.Rounds()), moment)]
        found: list[DeliveryTry] = []
        until = time.monotonic() + effort.seconds
        for first in range(0, len(due), _AT_ONCE):
            seconds = effort.seconds if effort.tries == 1 else until - time.monotonic()
            if seconds <= 0:
                break
            part = Effort(tries=effort.tries, seconds=seconds)
            found += self._together(info, due[first : first + _AT_ONCE], effort=part, wanted=wanted)
        return found

    def _together(self, info: RunInfo, due: Sequence[Owed], *, effort: Effort, wanted: _Wanted) -> list[DeliveryTry]:
        """Deliver several at once; one that does not end in time is left alone, and is still owed."""
        results: list[DeliveryTry] = []
        stop = Stop()

        def work(owed: Owed) -> None:
            try:
                results.append(
                    DeliveryTry(run_id=info.run_id, owed=owed, sent=self._one(info, owed, effort, stop, wanted))
                )
            except Exception as error:  # in a thread of its own no command would say it in a sentence
                said = error if isinstance(error, (GertError, OSError)) else saying(error)
                warning("notify", "notification %s of run %s: %s", owed.id, info.run_id, said)

        threads = [threading.Thread(target=work, args=(owed,), name="gert-notify", daemon=True) for owed in due]
        until = time.monotonic() + effort.seconds + 0.5
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join(max(until - time.monotonic(), 0.0))
        finally:
            stop.throw("time is over")
        return list(results)

    def _one(self, info: RunInfo, owed: Owed, effort: Effort, stop: Stop, wanted: _Wanted) -> Sent | None:
        """Deliver one notification that no other process is delivering; return what was recorded."""
        run, ledger = info.run, self._store.ledger()
        key = ledger_key("notification", run.run_id, owed.id)
        owner = f"{run.run_id} {secrets.token_hex(8)}"
        if ledger.claim(key, owner, timestamp(now()), ttl=CLAIM).owner != owner:
            return None
        settled = False
        try:
            before = outbox.rounds(run, owed.id)  # another process may have tried it since
            if not wanted(before, now()):
                return before.last
            sent = self._round(info, owed, before, effort, stop)
            try:
                outbox.add(run, before, sent)
            except StoreError as error:
                if error.kind != ErrorKind.BLOB_EXISTS:
                    raise
                return None
            settled = sent.status == "delivered"
            return sent
        finally:
            ledger.settle(key, owner, "success" if settled else "failed", timestamp(now()))

    def _round(self, info: RunInfo, owed: Owed, before: Rounds, effort: Effort, stop: Stop) -> Sent:
        post = Post(info, owed, registry=self._registry, project=self._project(info), environ=self._environ)
        result, tries = _tries(post, effort, stop)
        if result.status == "failed":
            return outbox.failed(
                owed, before, attempts=tries, error=result.error, now=now(), retry_after=result.retry_after
            )
        attempts = tries + (before.last.attempts if before.last is not None else 0)
        error = result.error or None
        return outbox.Sent(
            id=owed.id, notifier=post.name, status=result.status, attempts=attempts, at=timestamp(now()), error=error
        )

    def _project(self, info: RunInfo) -> Project | None:
        """Return the project of a run; None when it has none, or none that can be read."""
        state = info.state
        path = None if state is None else state.facts.get("runbook_path")
        if not isinstance(path, str):
            return None
        directory = Path(path).parent
        if directory not in self._projects:
            try:
                self._projects[directory] = find_project(directory) if directory.is_dir() else None
            except GertError:
                self._projects[directory] = None
        return self._projects[directory]


def _tries(post: Post, effort: Effort, stop: Stop) -> tuple[Delivery, int]:
    """Try until it is delivered or refused, the time is over, or it was tried often enough."""
    until = time.monotonic() + effort.seconds
    try:
        attempt = post.prepare()
    except NotSent as problem:
        return problem.delivery, 1
    number = 0
    while True:
        number += 1
        left = until - time.monotonic()
        limit = left if number == effort.tries else min(_TRY, left)
        result = attempt(Deadline(stop, max(limit, 0.1)))
        if result.status != "failed" or number == effort.tries:
            return result, number
        pause = result.retry_after if result.retry_after is not None else _PAUSES[min(number, len(_PAUSES)) - 1]
        if pause >= until - time.monotonic() or stop.wait(pause):
            return result, number


def now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


__all__ = ["AFTER_A_RUN", "CLAIM", "Deliverer", "DeliveryTry", "Effort"]
