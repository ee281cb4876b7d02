"""Write the events that begin, suspend and end a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from gert_core import __version__
from gert_core.api import Principal, RunStatus
from gert_core.api.events import EventType
from gert_core.contracts import Contracts
from gert_core.documents.generated import tools_by_key
from gert_core.engine.flow.frame import step_id_of
from gert_core.engine.signals import NO_OUTCOME, Rank, run_status
from gert_core.engine.steps.secret_outputs import learn_output
from gert_core.governance.sources import PACK
from gert_core.plugin.states import PluginState
from gert_core.runs.changers import changed_by
from gert_core.runs.state import ABORTED
from gert_core.trace.events import timestamp
from gert_core.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.api import Outcome
    from gert_core.documents.runbook import RunbookModel
    from gert_core.engine.resume.plan import Resumption
    from gert_core.engine.run import Run
    from gert_core.engine.signals import Failure, Signal
    from gert_core.engine.state import Layer

_KEPT: Final = {"reconciled": "done"}


def write_start(run: Run) -> None:
    """Write the first events of this process: ``run_start`` and the inputs, or ``run_resumed`` and stated results."""
    journal = run.services.journal
    if run.facts.resumption is not None:
        _write_resumed(run, run.facts.resumption)
        return
    journal.add(EventType.RUN_START, _facts(run))
    for data in run.facts.inputs.events:
        journal.add(EventType.INPUT_RESOLVED, data)
    journal.commit()


def _write_resumed(run: Run, resumption: Resumption) -> None:
    journal, recorded = run.services.journal, run.services.recorded
    assert recorded is not None  # noqa: S101 - a resumed run has a record
    data: dict[str, object] = {"actor": resumption.actor, "host": os.uname().nodename, "void": resumption.void}
    if (waited := recorded.state.suspended_for(timestamp(run.services.stop.time.now()))) is not None:
        data["waited"] = waited
    if resumption.torn_bytes:
        data["torn_bytes"] = resumption.torn_bytes
    if resumption.drift:
        data["drift"] = resumption.drift
    if resumption.reconciled:
        data["reconciled"] = dict(resumption.reconciled)
    if changed_by(data) and resumption.os_user:
        data["os_user"] = resumption.os_user
    if resumption.ticket is not None:
        data["ticket_id"] = resumption.ticket
    if resumption.abort:
        data["abort"] = True
    journal.add(EventType.RUN_RESUMED, data)
    person = Principal(kind="human", id=resumption.actor)
    kept = {key: recorded.completion(key) for key in resumption.kept}
    results = resumption.results | {key: {**recorded.masker.unmask(data), **_KEPT} for key, data in kept.items()}
    for key, stated in resumption.results.items():
        _learn(run, key, stated)
    for key, result in results.items():
        journal.add(EventType.STEP_COMPLETE, result, key=key, principal=person, fresh=True)
    journal.sync()
    recorded.void(resumption.void)
    for key, result in (resumption.results | kept).items():
        recorded.complete(key, result)


def _learn(run: Run, key: str, result: Mapping[str, Any]) -> None:
    """Mask secret outputs that a person stated."""
    found = run.facts.runbook.find(key)
    for name in Contracts(found[0]).of(found[1]).secret_outputs if found is not None else ():
        learn_output(run.services.masker, key, name, result["outputs"].get(name))


def _facts(run: Run) -> dict[str, object]:
    """Return what ``run_start`` records: documents, policies, plugins, actor, choices, inputs."""
    book = run.facts.runbook
    return {
        "runbook": book.name,
        **run.facts.digests,
        "stages": [step.id for step in book.root.steps],
        "policy_digest": run.facts.policies.digest,
        "policies": run.facts.policies.to_json(),
        "policy_plugins": list(run.facts.policies.plugins),
        "plugins": [
            {"name": p.name, "distribution": p.distribution, "version": p.version}
            for p in run.facts.registry.plugins
            if p.state is PluginState.ACTIVE
        ],
        "actor": run.facts.actor,
        **({"os_user": run.facts.os_user} if run.facts.os_user else {}),
        "started": run.facts.started,
        "host": os.uname().nodename,
        "gert_version": __version__,
        **({"approval_keys": "environment"} if run.facts.policies.keys_by_environment else {}),
        **run.facts.choices.to_json(),
        **({"notify": list(run.facts.notify)} if run.facts.notify else {}),
        **(_files(run) if run.facts.choices.runbook_path is not None else {}),
        "inputs": dict(run.facts.inputs.values),
        "input_sources": dict(run.facts.inputs.sources),
        "constants": dict(run.facts.constants),
        "secrets": list(run.facts.secrets.names),
        **_extensions(book.model),
    }


def _extensions(model: RunbookModel) -> dict[str, object]:
    """Return the data of a runbook beside ``meta`` and in it, as one map.

    What both have stays as it is written, beside ``meta`` and in it: no setting hides a stricter one.
    """
    above, below = model.extensions, model.meta.extensions
    both = {name: value for name, value in below.items() if name in above}
    return {"extensions": {**below, **above}, **({"meta": {"extensions": both}} if both else {})}


def _files(run: Run) -> dict[str, object]:
    """Return where documents were, by the names of their digests; nothing where there are none."""
    book, documents = run.facts.runbook, run.facts.documents
    packs = {one.name: one.path for one in run.facts.policies.sources if one.kind == PACK and not one.answer}
    policies = {} if documents is None else documents.policy_files()
    found = {
        "tool_files": {name: tool.document.path for name, tool in tools_by_key(book).items()},
        "include_files": {name: one.runbook.document.path for name, one in book.included.items()},
        "pack_files": packs,
    }
    return ({"include_policy_files": policies} if policies else {}) | {
        field: {name: str(path.absolute()) for name, path in files.items() if path is not None}
        for field, files in found.items()
        if files
    }


def write_end(run: Run, signal: Signal | None, layer: Layer, seconds: float) -> Outcome | None:
    """Write ``run_suspended``, or ``outcome_resolved`` and ``run_complete``; return the outcome.

    ``signal`` is what stopped the steps; ``None`` when they ended without one.
    """
    waited = run.services.waits.seconds()
    worked = run.services.backend.run_seconds(seconds - waited)
    times = {"duration": format_duration(worked)}
    if waited:
        times["waited"] = format_duration(waited)
    if signal is not None and signal.rank is Rank.SUSPENDED:
        known = run.services.journal.state.tickets
        tickets = (
            dict(known)
            if signal.idle and not signal.tickets
            else {ticket: known.get(ticket, {}) for ticket in signal.tickets}
        )
        waiting = suspension(tickets, questions=signal.questions, blocked=signal.blocked)
        run.services.journal.close(EventType.RUN_SUSPENDED, {**run.services.requested.recorded(waiting), **times})
        return None
    status, outcome, failures = _conclusion(run, signal)
    data: dict[str, object] = {"status": str(status)}
    if outcome is not None:
        data["outcome"] = outcome.to_json()
        key = signal.outcome_key if signal is not None else None
        # An event of the run, not of its last step: step_complete is the last event of a step's key.
        if run.services.recorded is None or not run.services.recorded.outcome_written:
            facts = {"step_id": step_id_of(key or ""), "step_key": key, "outcome": outcome.to_json()}
            run.services.journal.add(EventType.OUTCOME_RESOLVED, facts)
    if failures:
        data["failure"] = failures[0].to_json()
        failing = data["failing"] = [failure.key for failure in failures]
        data |= _repeated(run, failing)
    if status is RunStatus.CANCELLED:
        data["reason"] = run.services.stop.reason or ABORTED
    if outputs := layer.globals():  # a finished run's result is read from the trace alone
        data["outputs"] = outputs
    data |= times
    data["active"] = format_duration(run.services.journal.state.times.worked + worked)
    run.services.journal.close(EventType.RUN_COMPLETE, data)
    return outcome


def _repeated(run: Run, failing: list[str]) -> dict[str, list[str]]:
    """Return the steps all of which a retry runs again: their cleanup has begun, or they failed and no step in them."""
    from gert_core.engine.resume.retry import cleaned_owners, own_failures

    book, state = run.facts.runbook, run.services.journal.state
    cleans = book.cleanup or any(block.cleanup for step in book.walk() for block in step.blocks)
    found = {
        "cleaned": cleaned_owners(state, failing, book) if cleans else [],
        "whole": own_failures(state, failing, book),
    }
    return {name: keys for name, keys in found.items() if keys}


def suspension(
    tickets: Mapping[str, Mapping[str, Any]],
    *,
    questions: Iterable[str],
    blocked: Iterable[str],
    default: RunStatus | None = None,
) -> dict[str, object]:
    """Return what ``run_suspended`` says: ``blocked`` is the status of a run that waits for nothing else.

    ``default`` is the status of one that waits for nothing at all.
    """
    open_tickets, asking, keys = list(tickets), list(questions), list(dict.fromkeys(blocked))
    status = default or RunStatus.APPROVAL_PENDING
    if open_tickets:
        status = RunStatus.APPROVAL_PENDING
    elif asking:
        status = RunStatus.ANSWER_PENDING
    elif keys:
        status = RunStatus.BLOCKED
    data: dict[str, object] = {"status": str(status), "tickets": open_tickets}
    if open_tickets:
        data["approvals"] = [str(ticket.get("step_key")) for ticket in tickets.values()]
    if asking:
        data["questions"] = asking
    if keys:
        data["unblock_key"] = keys[0]
        if len(keys) > 1:
            data["unblock_keys"] = keys
    return data


def _conclusion(run: Run, signal: Signal | None) -> tuple[RunStatus, Outcome | None, tuple[Failure, ...]]:
    """Return status, outcome and failures of a run that is over."""
    if run.abort is not None and (signal is None or signal.rank is not Rank.CANCELLED):
        from gert_core.engine.resume.abort import other_failures

        return RunStatus.CANCELLED, None, other_failures(signal)
    symbolic = run.services.backend.symbolic
    if signal is None and symbolic:
        return RunStatus.COMPLETED, None, ()
    signal = signal or NO_OUTCOME
    if signal.rank is Rank.ENDED:
        # A dry-run that reached several ends does not know which one it will be.
        undecided = symbolic and len(run.possible) != 1
        return RunStatus.COMPLETED, None if undecided else signal.outcome or run.possible[0], ()
    return run_status(signal), None, signal.ordered


def write_abandoned(run: Run) -> None:
    """Write the end of a cancelled run although a step has not stopped."""
    run.services.journal.close(EventType.RUN_COMPLETE, {"status": "cancelled", "reason": "a step did not stop"})


__all__ = ["suspension", "write_abandoned", "write_end", "write_start"]
