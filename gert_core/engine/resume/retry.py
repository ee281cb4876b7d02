"""Find what ``--retry-failed`` runs again: failing steps, failures caught below them, and what depends on these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import ErrorKind, RunError, RunStatus
from gert_core.runs.state import parent_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.documents.tree import Runbook
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.runs.state import RunState, StepState


def keys_to_retry(recorded: Recorded, runbook: Runbook) -> tuple[list[str], frozenset[str]]:
    """Return the keys whose records become void, and those of them that are void together with all of a step.

    Refuse when there is nothing to retry. These are the failing steps and the steps around them. Below a failing step
    whose type caught failures it is those failures. Where a step ran another block after the failure, everything below
    that step becomes void: earlier results may no longer hold. So it does where cleanup opened a key, for the outermost
    such step, or for the whole run after its own cleanup; and below a step that failed although no step in it did: with
    the same results it would fail again.
    """
    state = recorded.state
    _refuse_rejected(state)
    failed = [key for key in state.failing if key in state.steps]
    failed += _caught(state, frozenset(failed), runbook)
    keys: dict[str, None] = {}
    for key in failed:
        for one in (key, *around(key)):
            keys[one] = None
    for owner in _restarted(state, failed, recorded.forked):
        keys |= dict.fromkeys(_below(state, owner))
    whole = frozenset(_whole(state, failed, runbook))
    keys |= dict.fromkeys(key for key in state.steps if key in whole)
    found = [key for key in keys if key in state.steps]
    if not found:
        why = (state.failure or {}).get("message") or "no step failed"
        goes_on = state.resumable and state.status not in (RunStatus.FAILED, RunStatus.ERROR)
        raise RunError(
            f"run {state.run_id} has no failed step to run again: {why}",
            kind=ErrorKind.NOT_RESUMABLE,
            hint=f"resume it where it stopped: gert resume --run {state.run_id}" if goes_on else "start a new run",
        )
    return found, whole


def risky_keys(state: RunState, void: list[str]) -> list[StepState]:
    """Return the leaves among void keys that acted, write and are not idempotent: to repeat them is a decision."""
    records = (state.steps[key] for key in void)
    return [record for record in records if record.unrepeatable and not record.container]


def _refuse_rejected(state: RunState) -> None:
    for key in state.unapproved:
        raise RunError(
            f"step {key} was not approved, and a run asks once for the approval of a step",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="start a new run",
        )


def _caught(state: RunState, failing: frozenset[str], runbook: Runbook) -> list[str]:
    """Return the failed steps below failing ones: what the types of these have caught."""
    found = []
    for key, record in state.steps.items():
        if not record.failed or key in failing:
            continue
        for one in (key, *around(key)):
            if one in failing:
                found.append(key)
                break
            if _continued(state.steps.get(one), runbook):
                break  # the run went on after it, so it did not make the step around it fail
    return found


def _continued(record: StepState | None, runbook: Runbook) -> bool:
    found = runbook.find(record.key) if record is not None else None
    return found is not None and bool(found[1].fields.continue_on_fail)


def _restarted(state: RunState, failed: list[str], forked: frozenset[str]) -> Iterator[str]:
    """Yield the steps that ran another block after one of these failures, concurrent branches aside."""
    begun = {key: number for number, key in enumerate(state.steps)}
    for owner in {owner: None for key in failed for owner in around(key)}:
        inside = f"{owner}/"
        below = [key for key in begun if key.startswith(inside)]
        passes: dict[str, int] = {}
        for key in below:
            passes.setdefault(_pass(key, owner), begun[key])
        last = max((number for prefix, number in passes.items() if prefix not in forked), default=-1)
        if any(begun[key] < last for key in failed if key.startswith(inside)):
            yield owner


def _whole(state: RunState, failed: list[str], runbook: Runbook) -> Iterator[str]:
    """Yield the keys below the steps of which a retry runs everything again."""
    for owner in (*cleaned_owners(state, failed, runbook), *own_failures(state, state.failing, runbook)):
        yield from _below(state, owner) if owner else state.steps


def own_failures(state: RunState, failing: Sequence[str], runbook: Runbook) -> list[str]:
    """Return the failing steps in which no step failed: what these answered was not what their step type needed.

    A failure that is shown as part of such a step was an answer, too, and so was one after which the run went on.
    """
    owners = [key for key in failing if (record := state.steps.get(key)) is not None and record.container]
    caught = _caught(state, frozenset(owners), runbook) if owners else []
    loud = [key for key in caught if not state.steps[key].quiet]
    return [owner for owner in owners if not any(key.startswith((f"{owner}/", f"{owner}[")) for key in loud)]


def cleaned_owners(state: RunState, failed: Sequence[str], runbook: Runbook) -> list[str]:
    """Return the steps around failures whose cleanup has begun; an empty key is the run, whose cleanup is after all."""
    cleaned = set()
    for key in state.steps:
        found = runbook.find(key)
        node = found[1] if found is not None else None
        if node is not None and node.within is not None and node.within.cleanup and not key.endswith("]"):
            cleaned.add(parent_key(key))
    if "" in cleaned and failed:
        return [""]
    return [owner for owner in dict.fromkeys(owner for key in failed for owner in around(key)) if owner in cleaned]


def _pass(key: str, owner: str) -> str:
    """Return the prefix of the keys of one pass over a block of ``owner``; it has a number, or is the only one."""
    number, slash, _ = key[len(owner) + 1 :].partition("/")
    return f"{owner}/{number}/" if slash and number.isdigit() else f"{owner}/"


def around(key: str) -> Iterator[str]:
    """Yield the keys of the steps around a step, innermost first."""
    while key := parent_key(key):
        yield key


def _below(state: RunState, owner: str) -> Iterator[str]:
    return (key for key in state.steps if key.startswith((f"{owner}/", f"{owner}[")))


__all__ = ["around", "cleaned_owners", "keys_to_retry", "own_failures", "risky_keys"]
