"""The JSON Schema of one line of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api.events import EventType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import StepType


def _case(type_: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the data of one type of event."""
    return {"if": {"properties": {"type": {"const": str(type_)}}}, "then": {"properties": {"data": data}}}


def _text_or_null(description: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "description": description}


def _required(names: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of data that always has fields of these types."""
    return {"properties": {name: _JSON.get(kind, {}) for name, kind in names.items()}, "required": list(names)}


_JSON: Final[dict[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "list": {"type": "array"},
    "object": {"type": "object"},
}
_FIELDS: Final[dict[EventType, dict[str, str]]] = {
    EventType.APPROVAL_VOID: {"ticket_id": "string", "step_id": "string", "changed": "list"},
    EventType.TOOL_CALL: {"step_id": "string", "tool": "string", "action": "string", "inputs": "object"},
    EventType.QUESTION_ASKED: {"step_id": "string", "question": "object"},
    EventType.QUESTION_ANSWERED: {"step_id": "string", "name": "string", "by": "any", "declined": "bool"},
    EventType.RUN_SUMMARY: {"summary_type": "string", "payload": "any"},
}
"""What the data of these events always has."""
_HASH: Final = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_TIMES: Final = {
    "duration": {"type": "string", "description": "How long it took, without waiting for people."},
    "waited": {"type": "string", "description": "How long people were waited for; only when they were."},
}
_ITEMS: Final = {"type": "integer", "minimum": 0, "description": "Of a `for_each`: how many items it has."}
_SEAL: Final[dict[str, Any]] = {
    "properties": {
        **_TIMES,
        "chain_hash": {**_HASH, "description": "Hash that seals the whole chain."},
        "signature": {
            "type": "string",
            "pattern": "^[0-9a-f]+$",
            "description": "Signature over the text of `chain_hash`.",
        },
        "signature_alg": {"type": "string", "description": "How it was signed."},
        "signing_key_id": {"type": "string", "description": "Which key signed it."},
    },
    "required": ["chain_hash"],
}
_COMPLETE: Final = {
    "properties": {
        **_SEAL["properties"],
        "active": {"type": "string", "description": "How long all processes of the run worked together."},
    },
    "required": _SEAL["required"],
}
_KEY: Final = {"type": "string", "description": "The key that unblocks the run."}
_SUSPENDED: Final = {
    "properties": {
        "status": {
            "enum": ["approval_pending", "answer_pending", "blocked", "queued"],
            "description": "What the run waits for; `queued`: only to be resumed.",
        },
        "unblock_key": _KEY,
        "unblock_keys": {
            "type": "array",
            "items": {"type": "string"},
            "description": "All keys, when there are several.",
        },
        "block": {
            "type": "object",
            "description": "Who blocked the run while it was executed.",
            "properties": {
                "key": _KEY,
                "actor": {"type": "string", "description": "Who blocked it."},
                "message": {"type": "string", "description": "Why it was blocked."},
            },
            "required": ["key", "actor"],
        },
        **_SEAL["properties"],
    },
    "required": _SEAL["required"],
}
_BLOCKING: Final = {
    "reason": {"enum": ["block", "unblock"], "description": "That the run was only blocked, or unblocked."},
    "unblock_key": _KEY,
    "message": {"type": "string", "description": "Why the run was blocked."},
}
_PAUSE: Final = {
    "properties": {
        "unblock_key": _KEY,
        "reason": {"type": "string", "description": "Why the step waits."},
        "metadata": {"type": "object", "description": "What the step type adds."},
        "acted": {"type": "boolean", "description": "Whether the step acted before."},
    },
    "required": ["step_id", "unblock_key"],
}
_START: Final = {
    "properties": {
        "runbook": {"type": "string", "description": "The runbook's name."},
        "stages": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The ids of the steps that are in no other step, which progress counts.",
        },
        "mode": {"enum": ["real", "dry-run", "probe", "replay"], "description": "How it is executed."},
        "started": {"type": "string", "description": "The time that templates read at `.run.started`."},
        "runbook_path": _text_or_null("Absolute path of the runbook; null in a replay."),
        "policy_files": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Absolute paths of the files given with --policy.",
        },
        "project_file": _text_or_null("The absolute path of the project file; null in a replay and without one."),
        "floor_files": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The files of the machine floor that apply; none in a replay.",
        },
        "approval_provider": _text_or_null("The provider chosen by --approval or the project; null: the default."),
        "fail_on": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Categories of outcomes that exit with code 4.",
        },
        "notify": {
            "type": "array",
            "description": "Who is told of the run, without addresses: these are read when something is sent.",
            "items": {
                "type": "object",
                "properties": {
                    "on": {"type": "array", "items": {"type": "string"}, "description": "Of what."},
                    "notifier": {"type": "string", "description": "The notifier that tells it."},
                    "source": {"type": "string", "description": "Where the rule stands: document, `#` and place."},
                    "sha256": {"type": "string", "description": "What it said; one that says else is refused."},
                    "remind": {"type": "number", "description": "Seconds between reminders."},
                },
                "required": ["on", "notifier", "source", "sha256"],
            },
        },
        "questions": {"enum": ["ask", "suspend", "fail"], "description": "What was chosen by --questions."},
        "trace_sync": {"enum": ["group", "event", "none"], "description": "When events are put on disk."},
        "signer": {
            "type": ["object", "null"],
            "description": "The key that signs the trace; null when it is unsigned.",
            "properties": {
                "algorithm": {"type": "string", "description": "The signature algorithm."},
                "key_id": {"type": "string", "description": "The id of the key."},
                "fingerprint": {"type": "string", "description": "What tells it from another key of the same id."},
            },
            "required": ["algorithm", "key_id"],
            "additionalProperties": False,
        },
        "cwd": _text_or_null("The working directory; null in a replay."),
        "run_directory": _text_or_null("Where the run keeps its files; null in a replay and without one."),
    },
}
_ATTEMPT: Final = {
    "properties": {
        "attempt": {"type": "integer", "minimum": 1, "description": "The number of the attempt."},
        "reason": {
            "enum": ["retry", "resumed", "not_started", "cancelled", "unblocked"],
            "description": "Why there is another attempt, or that this one did nothing, was cancelled or goes on.",
        },
        "contract_summary": {
            "type": "object",
            "description": "The contract of this attempt, where documents changed since the step was started.",
        },
        "previous": {
            "type": "object",
            "description": "How the attempt before ended, where the retry policy makes another one.",
            "properties": {
                "status": {"enum": ["failed", "error"], "description": "The status it would have had as the last one."},
                "kind": {"type": "string", "description": "The kind of its failure."},
                "message": {"type": "string", "description": "What went wrong."},
                "duration": {"type": "string", "description": "How long it took."},
                "detail": {"type": "object", "description": "What it recorded: command, exit code, output."},
            },
            "required": ["status", "kind", "message", "duration"],
        },
        "delay": {"type": "string", "description": "The pause before the attempt."},
        "detail": {"type": "object", "description": "What a cancelled attempt had recorded: command and output."},
    },
}
TRACE_LINE: Final[dict[str, Any]] = {
    "description": "One line of a trace. Lines form a chain: `prev_hash` is the hash of the line before.",
    "type": "object",
    "properties": {
        "type": {"type": "string", "minLength": 1, "description": "The kind of event, such as `step_complete`."},
        "timestamp": {"type": "string", "description": "When it happened, UTC, RFC 3339."},
        "run_id": {"type": "string", "minLength": 1, "description": "The run it belongs to."},
        "seq": {"type": "integer", "minimum": 0, "description": "Its number in the run, without gaps."},
        "step_key": {
            "type": "string",
            "description": "The execution of a step it belongs to, such as `triage/1/restart#2`.",
        },
        "principal": {
            "type": "object",
            "description": "Who acted.",
            "properties": {
                "kind": {"enum": ["system", "human", "agent"], "description": "What kind of actor it is."},
                "id": {"type": "string", "description": "A stable identifier."},
                "role": {"type": "string", "description": "Its role, in free words."},
                "model": {"type": "string", "description": "The model of an agent."},
            },
            "required": ["kind", "id"],
            "additionalProperties": False,
        },
        "data": {"type": "object", "description": "The data of the event; secrets are masked."},
        "prev_hash": {**_HASH, "description": "SHA-256 of the previous line; zeros in the first."},
    },
    "required": ["type", "timestamp", "run_id", "seq", "data", "prev_hash"],
    "additionalProperties": False,
    "allOf": [
        _case(EventType.RUN_START, _START),
        _case(EventType.RUN_COMPLETE, _COMPLETE),
        _case(EventType.RUN_SUSPENDED, _SUSPENDED),
        _case(EventType.RUN_RESUMED, {"properties": {"waited": _TIMES["waited"], **_BLOCKING}}),
        _case(EventType.PAUSE_REQUESTED, _PAUSE),
        _case(EventType.STEP_ATTEMPT, _ATTEMPT),
        _case(EventType.STEP_START, {"properties": {"items": _ITEMS}}),
        _case(EventType.STEP_COMPLETE, {"properties": _TIMES}),
        *(_case(event, _required(names)) for event, names in _FIELDS.items()),
    ],
}


def trace_line(types: Mapping[str, StepType]) -> dict[str, Any]:
    """Return the schema of a line, with the events that the step types ``types`` emit."""
    own = [_case(event, _required(names)) for name in sorted(types) for event, names in types[name].events.items()]
    return {**TRACE_LINE, "allOf": [*TRACE_LINE["allOf"], *own]}


__all__ = ["trace_line"]
