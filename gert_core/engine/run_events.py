"""Writes the events that begin, suspend and end a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gert_core import __version__
from gert_core.api import RunStatus
from gert_core.plugin.states import PluginState
from gert_core.trace.events import EventType
from gert_core.values import format_duration

if TYPE_CHECKING:
    from gert_core.engine.result import RunResult
    from gert_core.engine.run import Run
    from gert_core.engine.signals import Signal


def write_start(run: Run) -> None:
    """Write ``run_start`` and one ``input_resolved`` per declared input."""
    journal = run.journal
    journal.add(EventType.RUN_START, _facts(run))
    for data in run.inputs.events:
        journal.add(EventType.INPUT_RESOLVED, data)
    journal.commit()


def _facts(run: Run) -> dict[str, Any]:
    """Return what ``run_start`` records: documents, policies, plugins, actor, inputs."""
    book = run.runbook
    return {
        "runbook": book.name,
        "runbook_hash": book.document.digest,
        "tool_hashes": {name: tool.digest for name, tool in book.tools.items()},
        "policy_digest": run.policies.digest,
        "policies": [{"name": name, "digest": digest} for name, digest in run.policies.digests()],
        "plugins": [
            {"name": p.name, "distribution": p.distribution, "version": p.version}
            for p in run.registry.plugins
            if p.state is PluginState.ACTIVE
        ],
        "actor": run.actor,
        "host": os.uname().nodename,
        "gert_version": __version__,
        "mode": run.mode,
        "inputs": dict(run.inputs.values),
        "input_sources": dict(run.inputs.sources),
        "constants": dict(run.constants),
        "secrets": list(run.secrets.names),
        "extensions": {**book.model.extensions, **book.model.meta.extensions},
    }


def write_end(run: Run, result: RunResult, signal: Signal | None) -> None:
    """Write ``outcome_resolved`` and ``run_complete``, or ``run_suspended`` while an approval is pending."""
    data: dict[str, Any] = {"status": str(result.status)}
    duration = format_duration(run.backend.run_seconds(result.duration))
    if result.status is RunStatus.APPROVAL_PENDING:
        data["tickets"] = [ticket["ticket_id"] for ticket in result.pending]
        data["duration"] = duration
        run.journal.writer.close_run(EventType.RUN_SUSPENDED, data)
        return
    if result.outcome is not None:
        data["outcome"] = result.outcome.to_json()
        key = signal.outcome_key if signal is not None else None
        # An event of the run, not of its last step: step_complete is the last event of a step's key.
        if run.recorded is None or not run.recorded.outcome_written:
            facts = {"step_id": run.runbook_id(key), "step_key": key, "outcome": result.outcome.to_json()}
            run.journal.add(EventType.OUTCOME_RESOLVED, facts)
    if result.failures:
        data["failure"] = result.failures[0].to_json()
        data["failing"] = [failure.key for failure in result.failures]
    if result.status is RunStatus.CANCELLED:
        data["reason"] = run.stop.reason
    if result.outputs:  # a finished run's result is read from the trace alone
        data["outputs"] = dict(result.outputs)
    data["duration"] = duration
    run.journal.writer.close_run(EventType.RUN_COMPLETE, data)


def write_abandoned(run: Run) -> None:
    """Write the end of a cancelled run although a step still hangs."""
    run.journal.writer.close_run(EventType.RUN_COMPLETE, {"status": "cancelled", "reason": "something did not stop"})


__all__ = ["write_abandoned", "write_end", "write_start"]
