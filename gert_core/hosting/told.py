"""What people are told of a run: the document that notifiers send, and one text for people."""

from __future__ import annotations

import hashlib
import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from gert_core.hosting.advice import next_steps_of
from gert_core.kit.display import readable_key
from gert_core.kit.escaping import escape
from gert_core.runs.result import RunResult

if TYPE_CHECKING:
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.owed import Owed
    from gert_core.runs.state import RunState

LARGEST: Final = 256 * 1024
"""The most bytes that are sent."""
_MESSAGE: Final = 4_000
"""The most characters that are told of a failure."""
_LISTED: Final = 50
"""How many tickets and commands are told."""
_WAITS: Final = {
    "approval_pending": "waits for approval",
    "answer_pending": "waits for an answer",
    "blocked": "is blocked",
    "interrupted": "was interrupted",
    "expired": "was not approved in time",
}


def document_of(info: RunInfo, owed: Owed, *, place: str | None, base_url: str | None = None) -> dict[str, Any]:
    """Return what is told of a run; masked, as its trace is. ``place`` is where the trace is, masked by the caller."""
    state = info.state
    assert state is not None  # noqa: S101 - what cannot be read owes nothing
    result = RunResult(state=state, trace=info.trace, stored=info.run)
    failures = result.failures
    failure = failures[0].to_json() if failures else None
    if failure is not None and len(failure["message"]) > _MESSAGE:
        failure["message"] = f"{failure['message'][:_MESSAGE]}…"
    outcome = result.outcome
    document: dict[str, Any] = {
        "runbook": state.runbook,
        "run_id": state.run_id,
        "outcome": None if outcome is None else outcome.to_json(),
        "duration": result.duration,
        "trace": place,
        "timestamp": owed.since,
        "event": owed.event,
        "status": info.status,
        "failure": failure,
        "pending": result.pending[:_LISTED],
        "next": [step.to_json() for step in next_steps_of(info)][:_LISTED],
        "url": None if base_url is None else f"{base_url.rstrip('/')}/runs/{state.run_id}",
    }
    document["text"] = text_of(document, about=owed.about)
    if outcome is not None and len(json.dumps(document, ensure_ascii=False).encode()) > LARGEST - 4096:
        document["outcome"] = {**outcome.to_json(), "meta": {}}
        document["truncated"] = True
    return document


def text_of(document: dict[str, Any], *, about: str = "") -> str:
    """Return the same in words: what happened, where, and what to do next."""
    name, event, outcome, failure = (document[key] for key in ("runbook", "event", "outcome", "failure"))
    if outcome is not None:
        code = outcome.get("code")
        first = f"{name}: {event} ({code})" if code else f"{name}: {event}"
    elif event in _WAITS:
        first = f"{name} {_WAITS[event]}" + (f": step {readable_key(about)}" if about else "")
    elif failure is not None:
        where = f" at step {readable_key(failure['step_key'])}" if failure["step_key"] else ""
        first = f"{name}: {event}{where}: {failure['message']} ({failure['kind']})"
    else:
        first = f"{name}: {event}"
    # One line, whatever is told: a code or a message with line ends must not look like the lines below.
    lines = [
        escape(" ".join(first.split())),
        f"run {document['run_id']}" + (f", {document['duration']}" if document["duration"] else ""),
    ]
    lines += [f"next: {shlex.join(step['command'])}" for step in document["next"][:1]]
    if document["url"] is not None:
        lines.append(document["url"])
    return "\n".join(lines)


def subject_of(state: RunState, project: str) -> str:
    """Return what is told about, the same for all runs of a runbook with the same inputs."""
    inputs = json.dumps(state.facts.get("inputs") or {}, sort_keys=True, ensure_ascii=False, default=str)
    digest = hashlib.sha256(inputs.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"gert/{project}/{state.runbook}/{digest}"


__all__ = ["LARGEST", "document_of", "subject_of", "text_of"]
