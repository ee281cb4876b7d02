"""Everything that the runs of a store owe people: listed, delivered as far as it is due, or dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import ErrorKind, GertError, RunError, UsageError
from gert_core.api.errors import StoreError
from gert_core.engine.known_secrets import refuse_actor
from gert_core.hosting.deliveries import Deliverer, Effort, now
from gert_core.runs import outbox
from gert_core.runs.find import find_run
from gert_core.runs.listing import run_info
from gert_core.runs.owed import owed_by
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api import RunStore, StoredRun
    from gert_core.hosting.deliveries import DeliveryTry
    from gert_core.plugin.registry import Registry
    from gert_core.runs.outbox import Rounds
    from gert_core.runs.owed import Owed

ONCE: Final = Effort(tries=1, seconds=10.0)
"""What ``gert notify flush`` does about each notification."""
_RULES: Final = b'"notify":['
"""What stands in the first line of a run that owes anything."""


class NotificationEntry(Struct, frozen=True, kw_only=True):
    """One notification that a run owes, and what became of it so far."""

    run_id: str
    runbook: str
    owed: Owed
    rounds: Rounds

    @property
    def status(self) -> str:
        """Return ``owed`` for what was never tried, else ``delivered``, ``failed``, ``refused`` or ``dead``."""
        return "owed" if self.rounds.last is None else self.rounds.last.status

    @property
    def is_dropped(self) -> bool:
        """Return whether somebody decided that it is not told."""
        return self.rounds.last is not None and self.rounds.last.dropped_by is not None

    def to_json(self) -> dict[str, Any]:
        """Return an entry of ``gert notify list --json``."""
        last = self.rounds.last
        return {
            "id": self.owed.id,
            "run_id": self.run_id,
            "runbook": self.runbook,
            "event": self.owed.event,
            "step_key": self.owed.about or None,
            "notifier": self.owed.notifier,
            "source": self.owed.rule["source"],
            "since": self.owed.since,
            "status": self.status,
            "attempts": 0 if last is None else last.attempts,
            "at": None if last is None else last.at,
            "retry_at": None if last is None else last.retry_at,
            "error": None if last is None else last.error,
        }


def entries(
    store: RunStore, run_id: str | None = None, *, problem: Callable[[str], object] = lambda _: None
) -> Iterator[NotificationEntry]:
    """Yield what runs owe, those of the newest run first; ``problem`` is told of runs that cannot be read."""
    moment = now()
    for run in _runs(store, run_id, problem):
        info = run_info(run)
        if info.problem is not None:
            problem(f"run {info.run_id} cannot be read: {info.problem}")
        known = None
        for owed in owed_by(info, moment):
            known = outbox.rounds_of(run) if known is None else known
            runbook = "" if info.state is None else info.state.runbook
            yield NotificationEntry(
                run_id=info.run_id, runbook=runbook, owed=owed, rounds=known.get(owed.id, outbox.Rounds())
            )


def flush(
    store: RunStore,
    *,
    registry: Registry,
    environ: Mapping[str, str],
    run_id: str | None = None,
    again: bool = False,
    problem: Callable[[str], object] = lambda _: None,
) -> Iterator[DeliveryTry]:
    """Try everything that is due, once, and yield what became of it; another process may be doing the same.

    With ``again``, what is not due yet is tried too, and of one run also what was refused or given up.
    """
    deliverer = Deliverer(store, registry=registry, environ=environ)
    for run in _runs(store, run_id, problem):
        try:
            yield from deliverer.deliver(run, effort=ONCE, again=again, over=again and run_id is not None)
        except GertError as error:
            problem(f"run {run.run_id}: {error.message}")


def drop(store: RunStore, name: str, *, by: str, environ: Mapping[str, str]) -> list[NotificationEntry]:
    """Decide that a notification, or all that a run owes, is not tried any more; return what that was about."""
    if not name:
        raise UsageError("give the id of a notification, or of a run", hint="`gert notify list` shows them")
    found = [one for one in entries(store) if one.owed.id.startswith(name)]
    if len({one.owed.id for one in found}) > 1:
        raise UsageError(f"the ids of {len(found)} notifications begin with {name}", hint="give more of the id")
    if not found:
        try:
            with find_run(store, name) as run:
                found = list(entries(store, run.run_id))
        except StoreError as error:
            if error.kind != ErrorKind.RUN_NOT_FOUND:
                raise
            hint = "`gert notify list` shows what was not delivered"
            raise UsageError(f"there is no notification and no run {name}", hint=hint) from None
    left = [one for one in found if one.status != "delivered"]
    for one in left:
        with store.open(one.run_id) as run:
            run.check_owner()
            refuse_actor(run, by, environ)
            _drop(run, one, by)
    return left


def _drop(run: StoredRun, one: NotificationEntry, by: str) -> None:
    last = one.rounds.last
    sent = outbox.Sent(
        id=one.owed.id,
        notifier=one.owed.notifier,
        status="dead",
        attempts=0 if last is None else last.attempts,
        at=timestamp(now()),
        error=f"dropped by {by}",
        dropped_by=by,
    )
    try:
        outbox.add(run, one.rounds, sent)
    except StoreError as error:
        if error.kind != ErrorKind.BLOB_EXISTS:
            raise
        raise RunError(
            f"notification {one.owed.id} is being delivered now", hint="look at `gert notify list` again"
        ) from None


def _runs(store: RunStore, run_id: str | None, problem: Callable[[str], object]) -> Iterator[StoredRun]:
    """Yield the runs that may owe something, which their first line tells."""
    if run_id is not None:
        with find_run(store, run_id) as run:
            yield run
        return
    for one in store.run_ids():
        try:
            with store.open(one) as run:
                if _RULES in next(iter(run.lines()), b""):
                    yield run
        except StoreError as error:
            if error.kind != ErrorKind.RUN_NOT_FOUND:  # it was deleted meanwhile
                raise
        except RunError as error:
            problem(f"run {one} cannot be read: {error.message}")


__all__ = ["ONCE", "NotificationEntry", "drop", "entries", "flush"]
