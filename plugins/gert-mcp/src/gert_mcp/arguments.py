"""What the tools called ``gert_...`` take: their arguments, checked, and the schemas of them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from gert_core.api import UsageError

Path = Annotated[str, Meta(min_length=1, max_length=4096, description="A path, from a directory that is served.")]
RunId = Annotated[str, Meta(min_length=1, max_length=300, description="The id of a run.")]
Kind = Literal["runbook", "tool", "scenario", "test", "project", "policy", "trace"]
Status = Literal[
    "running",
    "completed",
    "failed",
    "error",
    "cancelled",
    "approval_pending",
    "answer_pending",
    "blocked",
    "queued",
    "interrupted",
    "unreadable",
    "moved",
]
Key = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="The same key within 24 hours gives the same run instead of a second one.",
    ),
]


class NoArguments(Struct, forbid_unknown_fields=True):
    """Nothing."""


class OfPath(Struct, forbid_unknown_fields=True, kw_only=True):
    """A document."""

    path: Path


class Exec(Struct, forbid_unknown_fields=True, kw_only=True):
    """A runbook to run."""

    path: Path
    vars: Annotated[dict[str, Any], Meta(description="The inputs of the runbook, by name.")] = field(
        default_factory=dict
    )
    mode: Annotated[str, Meta(description="real, dry-run or probe, as far as the server allows.")] | None = None
    request_key: Key | None = None


class Test(Struct, forbid_unknown_fields=True, kw_only=True):
    """Scenarios to replay."""

    path: Path
    scenario: Annotated[str, Meta(description="One scenario; without, as `gert test` chooses.")] | None = None


class InDirectory(Struct, forbid_unknown_fields=True, kw_only=True):
    """A directory."""

    dir: Annotated[str, Meta(max_length=4096, description="A directory that is served, or one below it.")] = "."


class OfKind(Struct, forbid_unknown_fields=True, kw_only=True):
    """A kind of document."""

    type: Annotated[Kind, Meta(description="What is described.")] = "runbook"


class OfStep(Struct, forbid_unknown_fields=True, kw_only=True):
    """A step of a runbook."""

    path: Path
    step_id: Annotated[str, Meta(min_length=1)]


class Explain(Struct, forbid_unknown_fields=True, kw_only=True):
    """A runbook, or a step of it."""

    path: Path
    step_id: Annotated[str, Meta(min_length=1)] | None = None


class ListRuns(Struct, forbid_unknown_fields=True, kw_only=True):
    """Which runs to list."""

    limit: Annotated[int, Meta(ge=1, le=200)] = 20
    runbook: Annotated[str, Meta(description="The name of a runbook.")] | None = None
    status: Annotated[Status, Meta(description="How they stand.")] | None = None


class OneRun(Struct, forbid_unknown_fields=True, kw_only=True):
    """A run to look at."""

    run_id: RunId
    wait: Annotated[float, Meta(ge=0, le=25, description="Seconds to wait until it has stopped.")] = 0.0
    after: Annotated[int, Meta(ge=0, description="Also the events of its trace behind this number.")] | None = None


class OfRun(Struct, forbid_unknown_fields=True, kw_only=True):
    """A run."""

    run_id: RunId


Arguments = TypeVar("Arguments", bound=Struct)
_SHOWN: Final = 300


def checked(kind: type[Arguments], given: dict[str, Any] | None) -> Arguments:
    """Return arguments as a record; raise ``UsageError`` for what it does not take."""
    try:
        return msgspec.convert(given or {}, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        names = ", ".join(kind.__struct_fields__) or "nothing"
        raise UsageError(f"the arguments are wrong: {str(error)[:_SHOWN]}", hint=f"it takes {names}") from None


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a record of arguments."""
    (found,), components = msgspec.json.schema_components([kind])
    shown = dict(components[kind.__name__])
    del found, shown["title"]
    shown.pop("description", None)
    return {**shown, "additionalProperties": False}


__all__ = [
    "Exec",
    "Explain",
    "InDirectory",
    "ListRuns",
    "NoArguments",
    "OfKind",
    "OfPath",
    "OfRun",
    "OfStep",
    "OneRun",
    "Test",
    "checked",
    "schema_of",
]
