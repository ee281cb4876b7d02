"""Format how long something took, and how long people were waited for, in words."""

from __future__ import annotations


def time_taken(duration: object, waited: object) -> str:
    """Return a duration as it is recorded, with the time that it leaves out: ``4.204s (waited 3m 10s for people)``."""
    return f"{duration}" if waited is None else f"{duration} (waited {in_words(str(waited))} for people)"


def in_words(waited: str) -> str:
    """Return a recorded time as people say it: ``3.2s``, ``3m 10s``."""
    try:
        seconds = float(waited.removesuffix("s"))
    except ValueError:
        return waited
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {left}s"


__all__ = ["in_words", "time_taken"]
