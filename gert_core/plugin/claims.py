"""Check what records claim: fields of other types' steps, other words for fields, schemes, keys of notifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api.notifiers import Notifier
    from gert_core.api.steps import StepType
    from gert_core.api.store_records import StoreType


def faulty_claim(types: Sequence[StepType]) -> str | None:
    """Return what is wrong with the claims of one plugin's step types, or None."""
    claiming = [found for found in types if found.claims]
    for found in claiming:
        if not isinstance(found.claims, str) or not _is_path(found.claims):
            return f"step type {found.name!r} claims {found.claims!r}; give the path of a field, such as 'loop.steps'"
        for other in claiming:
            if other is not found and overlap(found.claims, other.claims):
                return f"step types {found.name!r} and {other.name!r} both claim the field {found.claims!r}"
    return None


def faulty_words(types: Sequence[StepType]) -> str | None:
    """Return what is wrong with the words by which one plugin's step types are also called, or None."""
    for found in types:
        words: object = found.also_called
        if not isinstance(words, Mapping) or not all(isinstance(text, str) for pair in words.items() for text in pair):
            return f"step type {found.name!r} is also_called {words!r}; give a map of words to its fields"
    return None


def faulty_schemes(stores: Sequence[StoreType]) -> str | None:
    """Return what is wrong with the schemes of one plugin's stores, or None."""
    for found in stores:
        schemes: object = found.schemes
        if not isinstance(schemes, tuple | list) or not schemes or not all(map(_is_scheme, schemes)):
            return f"store {found.name!r} has the schemes {schemes!r}; give words such as ('acme',)"
        if "file" in schemes:
            return f"store {found.name!r} has the scheme 'file', which is part of the core"
    return None


def faulty_keys(notifiers: Sequence[Notifier]) -> str | None:
    """Return what is wrong with the keys or options of notifiers, or None."""
    for found in notifiers:
        for what, words in (("keys", found.keys), ("options", found.options)):
            if not isinstance(words, tuple | list) or not all(isinstance(word, str) and word for word in words):
                return f"notifier {found.name!r} has the {what} {words!r}; give words such as ('pager',)"
        if not found.keys:
            return f"notifier {found.name!r} has no keys, so no rule could choose it"
        if taken := {"on", "remind"}.intersection((*found.keys, *found.options)):
            return f"notifier {found.name!r} wants the field {min(taken)!r}, which every rule has"
    return None


def _is_scheme(text: object) -> bool:
    return isinstance(text, str) and text.isascii() and text.isalnum() and text[0].isalpha() and text == text.lower()


def _is_path(text: str) -> bool:
    """Return whether a text is names joined by dots."""
    if not text.isascii():
        return False
    return all(not part.startswith("-") and part.replace("-", "_").isidentifier() for part in text.split("."))


def contested(types: Mapping[str, StepType]) -> dict[str, list[str]]:
    """Return the names of the step types that claim a field which another one claims too, by that field."""
    claiming = {name: found.claims for name, found in types.items() if found.claims}
    found: dict[str, list[str]] = {}
    for path in dict.fromkeys(claiming.values()):
        rivals = [name for name, other in claiming.items() if overlap(path, other)]
        if len(rivals) > 1:
            found[path] = rivals
    return found


def overlap(one: str, other: str) -> bool:
    """Return whether two paths name the same field, or one a field inside the other."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


__all__ = ["contested", "faulty_claim", "faulty_keys", "faulty_schemes", "faulty_words", "overlap"]
