"""Find what a reference that does not resolve is meant to be: with words of other tools in it, or of a step before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.validation.domain.shapes import Shape, follow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.documents.tree import StepNode
    from gert_core.validation.domain.environment import Environment
    from gert_core.validation.domain.facts import FactTable

_HOLDERS: Final = frozenset(
    [
        "input",
        "inputs",
        "parameters",
        "params",
        "vars",
        "variables",
        "constants",
        "step",
        "steps",
        "output",
        "outputs",
        "result",
    ]
)
"""What other tools put around the names of inputs, of steps and of what steps put out."""


def shorter(path: Sequence[str], env: Environment, *places: tuple[int, ...]) -> str | None:
    """Return the path that is meant by one with words too many, which are at the first of ``places`` that fit."""
    for some in places:
        if any(place >= len(path) or path[place] not in _HOLDERS for place in some):
            continue
        whole = [segment for place, segment in enumerate(path) if place not in some]
        entry = env.names.get(whole[0]) if whole else None
        if entry is not None and isinstance(follow(entry.shape, whole, 1), Shape):
            return f"did you mean `.{'.'.join(whole)}`?"
    return None


def kept_apart(output: str, steps: Sequence[StepNode], env: Environment, facts: FactTable) -> str | None:
    """Return how to read an output where the only step before that has it does not make it a name of its own."""
    found = [step for step in steps if step.id in env.names and output in facts.of(step).outputs]
    if len(found) != 1:
        return None
    (step,) = found
    if step.fields.for_each is not None:
        return f"add `export: [{output}]` to `{step.id}`: `.{output}` is then what each of its items has"
    return f"read `.{step.id}.{output}`, or add `export: [{output}]` to `{step.id}`"


__all__ = ["kept_apart", "shorter"]
