"""Count the steps of a run, and name who approved what, in a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api.results import RunStatus, StepStatus
from gert_core.cli.render.durations import in_words
from gert_core.kit.display import readable_key
from gert_core.runs.result import failed_by_itself

if TYPE_CHECKING:
    from gert_core.runs.state import RunState, StepState

_MOST: Final = 5
"""How many approvals are named."""
_OPEN: Final = {RunStatus.CANCELLED: "interrupted", RunStatus.FAILED: "interrupted", RunStatus.ERROR: "interrupted"}


def steps_line(state: RunState) -> str:
    """Return ``  steps: 12 done, 1 skipped, 1 failed and continued``; nothing for a run without steps."""
    done = skipped = still = 0
    failed = []
    for record in state.steps.values():
        if record.container and record.key not in state.failing and not _failed_alone(record):
            continue
        if not record.done:
            still += 1
        elif record.failed:
            failed.append(record)
        elif record.status == StepStatus.SKIPPED:
            skipped += 1
        else:
            done += 1
    fatal = sum(record.key in state.failing for record in failed) if failed else 0
    continued = sum(not record.quiet and record.key not in state.failing for record in failed) if failed else 0
    if state.status == RunStatus.CANCELLED:
        fatal, continued = fatal + continued, 0
    counts = {
        "done": done,
        "skipped": skipped,
        "failed and continued": continued,
        "failed": fatal,
        _OPEN.get(RunStatus(state.status), "waiting") if still else "": still,
    }
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"  steps: {told}" if told else ""


def _failed_alone(record: StepState) -> bool:
    """Return whether a step with others in it failed although none of them says so: a wait whose time was up."""
    if not record.failed or record.quiet:
        return False
    of_item = str((record.failure or {}).get("message")).startswith(f"item {record.key}[")
    return not of_item and failed_by_itself(record.key, record.failure)


def approvals_line(state: RunState) -> str:
    """Return ``  approvals: restart by alice (waited 42s)``; nothing for a run that needed none."""
    told = [_approval(key, known, state) for key, known in state.approvals.items()]
    more = [f"{len(told) - _MOST} more"] if len(told) > _MOST else []
    return f"  approvals: {', '.join([*told[:_MOST], *more])}" if told else ""


def _approval(key: str, known: dict[str, Any], state: RunState) -> str:
    name, status = readable_key(key), str(known.get("status"))
    who = known.get("approvers") if status == "approved" else [known["rejected_by"]] if "rejected_by" in known else ()
    people = " and ".join(map(str, who or ()))
    if status == "pending":
        return f"{name} pending"
    record = state.steps.get(key)
    waited = f" (waited {in_words(record.waited)})" if record is not None and record.waited else ""
    how = "" if status == "approved" else f" {status}"
    return f"{name}{how}{f' by {people}' if people else ''}{waited}"


__all__ = ["approvals_line", "steps_line"]
