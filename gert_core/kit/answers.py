"""Read answers to questions: one grammar for the prompt of a step and for answers that are given later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

DECLINED: Final = "rejected by the operator"
"""The reason of a person who declines without one."""
_YES: Final = ("y", "yes")
_NO: Final = ("n", "no")


def declined(kind: str, text: str) -> str | None:
    """Return why a question is declined by a line: ``reject [REASON]``, or ``no`` to a confirmation; else ``None``."""
    text = text.strip()
    word, _, reason = text.partition(" ")
    if word.lower() == "reject":
        return reason.strip() or DECLINED
    return DECLINED if kind == "confirm" and text.lower() in _NO else None


def confirmed(text: str) -> bool:
    """Return whether a line confirms: Enter or ``yes``."""
    low = text.strip().lower()
    return not low or low in _YES


def chosen(text: str, options: Sequence[str]) -> str | None:
    """Return the option that a line means, by its words, else by its number; ``None`` when it means none."""
    text = text.strip()
    for option in options:
        if option.casefold() == text.casefold():
            return option
    return options[int(text) - 1] if text.isdecimal() and 1 <= int(text) <= len(options) else None


def ticked(text: str, items: Sequence[str]) -> dict[str, bool] | None:
    """Return which items of a checklist a line says are done; ``None`` when it says nothing of them."""
    low = text.strip().lower()
    if low == "all" or low in _YES:
        return dict.fromkeys(items, True)
    if low == "none" or low in _NO:
        return dict.fromkeys(items, False)
    words = low.replace(",", " ").split()
    if not words or not all(word.isdecimal() and 1 <= int(word) <= len(items) for word in words):
        return None
    done = {int(word) - 1 for word in words}
    return {item: index in done for index, item in enumerate(items)}


def answer_fault(kind: str, items: Sequence[str], text: str) -> str | None:
    """Return the sentence about a line that is not an answer to a question of this kind; ``None`` when it is one."""
    if kind == "confirm":
        return None if confirmed(text) else "Answer with Enter or `yes`, or with `no`."
    if kind == "checklist":
        known = f"numbers from 1 to {len(items)}, `all` or `none` (`yes`, `no`)"
        return None if ticked(text, items) is not None else f"Answer with {known}."
    if kind == "choice":
        known = f"a number from 1 to {len(items)}, or with one of the answers"
        return None if chosen(text, items) is not None else f"Answer with {known}."
    return None if text.strip() else "An answer is needed."


__all__ = ["DECLINED", "answer_fault", "chosen", "confirmed", "declined", "ticked"]
