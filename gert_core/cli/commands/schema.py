"""``gert schema``: print the JSON Schema of a kind of document, or how gert behaves."""

from __future__ import annotations

import json as json_
from typing import Annotated, Final

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import out
from gert_core.cli.session import project_or_warning, registry_for

BEHAVIOUR: Final = "behaviour"


def schema(
    ctx: typer.Context,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="runbook, tool, scenario, test, project, policy, trace or behaviour.")
    ] = "runbook",
    json: Annotated[bool, typer.Option("--json", help="Print it on one line.")] = False,
) -> int:
    """Print the JSON Schema (Draft 2020-12) of a kind of document, with every installed step type.

    `behaviour` is not a schema: it lists hooks, step types, statuses, events, policies of retry and drift, and kinds.
    """
    from gert_core.documents.model_hints import suggest
    from gert_core.documents.schema import json_schema

    known = kinds()
    if kind not in known:
        raise UsageError(
            f"there is no schema for {kind!r}", hint=suggest(kind, known) or f"the kinds are {', '.join(known)}"
        )
    registry = registry_for(project_or_warning(), ctx.obj)
    if kind == BEHAVIOUR:
        from gert_core.cli.behaviour import behaviour

        built = behaviour(registry)
    else:
        built = json_schema(kind, registry.step_types())
    out(json_.dumps(built, ensure_ascii=False, indent=None if json else 2))
    return 0


def kinds() -> tuple[str, ...]:
    """Return what can be printed."""
    from gert_core.documents.schema import KINDS

    return (*KINDS, BEHAVIOUR)


__all__ = ["kinds", "schema"]
