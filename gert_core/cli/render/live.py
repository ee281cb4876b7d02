"""What is happening now, as the lines of a block: a summary, loops with a bar, and a line per running leaf."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gert_core.cli.render.durations import elapsed
from gert_core.cli.render.terminal import escape, paint, spelled
from gert_core.kit.escaping import cut

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from gert_core.engine.progress import StepInfo

MOST: Final = 10
"""The most lines of the block; it also takes no more than a third of the height."""
_BAR: Final = 6


class Leaf:
    """A step that runs: what it said last about what it does, and the last line that its tool wrote."""

    __slots__ = ("attempt", "line", "reminded", "said", "since", "step")

    def __init__(self, step: StepInfo) -> None:
        self.step = step
        self.since = time.monotonic()
        """When it began, or will: between two attempts."""
        self.said = self.attempt = self.line = ""
        self.reminded = 0
        """How often a line said that it runs, where no block does."""

    @property
    def age(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self.since

    def wait(self, attempt: str, delay: float) -> None:
        """Take note that another attempt begins after ``delay`` seconds."""
        self.attempt, self.line, self.since = attempt, "", time.monotonic() + delay

    def is_due(self, start: float, again: float) -> bool:
        """Return whether a line is to say that it runs, and count that line."""
        due = self.age >= (start if self.reminded == 0 else again * self.reminded)
        self.reminded += due
        return due

    def text(self, title: str) -> str:
        """Return what is shown of it behind the mark."""
        said = "".join(f"  {text}" for text in (self.said, self.attempt) if text)
        age = self.age
        taken = elapsed(age) if age >= 0 else f"in {-age:.0f}s"
        return f"{title}{said}  {taken}" + (f"  {self.line}" if self.line else "")


class Loop:
    """The items of a ``for_each``."""

    __slots__ = ("done", "failed", "name", "since", "total")

    def __init__(self, name: str) -> None:
        self.name = name
        self.since = time.monotonic()
        self.done = self.failed = self.total = 0

    def text(self) -> str:
        """Return what is shown of it behind the mark."""
        filled = _BAR * self.done // self.total if self.total else 0
        bar = "█" * filled + "░" * (_BAR - filled)
        failed = f"  {self.failed} failed" if self.failed else ""
        return f"{self.name}  {bar} {self.done}/{self.total}{failed}  {elapsed(time.monotonic() - self.since)}"


class Live:
    """The steps that run now and how many are over; the caller holds the lock of the screen."""

    def __init__(self, stream: TextIO, titled: Callable[[StepInfo], str]) -> None:
        self._stream = stream
        self._titled = titled
        self.name = ""
        """The name of the runbook."""
        self.began = time.monotonic()
        self.loops: dict[str, Loop] = {}
        self.leaves: dict[str, Leaf] = {}
        """By step key, in the order they began."""
        self.containers: dict[str, str] = {}
        """What steps with lines of their own for each of their steps said last, by step key; shown when they fail."""
        self.waiting: set[str] = set()
        """Keys of steps that wait for people."""
        self._over = [0, 0, 0]

    def count(self, *, failed: bool, skipped: bool) -> None:
        """Count a leaf that is over."""
        self._over[1 if failed else 2 if skipped else 0] += 1

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return the lines of the block for a terminal of this size; none when nothing runs."""
        most = min(MOST, rows // 3)
        running = len(self.loops) + len(self.leaves)
        if most < 1 or not running:
            return []
        room = most - 1 if running < most else max(most - 2, 0)
        texts = [loop.text() for _, loop in zip(range(room), self.loops.values(), strict=False)]
        left = room - len(texts)
        texts += [
            leaf.text(self._titled(leaf.step)) for _, leaf in zip(range(left), self.leaves.values(), strict=False)
        ]
        found = [paint(self._fit(self._summary(), columns), "bold", stream=self._stream)]
        arrow = paint(spelled("→", self._stream), "cyan", stream=self._stream)
        found += [f"{arrow} {self._fit(text, columns - 3)}" for text in texts]
        if running > room and most > 1:
            found.append(self._fit(f"+{running - room} more", columns))
        return found

    def _summary(self) -> str:
        done, failed, skipped = self._over
        counts = {"failed": failed, "skipped": skipped, "running": len(self.leaves), "waiting": len(self.waiting)}
        told = ", ".join([f"{done} done", *(f"{count} {word}" for word, count in counts.items() if count)])
        return f"{self.name}  {elapsed(time.monotonic() - self.began, digits=0)}  {told}"

    def _fit(self, text: str, columns: int) -> str:
        """Return a text in which every character is seen, short enough to leave the last column free."""
        return cut(spelled(escape(text), self._stream), max(columns - 1, 0))


__all__ = ["Leaf", "Live", "Loop"]
