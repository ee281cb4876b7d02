"""Keep the notices of a run, and deliver them in order in one thread, which never delays the run."""

from __future__ import annotations

import threading
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from gert_core.api.hosting import Notice
from gert_core.kit.log import warning
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Subscriber = Callable[[Notice], object]

KEPT: Final = 8 * 1024 * 1024
"""The most characters of output that are kept of a run; the oldest goes."""
END: Final = "end"
_OUTPUT: Final = "output"


class _Subscription:
    """One subscriber and the number of the last notice it was given."""

    __slots__ = ("fn", "last")

    def __init__(self, fn: Subscriber, last: int) -> None:
        self.fn = fn
        self.last = last


class Notices:
    """The notices of one run; every method may be called from any thread, also from a subscriber."""

    def __init__(self, run_id: Callable[[], str], *, mask: Callable[[str], str], kept: int = KEPT) -> None:
        self._run_id = run_id
        self._mask = mask
        self._limit = kept
        self._changed = threading.Condition()
        self._kept: list[Notice | int] = []
        """By number from 1; of output that was dropped, how many characters it had."""
        self._outputs: deque[tuple[int, int]] = deque()
        self._size = 0
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
            number = len(self._kept) + 1
            time = timestamp(datetime.now(UTC))
            self._kept.append(
                Notice(number=number, time=time, run_id=self._run_id(), kind=kind, step_key=step_key, data=data)
            )
            if kind == _OUTPUT:
                self._make_room(number, len(data["text"]))
            self._changed.notify_all()

    def subscribe(self, fn: Subscriber, *, after: int = 0) -> Callable[[], None]:
        """Call ``fn`` with every notice behind number ``after``; return what ends that."""
        subscription = _Subscription(fn, max(after, 0))
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
        last = max(after, 0)
        with self._changed:
            self._iterating += 1
            self.watched = True
        try:
            while True:
                with self._changed:
                    while (found := self._next(last)) is None:
                        if self._over:
                            return
                        self._changed.wait()
                last = found.number
                yield found
                if found.kind == END:
                    return
        finally:
            with self._changed:
                self._iterating -= 1
                self._watch()

    def _make_room(self, number: int, size: int) -> None:
        self._outputs.append((number, size))
        self._size += size
        while self._size > self._limit and len(self._outputs) > 1:
            oldest, gone = self._outputs.popleft()
            self._kept[oldest - 1] = gone
            self._size -= gone

    def _next(self, last: int) -> Notice | None:
        """Return the first notice behind a number that is kept; output tells what is missing before it."""
        dropped = 0
        for index in range(last, len(self._kept)):
            found = self._kept[index]
            if isinstance(found, int):
                dropped += found
            elif dropped and found.kind == _OUTPUT:
                return replace(found, data={**found.data, "dropped": dropped})
            else:
                return found
        return None

    def _leave(self, subscription: _Subscription) -> None:
        with self._changed:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)
            self._watch()
            self._changed.notify_all()

    def _watch(self) -> None:
        self.watched = bool(self._subscriptions) or self._iterating > 0

    def _deliver(self) -> None:
        while (found := self._due()) is not None:
            for subscription, notice in found:
                try:
                    subscription.fn(notice)
                except BaseException as error:
                    self._leave(subscription)
                    message = self._mask(f"a subscriber failed and was dropped: {error!r}")
                    warning("hosting", "%s", message)
                    self.add("warning", {"message": message})

    def _due(self) -> list[tuple[_Subscription, Notice]] | None:
        """Wait for what is to be delivered next; None when nothing will be."""
        with self._changed:
            while True:
                due = []
                for subscription in self._subscriptions:
                    if (notice := self._next(subscription.last)) is not None:
                        subscription.last = notice.number
                        due.append((subscription, notice))
                if due:
                    return due
                if self._over or not self._subscriptions:
                    self._delivering = None
                    return None
                self._changed.wait()


__all__ = ["KEPT", "Notices"]
