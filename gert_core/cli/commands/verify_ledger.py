"""``gert runs verify-ledger``: tell whether the trace of a run is as it was written, in one word."""

from __future__ import annotations

import json as json_
from typing import Annotated

from gert_core.api.errors import RunError, UsageError
from gert_core.cli.commands.trace import check
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.stores import store_here, store_option
from gert_core.runs.find import find_run
from gert_core.trace.verify import TraceStatus


def verify_ledger(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Print `valid` or `invalid`: whether the hash chain and the signatures of a run's trace are right.

    It checks what `gert trace verify` does. A run that is being executed has no end yet and is valid as far as it is.
    """
    run = find_run(store_here(ctx.obj, store), run_id)
    held = run.holder() is not None  # before reading: a run that ends meanwhile has its end
    try:
        found = check(run, ctx.obj)
    except (RunError, UsageError) as error:
        document: dict[str, object] = {"valid": False, "problem": error.message}
        why = error.message
    else:
        # A run that is being executed has no end yet.
        document = {**found.to_json(), "valid": found.valid or (held and found.status is TraceStatus.TRUNCATED)}
        why = f"{found.status}: {found.detail}"
    valid = bool(document["valid"])
    if json:
        out(json_.dumps({"run_id": run.run_id, **document}, ensure_ascii=False))
    else:
        out("valid" if valid else "invalid")
        if not valid:
            err(f"  {escape(why)}")
    return 0 if valid else 1


__all__ = ["verify_ledger"]
