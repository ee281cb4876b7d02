"""A runbook's head with its faulty places left out, so that everything else can still be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.documents.problems import Finding

UNNAMED: Final = "unnamed"
_META, _INPUTS, _NAME = "meta", "inputs", "name"
_VARIABLES: Final = frozenset({_INPUTS, "constants"})


def mended(value: dict[str, Any], found: Iterable[Finding]) -> tuple[dict[str, Any], frozenset[str]]:
    """A copy of the head without the places of ``found``, and the fields whose absence now proves nothing.

    A faulty input keeps its name and may hold anything; of everything else the whole field of ``meta`` or of the
    document goes, a single entry of a list of the document alone.
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
    """Whether inputs or constants may be missing from a mended head."""
    return bool(gaps & _VARIABLES)


__all__ = ["UNNAMED", "hides_variables", "mended"]
