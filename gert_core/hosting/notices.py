"""Keep the notices of a run, and deliver them in order in one thread, which never delays the run."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.hosting import Notice
from gert_core.hosting.kept import RECENT, WARNING, Kept, Reader
from gert_core.kit.log import warning
from gert_core.plugin.loader import saying
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gert_core.api.events import TraceEvent
    from gert_core.hosting.kept import Again

    Subscriber = Callable[[Notice], object]

KEPT: Final = 8 * 1024 * 1024
"""The most characters of output that are kept of a run; the oldest goes."""
END: Final = "end"


class _Subscription:
    """One subscriber, and how far it was told."""

    __slots__ = ("fn", "reader")

    def __init__(self, fn: Subscriber, reader: Reader) -> None:
        self.fn = fn
        self.reader = reader


class Notices:
    """The notices of one run; every method may be called from any thread, also from a subscriber.

    ``again`` yields the events of the run's trace behind a number, once ``kept.forgets`` says that there is one.
    """

    def __init__(
        self, run_id: Callable[[], str], *, mask: Callable[[str], str], again: Again, kept: int = KEPT
    ) -> None:
        self._run_id = run_id
        self._mask = mask
        self._again = again
        self.kept = Kept(output=kept)
        self._changed = threading.Condition()
        self._subscriptions: list[_Subscription] = []
        self._iterating = 0
        self._delivering: threading.Thread | None = None
        self._over = False
        self.watched = False
        """Whether anybody is told of notices now."""

    def add(self, kind: str, data: Mapping[str, Any], *, step_key: str | None = None) -> None:
        """Add a notice; nothing comes after ``end``."""
        with self._changed:
            if self._over:
                return
            self._over = kind == END
            number, time = len(self.kept) + 1, timestamp(datetime.now(UTC))
            self.kept.add(
                Notice(number=number, time=time, run_id=self._run_id(), kind=kind, step_key=step_key, data=data)
            )
            self._changed.notify_all()

    def add_event(self, event: TraceEvent) -> None:
        """Add the notice of an event of the trace."""
        with self._changed:
            if not self._over:
                self.kept.add_event(event, self._run_id(), recent=RECENT if self.watched else 0)
                self._changed.notify_all()

    def subscribe(self, fn: Subscriber, *, after: int = 0) -> Callable[[], None]:
        """Call ``fn`` with every notice behind number ``after``; return what ends that."""
        subscription = _Subscription(fn, self._reader(after))
        with self._changed:
            self._subscriptions.append(subscription)
            self.watched = True
            if self._delivering is None:
                self._delivering = threading.Thread(target=self._deliver, name="gert-notices", daemon=True)
                self._delivering.start()
            self._changed.notify_all()
        return lambda: self._leave(subscription)

    def iterate(self, *, after: int = 0) -> Iterator[Notice]:
        """Yield every notice behind number ``after``, those to come included, up to ``end``."""
        reader = self._reader(after)
        with self._changed:
            self._iterating += 1
            self.watched = True
        try:
            while True:
                with self._changed:
                    while (found := self.kept.find(reader)) is None:
                        if self._over:
                            return
                        self._changed.wait()
                notice = reader.read(found) if isinstance(found, int) else found
                yield notice
                if notice.kind == END:
                    return
        finally:
            with self._changed:
                self._iterating -= 1
                self._watch()

    def _reader(self, after: int) -> Reader:
        return Reader(after, self._again, self._run_id)

    def _leave(self, subscription: _Subscription) -> None:
        with self._changed:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)
            self._watch()
            self._changed.notify_all()

    def _watch(self) -> None:
        self.watched = bool(self._subscriptions) or self._iterating > 0

    def _deliver(self) -> None:
        while (due := self._due()) is not None:
            for subscription, found in due:
                try:
                    subscription.fn(subscription.reader.read(found) if isinstance(found, int) else found)
                except BaseException as error:
                    self._leave(subscription)
                    message = self._mask(f"a subscriber failed and was dropped: {saying(error)}")
                    warning("hosting", "%s", message)
                    self.add(WARNING, {"message": message})

    def _due(self) -> list[tuple[_Subscription, Notice | int]] | None:
        """Wait for what is to be delivered next; None when nothing will be."""
        with self._changed:
            while True:
                due: list[tuple[_Subscription, Notice | int]] = []
                for subscription in self._subscriptions:
                    if (found := self.kept.find(subscription.reader)) is not None:
                        due.append((subscription, found))
                if due:
                    return due
                if self._over or not self._subscriptions:
                    self._delivering = None
                    return None
                self._changed.wait()


__all__ = ["END", "KEPT", "Notices"]
