"""``gert exec``: run a runbook and print its outcome."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated, Any

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.run_options import (
    fail_on_option,
    no_notify_option,
    pending_exit_code_option,
    progress_option,
    quiet_option,
    record_option,
    verbose_option,
)
from gert_core.cli.stores import store_of, store_option

if TYPE_CHECKING:
    from contextlib import ExitStack

    from gert_core.documents.project import Project


def exec_(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The runbook.", readable=False)],
    var: Annotated[list[str] | None, typer.Option("--var", metavar="K=V", help="An input; repeatable.")] = None,
    input_file: Annotated[
        list[Path] | None,
        typer.Option("--input", metavar="FILE", help="A YAML or JSON file with inputs.", readable=False),
    ] = None,
    mode: Annotated[str, typer.Option("--mode", metavar="MODE", help="real, dry-run, probe or replay.")] = "real",
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="DIR|NAME", help="The scenario to replay.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the run directory of a dry-run or replay; others always have one.")
    ] = False,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Where to write the trace.", readable=False)
    ] = None,
    trace_sync: Annotated[
        str, typer.Option("--trace-sync", metavar="WHEN", help="group (before outside effects), event or none.")
    ] = "group",
    actor: Annotated[
        str | None,
        typer.Option("--as", metavar="ID", help="The actor recorded in the trace; default: the current user."),
    ] = None,
    policy: Annotated[
        list[Path] | None, typer.Option("--policy", metavar="FILE", help="A policy file; repeatable.", readable=False)
    ] = None,
    approval: Annotated[
        str | None, typer.Option("--approval", metavar="PROVIDER", help="The approval provider.")
    ] = None,
    questions: Annotated[str | None, typer.Option("--questions", metavar="WHAT", help="ask, suspend or fail.")] = None,
    no_input: Annotated[bool, typer.Option("--no-input", help="Never prompt.")] = False,
    probe_allow_effects: Annotated[
        str | None, typer.Option("--probe-allow-effects", metavar="A,B", help="Effects that probe mode may cause.")
    ] = None,
    pending_exit_code: Annotated[int, pending_exit_code_option()] = 0,
    no_preflight: Annotated[
        bool, typer.Option("--no-preflight", help="Run although secrets, programs or transports are missing.")
    ] = False,
    floor: Annotated[
        bool, typer.Option("--floor", help="Keep to the machine floor in a replay too; other modes always do.")
    ] = False,
    fail_on: Annotated[str | None, fail_on_option()] = None,
    no_notify: Annotated[bool, no_notify_option()] = False,
    record: Annotated[str | None, record_option()] = None,
    verbose: Annotated[int, verbose_option()] = 0,
    quiet: Annotated[bool, quiet_option()] = False,
    progress: Annotated[str, progress_option()] = "auto",
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Run a runbook: validate it, execute its steps and print the outcome."""
    from gert_core.api.giving import COMMAND_LINE
    from gert_core.cli.execution import carry_out
    from gert_core.cli.recordings import Recordings
    from gert_core.cli.session import project_here, registry_for
    from gert_core.cli.showing import Showing
    from gert_core.engine.prepare import prepare
    from gert_core.engine.request import MODES, PROBE_EFFECTS, Request
    from gert_core.hosting.given import parse_pairs, read_inputs
    from gert_core.stores.choose import with_address

    if mode not in MODES:
        raise UsageError(f"{mode!r} is not a valid mode; nothing was run", hint=f"modes are {', '.join(MODES)}")
    if trace_sync not in ("group", "event", "none"):
        raise UsageError(f"--trace-sync takes group, event or none, not {trace_sync!r}")
    shown = Showing(progress=progress, verbose=verbose, quiet=quiet).check()
    fails = categories(fail_on)
    check_questions(questions, no_input=no_input)
    if not file.is_file():
        raise UsageError(f"{file} does not exist", file=str(file), hint="give the path of a runbook")
    project: Project | None = project_here(file.parent)
    registry = registry_for(project, ctx.obj, executing=True, floor=floor or mode != "replay")
    wanted = None
    if scenario is not None:
        from gert_core.documents.scenario import named_scenario

        wanted = named_scenario(scenario, file).model
    if wanted is not None and mode != "replay":
        raise UsageError("--scenario belongs to --mode replay", hint="add --mode replay")

    recording = Recordings(record, ctx.obj.environ).start(file, mode=mode, project=project)
    kept = store_of(project, ctx.obj, store, registry)

    def begin(stack: ExitStack, **given: Any) -> Any:
        request = Request(
            runbook=file,
            registry=registry,
            project=project,
            mode=mode,
            host_vars=parse_pairs(var or (), what="--var"),
            giving=COMMAND_LINE,
            file_vars=read_inputs(input_file or ()),
            scenario=wanted,
            policies=tuple(policy or ()),
            floor=floor,
            approval=approval,
            questions=questions,
            actor=actor,
            trace=trace,
            store=kept,
            keep=keep or None,
            alone=True,
            fail_on=fails,
            trace_sync=trace_sync,
            preflight=not no_preflight,
            remember=recording.remembered,
            probe_effects=(PROBE_EFFECTS if probe_allow_effects is None else frozenset(_words(probe_allow_effects))),
            **given,
        )
        return prepare(request, stack)

    return carry_out(
        begin,
        environ=with_address(ctx.obj.environ, store),
        mode=mode,
        no_input=no_input,
        as_json=json,
        pending_exit_code=pending_exit_code,
        shown=shown,
        notify=not no_notify,
        recorder=recording.end,
    )


def check_questions(wanted: str | None, *, no_input: bool) -> None:
    """Refuse a value of ``--questions`` that does not exist, or that ``--no-input`` excludes."""
    if wanted not in (None, "ask", "suspend", "fail"):
        raise UsageError(f"--questions takes ask, suspend or fail, not {wanted!r}; nothing was run")
    if wanted == "ask" and no_input:
        raise UsageError("--questions ask asks, and --no-input never does; nothing was run", hint="leave one out")


def categories(text: str | None) -> tuple[str, ...] | None:
    """Return the categories of outcomes that ``--fail-on`` names; None when it is not given."""
    if text is None:
        return None
    from gert_core.api.results import OutcomeCategory

    known = [str(category) for category in OutcomeCategory]
    words = _words(text)
    if words == ["none"]:
        return ()
    if not words or not set(words) <= set(known):
        raise UsageError(f"--fail-on takes categories of outcomes, not {text!r}", hint=f"they are {', '.join(known)}")
    return tuple(dict.fromkeys(words))


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


__all__ = ["categories", "check_questions", "exec_"]
