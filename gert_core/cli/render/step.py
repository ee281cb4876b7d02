"""Show one step of a run: how it stands, and everything that is recorded of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.cli.render.durations import time_taken
from gert_core.cli.render.runs import colour
from gert_core.cli.render.terminal import escape, out, paint
from gert_core.cli.render.timeline import as_json, belongs, fatal_keys, timeline
from gert_core.kit.display import readable_key
from gert_core.runs.document import step_json
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from gert_core.api.stores import StoredRun
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import StepState


def describe_step(info: RunInfo, step: str) -> None:
    """Print a step, by its id or key, with what is below it and its part of the timeline."""
    assert info.state is not None  # noqa: S101 - the caller looked
    for record in _records(info, step):
        status = info.step_status(record)
        taken = f" {escape(time_taken(record.duration, record.waited))}" if record.duration else ""
        attempts = f", {record.attempts} attempts" if record.attempts > 1 else ""
        kind = f"{escape(step_label(record))}"
        out(f"{kind}: {paint(escape(status), colour(status))}{taken}{attempts}")
    for line in timeline(read(info.run), step=step, kind=None, fatal=fatal_keys(info.state)):
        out(line)


def step_label(record: StepState) -> str:
    """Return a step's key with its type, which is not known of one that waits for an approval before it starts."""
    key = readable_key(record.key)
    return f"{key} ({record.type})" if record.type else key


def step_document(info: RunInfo, step: str) -> dict[str, object]:
    """Return the document of ``gert runs show --step --json``."""
    steps = [step_json(info, record) for record in _records(info, step)]
    return {**as_json(read(info.run), step=step, kind=None), "status": info.status, "steps": steps}


def _records(info: RunInfo, step: str) -> list[StepState]:
    found = [] if info.state is None else [one for key, one in info.state.steps.items() if belongs(key, step)]
    if not found:
        raise no_step(info.run, step)
    return found


def no_step(run: StoredRun, step: str) -> RunError:
    """Return the error of a step that a run does not have."""
    return RunError(
        f"run {run.run_id} has no step {step!r}",
        kind=ErrorKind.USAGE,
        hint=f"gert runs show {run.run_id}{run.option} lists its steps",
    )


__all__ = ["describe_step", "no_step", "step_document", "step_label"]
