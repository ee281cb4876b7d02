"""``gert runs reconcile``: state what became of interrupted steps, and resume the run."""

from __future__ import annotations

from typing import Annotated

from gert_core.cli.lazy import typer
from gert_core.cli.stores import store_option


def reconcile(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    results: Annotated[
        list[str], typer.Argument(metavar="KEY=done|redo|failed", help="By step key the result of an interrupted step.")
    ],
    outputs: Annotated[
        str | None, typer.Option("--outputs", metavar="JSON", help="The outputs of a step reconciled as done.")
    ] = None,
    actor: Annotated[
        str | None,
        typer.Option("--as", metavar="ID", help="The actor recorded in the trace; default: the current user."),
    ] = None,
    no_input: Annotated[bool, typer.Option("--no-input", help="Never prompt.")] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """State what became of steps that were interrupted, and resume the run, as `gert resume --reconcile` does."""
    from gert_core.cli.commands.resume import resume

    return resume(
        ctx,
        run_id=run_id,
        reconcile=results,
        outputs=outputs,
        actor=actor,
        no_input=no_input,
        store=store,
        json=json,
    )


__all__ = ["reconcile"]
