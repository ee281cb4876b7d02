"""``gert runs reconcile``: state what became of interrupted steps, and resume the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, UsageError
from gert_core.cli.commands.blocking import say
from gert_core.cli.lazy import typer
from gert_core.cli.stores import store_of, store_option

if TYPE_CHECKING:
    from gert_core.cli.session import Options


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
    no_resume: Annotated[
        bool, typer.Option("--no-resume", help="Only record the results; the run waits to be resumed.")
    ] = False,
    no_input: Annotated[bool, typer.Option("--no-input", help="Never prompt.")] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """State what became of steps that were interrupted, and resume the run, as `gert resume --reconcile` does."""
    if no_resume:
        return _state(ctx.obj, run_id, results, outputs, actor=actor, store=store, as_json=json)
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


def _state(
    options: Options,
    run_id: str,
    results: list[str],
    outputs: str | None,
    *,
    actor: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Record the results alone."""
    from contextlib import ExitStack

    from gert_core.cli.commands.resume import parse_outputs, parse_results
    from gert_core.cli.session import project_here, registry_for
    from gert_core.engine.prepare import prepare
    from gert_core.engine.request import Request, Resume
    from gert_core.engine.resume.read import read_run
    from gert_core.engine.stating import state_results
    from gert_core.host import SilentConsole
    from gert_core.runs.find import find_run
    from gert_core.runs.lifecycle.status import standing_of
    from gert_core.runs.listing import run_info
    from gert_core.stores.choose import with_address

    stated = parse_results(results)
    again = [key for key, result in stated.items() if result == "redo"]
    if again:
        raise UsageError(
            f"{again[0]}=redo runs the step again, which --no-resume does not",
            hint="state it when the run is resumed, without --no-resume",
        )
    here = project_here()
    found = store_of(here, options, store)
    with ExitStack() as stack:
        recorded = read_run(found, find_run(found, run_id).run_id, stack)
        runbook = recorded.choices.runbook
        project = project_here(runbook.parent, known=here) if runbook.parent.is_dir() else here
        request = Request(
            runbook=runbook,
            registry=registry_for(project, options, executing=True),
            project=project,
            console=SilentConsole(),
            actor=actor,
            environ=with_address(options.environ, store),
            resume=Resume(run=recorded, reconcile=stated, outputs=parse_outputs(outputs, stated)),
            preflight=False,
        )
        run = prepare(request, stack)
        if run.facts.denial is not None:
            raise RunError(
                f"run {run.facts.run_id} would be denied when it goes on; nothing was recorded",
                kind=ErrorKind.GOVERNANCE_DENIED,
            )
        state_results(run)
    return say(standing_of(run_info(recorded.stored)), "Recorded.", found, as_json=as_json)


__all__ = ["reconcile"]
