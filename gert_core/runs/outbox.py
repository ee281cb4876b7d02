"""What became of the notifications of a run: a blob for each round of tries, which is never replaced."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec import json as msgspec_json

from gert_core.api.errors import RunError
from gert_core.kit.json_reader import decode_as
from gert_core.kit.times import parse_time
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from datetime import datetime

    from gert_core.api.stores import StoredRun
    from gert_core.runs.owed import Owed

PLACE: Final = "notifications/"
"""Where the blobs are: ``notifications/<delivery>/<n>.json``."""
GIVE_UP: Final = 72 * 3600.0
"""Seconds after which what cannot be delivered is not tried any more."""
_FIRST, _LONGEST = 60.0, 3600.0
"""Seconds until the first further round, and the most between two; each waits twice as long as the one before."""
_DOUBLED: Final = 6
"""After so many rounds the pause is as long as it gets."""
_LIMIT: Final = 64 * 1024


class Sent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one notification so far."""

    id: str
    notifier: str
    status: Literal["delivered", "failed", "refused", "dead"]
    attempts: int
    at: str
    error: str | None = None
    retry_at: str | None = None
    """When it is tried again at the earliest; of what failed."""
    dropped_by: str | None = None
    """Who decided that it is not tried any more."""

    def is_due(self, now: datetime) -> bool:
        """Return whether it is to be tried now."""
        if self.status != "failed":
            return False
        try:
            return self.retry_at is None or parse_time(self.retry_at) <= now
        except ValueError:
            return True


class Rounds(Struct, frozen=True, kw_only=True):
    """The rounds of one notification: how many there were, and what the last one came to."""

    count: int = 0
    last: Sent | None = None

    def is_due(self, now: datetime) -> bool:
        """Return whether it is to be tried now: it never was, or it is time to try it again."""
        return self.last is None or self.last.is_due(now)


def rounds_of(run: StoredRun) -> dict[str, Rounds]:
    """Return the rounds of every notification of a run by its id."""
    counts: dict[str, int] = {}
    for name in run.names(PLACE):
        delivery, number = _parts(name)
        counts[delivery] = max(counts.get(delivery, 0), number)
    return {delivery: _last(run, delivery, count) for delivery, count in counts.items() if count}


def rounds(run: StoredRun, delivery: str) -> Rounds:
    """Return the rounds of one notification."""
    numbers = [_parts(name)[1] for name in run.names(f"{PLACE}{delivery}/")]
    return _last(run, delivery, max(numbers, default=0))


def add(run: StoredRun, before: Rounds, sent: Sent) -> None:
    """Record what another round came to; raise ``StoreError`` (``blob_exists``) when another process has done so."""
    name = f"{PLACE}{sent.id}/{before.count + 1}.json"
    run.put(name, msgspec_json.encode(sent) + b"\n", new=True)


def failed(
    owed: Owed, before: Rounds, *, attempts: int, error: str, now: datetime, retry_after: float | None = None
) -> Sent:
    """Return the record of a round that did not deliver: when the next one is, or that there is none any more."""
    tried = attempts + (before.last.attempts if before.last is not None else 0)
    doubled = min(before.count, _DOUBLED)  # the number is that of a file, which anybody may have named
    wait = max(min(_FIRST * 2**doubled, _LONGEST), min(retry_after or 0.0, GIVE_UP))
    over = False
    with suppress(ValueError):
        over = (now - parse_time(owed.since)).total_seconds() > GIVE_UP
    return Sent(
        id=owed.id,
        notifier=owed.notifier,
        status="dead" if over else "failed",
        attempts=tried,
        at=timestamp(now),
        error=error,
        retry_at=None if over else timestamp(now + timedelta(seconds=wait)),
    )


def _parts(name: str) -> tuple[str, int]:
    delivery, _, number = name.removeprefix(PLACE).removesuffix(".json").partition("/")
    return delivery, int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0


def _last(run: StoredRun, delivery: str, count: int) -> Rounds:
    if not count:
        return Rounds()
    data = None
    with suppress(RunError):
        data = run.get(f"{PLACE}{delivery}/{count}.json", limit=_LIMIT)
    try:
        found = decode_as(data or b"", Sent)
    except ValueError:  # damaged: it is better told twice than never
        found = None
    return Rounds(count=count, last=found)


__all__ = ["GIVE_UP", "PLACE", "Rounds", "Sent", "add", "failed", "rounds", "rounds_of"]
