"""Read answers to questions: one grammar for the prompt of a step and for answers that are given later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

DECLINED: Final = "rejected by the operator"
"""The reason of a person who declines without one."""
_DIGITS: Final = 9
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
    return options[int(text) - 1] if _is_number(text, len(options)) else None


def ticked(text: str, items: Sequence[str]) -> dict[str, bool] | None:
    """Return which items of a checklist a line says are done; ``None`` when it says nothing of them."""
    low = text.strip().lower()
    if low == "all" or low in _YES:
        return dict.fromkeys(items, True)
    if low == "none" or low in _NO:
        return dict.fromkeys(items, False)
    done = _numbers(low, len(items))
    done = done if done is not None else _listed(text, items)
    return None if done is None else {item: index in done for index, item in enumerate(items)}


def _numbers(text: str, most: int) -> set[int] | None:
    """Return the places of the items that a line lists by number; ``None`` when it lists them otherwise."""
    words = text.replace(",", " ").split()
    if not words or not all(_is_number(word, most) for word in words):
        return None
    return {int(word) - 1 for word in words}


def _is_number(word: str, most: int) -> bool:
    """Return whether a word is the number of one of so many items; Python refuses to read very long ones."""
    return word.isdecimal() and len(word) <= _DIGITS and 1 <= int(word) <= most


def _listed(text: str, items: Sequence[str]) -> set[int] | None:
    """Return the places of the items that a line lists by their words; ``None`` unless it can be read in one way only.

    An item may have commas itself, so it may go on behind one.
    """
    places: dict[str, set[int]] = {}
    called: dict[str, set[str]] = {}
    for index, item in enumerate(map(_spaced, items)):
        places.setdefault(item, set()).add(index)
        called.setdefault(item.casefold(), set()).add(item)
    parts = text.strip(" ,").split(",")
    longest = 1 + max((item.count(",") for item in items), default=0)
    readings: list[set[int] | None] = [set(), *([None] * len(parts))]
    for end in range(1, len(parts) + 1):
        for start in range(max(end - longest, 0), end):
            before, words = readings[start], _spaced(",".join(parts[start:end]))
            if before is None or not words:
                continue
            found = _numbers(words, len(items)) if end - start == 1 else None
            if found is None:
                names = {words} if words in places else called.get(words.casefold(), set())
                found = {place for name in names for place in places[name]}
                if len(names) > 1:
                    return None
            if not found:
                continue
            if readings[end] is not None:
                return None
            readings[end] = before | found
    return readings[-1]


def _spaced(text: str) -> str:
    return " ".join(text.split())


def answer_fault(kind: str, items: Sequence[str], text: str) -> str | None:
    """Return the sentence about a line that is not an answer to a question of this kind; ``None`` when it is one."""
    if kind == "confirm":
        return None if confirmed(text) else "Answer with Enter or `yes`, or with `no`."
    if kind == "checklist":
        known = f"numbers from 1 to {len(items)}, `all` or `none` (`yes`, `no`), or with the items themselves"
        return None if ticked(text, items) is not None else f"Answer with {known}."
    if kind == "choice":
        known = f"a number from 1 to {len(items)}, or with one of the answers"
        return None if chosen(text, items) is not None else f"Answer with {known}."
    return None if text.strip() else "An answer is needed."


__all__ = ["DECLINED", "answer_fault", "chosen", "confirmed", "declined", "ticked"]
