"""Remove the invalid parts of a runbook's head, so that everything else can still be validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.documents.model_errors import ModelError

UNNAMED: Final = "unnamed"
_META, _INPUTS, _NAME = "meta", "inputs", "name"
_VARIABLES: Final = frozenset({_INPUTS, "constants"})


def without_invalid(value: dict[str, Any], found: Iterable[ModelError]) -> tuple[dict[str, Any], frozenset[str]]:
    """Return a copy of the head without the places of ``found``, and the fields whose absence now proves nothing.

    An invalid input keeps its name and gets the type ``any``; an invalid entry of a list of the document is removed
    alone; anything else is removed with the whole field of ``meta`` or of the document.
    """
    copy = dict(value)
    meta = dict(copy[_META]) if isinstance(copy.get(_META), dict) else {}
    inputs = dict(meta[_INPUTS]) if isinstance(meta.get(_INPUTS), dict) else {}
    gaps: set[str] = set()
    gone: dict[str, set[int]] = {}
    for item in found:
        top, *below = (*item.path, None, None)[:3]
        if top == _META and isinstance(below[0], str):
            if below[0] == _INPUTS and isinstance(below[1], str) and not item.on_key:
                inputs[below[1]] = {"type": "any"}
                continue
            if below[0] == _INPUTS and isinstance(below[1], str):
                inputs.pop(below[1], None)
            else:
                meta.pop(below[0], None)
            gaps.add(below[0])
        elif top != _META and isinstance(below[0], int):
            gone.setdefault(str(top), set()).add(below[0])
        elif top != _META:
            copy.pop(str(top), None)
            gaps.add(str(top))
        else:
            gaps |= _VARIABLES
    if _INPUTS in meta:
        meta[_INPUTS] = inputs
    for name, places in gone.items():
        copy[name] = [entry for index, entry in enumerate(value[name]) if index not in places]
        gaps.add(name)
    if not isinstance(meta.get(_NAME), str) or not meta[_NAME]:
        meta[_NAME] = UNNAMED
    return {**copy, _META: meta}, frozenset(gaps)


def hides_variables(gaps: frozenset[str]) -> bool:
    """Return whether inputs or constants may be missing from a head with these gaps."""
    return bool(gaps & _VARIABLES)


__all__ = ["UNNAMED", "hides_variables", "without_invalid"]
