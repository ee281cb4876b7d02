"""Record summaries for the run as a whole: what a step tells, its checkpoint, and the artifacts that steps read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, EventType, RunError, StepProblem, Undecided
from gert_core.engine.flow.frame import again_in
from gert_core.engine.steps.emitting import is_left_open
from gert_core.engine.trees import copy_data
from gert_core.runs.lifecycle.progress import TASK_PROGRESS, UNIT_STATES, task_units
from gert_core.runs.lifecycle.summaries import ARTIFACT, CHECKPOINT, POLICY_APPROVAL, POLICY_DECISION
from gert_core.values import canonical

if TYPE_CHECKING:
    from gert_core.engine.steps.execution import StepExecution

LIMIT: Final = 256 * 1024
"""The most bytes that the payload of a summary has as JSON."""
_RESERVED: Final = (CHECKPOINT, POLICY_APPROVAL, POLICY_DECISION)


def check_summary(summary_type: str, payload: Mapping[str, object]) -> None:
    """Raise ``TypeError`` for what is not a summary, ``RunError`` for one that the core makes."""
    if not isinstance(summary_type, str) or not summary_type.strip() or not isinstance(payload, Mapping):
        raise TypeError("a summary has a type and a map as payload")
    if summary_type.startswith(_RESERVED):
        message = f"a step must not write the summary {summary_type}: the core does"
        raise RunError(message, kind=ErrorKind.EVENT_RESERVED)
    if summary_type.startswith(ARTIFACT) and not {"value"} <= payload.keys() <= {"value", "schema"}:
        raise TypeError("the payload of an artifact has a value and may have a schema")
    if summary_type == TASK_PROGRESS and not task_units(payload):
        raise TypeError(f"task_progress has units with an id and a state: {', '.join(UNIT_STATES)}")


def summarise(execution: StepExecution, summary_type: str, payload: Mapping[str, object]) -> None:
    """Write a summary; raise ``TypeError`` when it is not JSON, ``StepProblem`` when it is too large.

    Nothing is written in dry-run and probe.
    """
    if execution.services.backend.symbolic or is_left_open(execution):
        return
    masker = execution.services.masker
    masked = masker.mask(dict(payload)) if masker.count else dict(payload)
    try:
        size = len(canonical(masked))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"the summary {summary_type!r} is not JSON: {error}") from None
    if size > LIMIT:
        message = f"the summary {summary_type} has {size} bytes as JSON, more than {LIMIT}"
        raise StepProblem(ErrorKind.OUTPUT_TOO_LARGE, message)
    execution.add(EventType.RUN_SUMMARY, summary_data(execution, summary_type, masked))


def summary_data(execution: StepExecution, summary_type: str, payload: Mapping[str, object]) -> dict[str, object]:
    """Return the data of a ``run_summary``."""
    return {"step_id": execution.compiled.id, "summary_type": summary_type, "payload": payload}


def read_artifact(execution: StepExecution, key: str) -> Any:
    """Return a copy of the latest value of an artifact of the run, None when there is none."""
    services = execution.services
    if services.backend.symbolic:
        raise Undecided(f"the artifact {key!r}")
    told = _latest(execution, f"{ARTIFACT}{key}")
    value = services.masker.unmask((told.get("payload") or {}).get("value"))
    if services.recorded is not None:
        services.recorded.lost.refuse({key: value})
    return copy_data(value)


def apart(execution: StepExecution) -> str:
    """Return what keeps the artifacts of a step apart that runs more than once: items, rounds, visits and runbooks."""
    return f"{execution.frame.passed}{again_in(execution.key)}"


def _latest(execution: StepExecution, name: str) -> Mapping[str, Any]:
    """Return the summary of an artifact: the one of the pass that the step is in, else the latest of all passes."""
    summaries = execution.services.journal.state.summaries
    if (own := execution.frame.passed) and (told := summaries.get(f"{name}{own}")) is not None:
        return told
    found = [told for one, told in tuple(summaries.items()) if one == name or one.startswith((f"{name}[", f"{name}#"))]
    return max(found, key=lambda told: int(told["seq"]), default={})


def recorded_types(execution: StepExecution) -> set[object]:
    """Return the types of the summaries that an earlier process wrote for a step with blocks, or for a loop."""
    recorded, found, number = execution.services.recorded, set[object](), 0
    if recorded is None or (execution.compiled.leaf and not execution.collected):
        return found
    while (event := recorded.event(execution.key, EventType.RUN_SUMMARY, number)) is not None:
        found.add(event.get("summary_type"))
        number += 1
    return found


def types_since(execution: StepExecution) -> set[object]:
    """Return the types of the summaries of a leaf that was stated to be done, and of all that came after it."""
    state = execution.services.journal.state
    ended = state.steps[execution.key].ended
    told = state.summaries.items()
    return {name for name, one in told if one["step_key"] == execution.key or one["seq"] > ended}


def keep_checkpoint(execution: StepExecution, name: str, known: set[object]) -> None:
    """Record the state of the run after a step, unless an earlier process did; a loop has one, its items none."""
    summary_type = f"{CHECKPOINT}{name}"
    if execution.item is not None or summary_type in known:
        return
    digest = execution.services.digest(execution.layer.names_visible())
    payload = {"step_key": execution.key, "state_hash": digest}
    execution.add(EventType.RUN_SUMMARY, summary_data(execution, summary_type, payload), fresh=True)


__all__ = [
    "LIMIT",
    "apart",
    "check_summary",
    "keep_checkpoint",
    "read_artifact",
    "recorded_types",
    "summarise",
    "summary_data",
    "types_since",
]
