"""Decide about one run of a watched runbook: the line that is printed, and whether the loop stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.kit.escaping import escape
from gert_core.kit.time_spans import recorded_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from gert_watch.command import WatchOptions

_GOOD: Final = ("resolved", "no_action")
_PENDING: Final = ("approval_pending", "answer_pending", "blocked")
_COLUMN: Final = 27
"""How wide the outcome is, so that the times of most lines stand below each other."""
FAILED: Final = 1
FAIL_ON: Final = 4


class Line(Struct, frozen=True, kw_only=True):
    """What a run came to."""

    mark: str
    label: str
    duration: str = ""
    stop: str = ""
    """Why the loop stops; empty: it goes on."""
    code: int = 0

    def text(self, began: datetime) -> str:
        """Return the line of the run."""
        text = f"{began:%H:%M:%S}  {self.mark} {escape(self.label):<{_COLUMN}}  {self.duration}".rstrip()
        return f"{text}  ← stopping ({self.stop})" if self.stop else text


def line_of(end: Mapping[str, Any], wanted: WatchOptions) -> Line:
    """Return what a run came to, given what its end told: the ``result``, or an ``error``."""
    if "error" in end:
        return Line(mark="✗", label=_named("error", end["error"].get("kind")), stop="error", code=FAILED)
    result = end["result"]
    status, outcome = str(result["status"]), result.get("outcome")
    duration = seconds(result.get("duration"))
    if status in _PENDING:
        return Line(mark="…", label=status, duration=duration, stop=status, code=wanted.pending_exit_code)
    if status == "completed":
        category = str((outcome or {}).get("category") or status)
        stop = f"--stop-on {category}" if category in wanted.stop_on else ""
        return Line(
            mark="✓" if outcome is None or category in _GOOD else "✗",
            label=_named(category, (outcome or {}).get("code")),
            duration=duration,
            stop=stop,
            code=FAILED if stop else 0,
        )
    failure = result.get("failure") or {}
    # A probe looks ahead: that something would fail is what it is for.
    goes_on = status == "failed" and wanted.start.get("mode") == "probe"
    return Line(
        mark="✗",
        label=_named(status, failure.get("kind")),
        duration=duration,
        stop="" if goes_on else status,
        code=0 if goes_on else FAILED,
    )


def seconds(text: object) -> str:
    """Return a duration as it is recorded (``4.204s``) in tenths of seconds, or in minutes and seconds."""
    taken = recorded_seconds(text)
    if taken is None:
        return ""
    if taken < 60:
        return f"{taken:.1f}s"
    minutes, left = divmod(round(taken), 60)
    return f"{minutes}m {left}s"


def _named(word: str, code: object) -> str:
    return f"{word} ({code})" if code else word


__all__ = ["FAILED", "FAIL_ON", "Line", "line_of", "seconds"]
