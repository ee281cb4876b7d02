"""Find where fields, and the lists of a step's blocks, stand inside a step as the document has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gert_core.api import Block
    from gert_core.documents.tree import Path


def places_of(raw: object, blocks: Sequence[Block]) -> list[Path]:
    """Return where the list of each block stands inside its step; nothing inside those lists is looked at.

    A list that the type made itself stands nowhere; its block's number, which no field has as its name, makes its
    path different from all others.
    """
    places: list[Path] = [(number,) for number in range(len(blocks))]
    missing = list(range(len(blocks)))
    stack: list[tuple[Path, object]] = [((), raw)]
    while stack and missing:
        path, value = stack.pop()
        if isinstance(value, dict):
            parts: Iterable[tuple[str | int, object]] = value.items()
        else:
            assert isinstance(value, list)  # noqa: S101 - nothing else is put there
            number = next((n for n in missing if blocks[n].steps is value), None)
            if number is not None:
                places[number] = path
                missing.remove(number)  # mostly the first: types list their blocks in the order of the document
                continue
            parts = enumerate(value)
        stack.extend([((*path, key), part) for key, part in parts if isinstance(part, (dict, list))][::-1])
    return places


def has_field(raw: object, field: list[str]) -> bool:
    """Return whether a map has a field, given by its path."""
    for name in field:
        if not isinstance(raw, dict) or name not in raw:
            return False
        raw = raw[name]
    return True


__all__ = ["has_field", "places_of"]
