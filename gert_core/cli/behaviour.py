"""Describe how this gert behaves, for other programs: its words, its events and what its plugins provide."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from gert_core import hookspecs
from gert_core.api import BlockStatus, ErrorKind, EventType, OutcomeCategory, RunStatus, Severity, StepStatus
from gert_core.api import errors as error_classes
from gert_core.api.steps import Flow
from gert_core.documents.retry import NEVER_RETRIED, RetryPolicy
from gert_core.documents.retry import WORDS as RETRIES
from gert_core.engine.request import DRIFT, QUESTIONS
from gert_core.governance.rules import Act
from gert_core.kit.run_rows import INTERRUPTED, MOVED, UNREADABLE
from gert_core.plugin.kinds import KINDS, STEP
from gert_core.runs.lifecycle.words import LIFECYCLE
from gert_core.runs.state import MODES
from gert_core.trace.shapes import required_fields
from gert_core.trace.verify import TraceStatus
from gert_core.validation.rules import RULES

if TYPE_CHECKING:
    from gert_core.plugin.registry import Registry

_EXTEND: Final = (
    "hooks, and plugins that use them",
    "retry policies of one word",
    "policy rules and the fields they match",
    "fields of documents and records that have a default",
    "events, and fields of the data of events",
    "step types that run blocks in another order",
)
"""What a later version may add without another major version."""
_FIXED: Final = (
    "the order of the phases of a step",
    "the fields of step results",
    "what counts as an attempt, and that approvals are asked for once per step",
    "who sets a timeout: tool and step, and nothing else",
    "the syntax of templates",
    "which failures are attempted again",
)
"""What changes only with another major version."""
_PHASES: Final = (
    "open",
    "render",
    "contract",
    "govern",
    "approve",
    str(EventType.STEP_START),
    "deadline",
    "attempt",
    "contract check",
    "close",
)
"""What happens to a step, always in this order; only the attempt is repeated."""


def behaviour(registry: Registry) -> dict[str, Any]:
    """Return the document of ``gert schema behaviour``; ``registry`` says which plugins are active."""
    pauses = RetryPolicy(max=1)
    return {
        "title": "gert behaviour",
        "hooks": {name: _hook(hook) for name, hook in vars(hookspecs).items() if name.startswith("gert_")},
        "provided": {kind.word: sorted(registry.records(kind)) for kind in KINDS if kind is not STEP},
        "step_types": {
            name: {"flow": str(record.flow), "summary": record.summary, "fields": dict(record.fields)}
            for name, record in sorted(registry.step_types().items())
        },
        "flows": _words(Flow),
        "phases": list(_PHASES),
        "modes": list(MODES),
        "statuses": {
            "run": _words(RunStatus),
            "listed": [INTERRUPTED, MOVED, UNREADABLE],
            "lifecycle": {str(status): word for status, word in LIFECYCLE.items()},
            "step": _words(StepStatus),
            "blocks": _words(BlockStatus),
            "outcome": _words(OutcomeCategory),
            "trace": _words(TraceStatus),
        },
        "events": {str(event): _required(event) for event in EventType} | _of_types(registry),
        "retry": {
            "policies": dict(RETRIES),
            "delay": pauses.delay,
            "backoff": pauses.backoff,
            "max_delay": pauses.max_delay,
            "never": sorted(map(str, NEVER_RETRIED)),
        },
        "drift": list(DRIFT),
        "questions": list(QUESTIONS),
        "governance": _words(Act),
        "kinds": _words(ErrorKind),
        "codes": _exit_codes(),
        "rules": {name: {"severity": str(rule.severity), "phase": rule.phase} for name, rule in sorted(RULES.items())},
        "severities": _words(Severity),
        "stability": {"extend": list(_EXTEND), "fixed": list(_FIXED)},
    }


def _words(enumeration: Any) -> list[str]:
    return [str(word) for word in enumeration]


def _hook(hook: Any) -> dict[str, Any]:
    found = inspect.signature(hook)
    arguments = {parameter.name: str(parameter.annotation) for parameter in found.parameters.values()}
    return {"arguments": arguments, "returns": str(found.return_annotation)}


def _required(event: EventType) -> dict[str, Any]:
    """Return what every event of a type has: whether it belongs to a step, and the fields of its data."""
    of_step, names = required_fields(event)
    return {"step_key": of_step, "required": names}


def _of_types(registry: Registry) -> dict[str, Any]:
    """Return the events that step types emit; they always belong to a step."""
    types = sorted(registry.step_types().items())
    return {
        event: {"step_key": True, "required": list(fields)}
        for _, record in types
        for event, fields in record.events.items()
    }


def _exit_codes() -> dict[str, int]:
    """Return by kind of error the exit code of commands that end with it, where that is fixed."""
    classes = (found for found in vars(error_classes).values() if inspect.isclass(found))
    return {str(found.default_kind): found.exit_code for found in classes if issubclass(found, error_classes.GertError)}


__all__ = ["behaviour"]
