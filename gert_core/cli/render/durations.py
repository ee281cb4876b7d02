"""Format how long something took, and how long people were waited for, in words."""

from __future__ import annotations

from gert_core.kit.time_spans import recorded_seconds


def time_taken(duration: object, waited: object) -> str:
    """Return a duration as it is recorded, with the time that it leaves out: ``4.204s (waited 3m 10s for people)``."""
    return f"{duration}" if waited is None else f"{duration} (waited {in_words(str(waited))} for people)"


def in_words(waited: str) -> str:
    """Return a recorded time as people say it: ``3.2s``, ``3m 10s``."""
    seconds = recorded_seconds(waited)
    return waited if seconds is None else elapsed(seconds)


def elapsed(seconds: float, *, digits: int = 1) -> str:
    """Return seconds as people say them: ``3.2s``, ``2m 05s``, ``1h 02m``."""
    if seconds < 60:
        return f"{seconds:.{digits}f}s"
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {left:02}s"


__all__ = ["elapsed", "in_words", "time_taken"]
