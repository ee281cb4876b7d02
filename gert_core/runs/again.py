"""The command that resumes a run, with what a person must give again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gert_core.runs.state import RunState

GIVEN: Final = ("cli", "file", "scenario", "none")
"""Sources of inputs that cannot be asked again: the value was given with the command."""


def resume_command(run_id: str, state: RunState | None, option: str) -> str:
    """Return the command; secret inputs that were given with the last one are given again.

    ``option`` names the store, where that is not the one of the project.
    """
    words = [f"gert resume --run {run_id}{option}"]
    if state is not None:
        sources = state.facts.get("input_sources") or {}
        words += [f"--var {name}=…" for name in state.secret_inputs if sources.get(name) in GIVEN]
    return " ".join(words)


__all__ = ["GIVEN", "resume_command"]
