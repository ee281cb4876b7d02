"""What a person must give again to a command that resumes a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gert_core.runs.state import RunState

GIVEN: Final = ("cli", "file", "scenario", "none")
"""Sources of inputs that cannot be asked again: the value was given with the command."""


def given_again(state: RunState) -> tuple[str, ...]:
    """Return the words for secret inputs that were given with a command, with an ellipsis where the value goes."""
    sources = state.facts.get("input_sources") or {}
    names = (name for name in state.secret_inputs if sources.get(name) in GIVEN)
    return tuple(word for name in names for word in ("--var", f"{name}=…"))


__all__ = ["GIVEN", "given_again"]
