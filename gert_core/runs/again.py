"""What can be done once more with a run: what a retry would repeat, and the words that start or resume it again."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Final

from gert_core.api.results import StepStatus
from gert_core.secrets.search import MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.api.stores import StoredRun
    from gert_core.runs.state import RunState

GIVEN: Final = ("cli", "file", "scenario", "none")
"""Sources of inputs that cannot be asked again: the value was given with the command."""
_LONGEST: Final = 200
"""The longest value that a command shows."""
_LEFT_OUT: Final = "…"


def given_again(state: RunState) -> tuple[str, ...]:
    """Return the words for secret inputs that were given with a command, with an ellipsis where the value goes."""
    sources = state.facts.get("input_sources") or {}
    names = (name for name in state.secret_inputs if sources.get(name) in GIVEN)
    return tuple(word for name in names for word in ("--var", f"{name}={_LEFT_OUT}"))


def resume_command(run_id: str, state: RunState | None) -> str:
    """Return the command that resumes a run, without ``--store``; secret inputs are named that it has to be given."""
    return shlex.join(("gert", "resume", "--run", run_id, *(() if state is None else given_again(state))))


def resuming(run: StoredRun) -> str:
    """Return the command that resumes a run in its store."""
    from gert_core.runs.listing import run_info

    return f"{resume_command(run.run_id, run_info(run).state)}{run.option}"


def started_again(state: RunState) -> tuple[str, ...]:
    """Return the command that starts a run like this one; empty when that is not known.

    Inputs that came from elsewhere are asked for there again. An ellipsis stands for secrets and for long values.
    """
    facts = state.facts
    if facts.get("mode") != "real" or not facts.get("runbook_path"):
        return ()
    words = ["gert", "exec", str(facts["runbook_path"]), *_values(state), *given_again(state)]
    for file in facts.get("policy_files") or ():
        words += ("--policy", str(file))
    if facts.get("approval_provider"):
        words += ("--approval", str(facts["approval_provider"]))
    return tuple(words)


def _values(state: RunState) -> Iterator[str]:
    sources = state.facts.get("input_sources") or {}
    for name, value in (state.facts.get("inputs") or {}).items():
        if name in state.secret_inputs or sources.get(name) not in GIVEN or value is None:
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield from ("--var", f"{name}={text if len(text) <= _LONGEST and MARK not in text else _LEFT_OUT}")


def retried_whole(state: RunState) -> Callable[[str], bool]:
    """Return what tells of a key whether a retry runs that step again together with all of a step around it."""
    owners = [str(owner) for name in ("cleaned", "whole") for owner in state.result.get(name) or ()]
    below = tuple(f"{owner}{sign}" for owner in owners if owner for sign in "/[")
    return lambda key: "" in owners or key.startswith(below)


def fails_again(state: RunState) -> list[str]:
    """Return the failing steps that fail again when they are retried: they compute the same from the same results."""
    inside = retried_whole(state)
    known = ((key, state.steps.get(key)) for key in state.failing)
    return [
        key
        for key, record in known
        if record is not None and record.computes and record.status == StepStatus.FAILED and not inside(key)
    ]


__all__ = ["GIVEN", "fails_again", "given_again", "resume_command", "resuming", "retried_whole", "started_again"]
