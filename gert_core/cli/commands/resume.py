"""``gert resume``: resume a run that was suspended, interrupted, cancelled or failed."""

from __future__ import annotations

import json as json_
from contextlib import chdir, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, UsageError
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
from gert_core.cli.stores import store_option
from gert_core.kit.json_reader import loads

if TYPE_CHECKING:
    from contextlib import ExitStack

    from gert_core.api import RunStore, StoredRun
    from gert_core.engine.cancel import Stop
    from gert_core.engine.progress import Progress
    from gert_core.engine.resume.read import RecordedRun
    from gert_core.runs.result import RunResult
    from gert_core.scenarios.recording.record import Recording


def resume(
    ctx: typer.Context,
    run_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="The same as the argument.")] = None,
    ticket: Annotated[str | None, typer.Option("--ticket", metavar="T", help="The ticket that was answered.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run the failed step again.")] = False,
    reconcile: Annotated[
        list[str] | None,
        typer.Option("--reconcile", metavar="KEY=done|redo|failed", help="State the result of an interrupted step."),
    ] = None,
    outputs: Annotated[
        str | None, typer.Option("--outputs", metavar="JSON", help="The outputs of a step reconciled as done.")
    ] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="With --retry-failed: run again all that took effect inside failed steps."),
    ] = False,
    abort: Annotated[
        bool, typer.Option("--abort", help="Run open cleanup only, and end the run as cancelled.")
    ] = False,
    on_drift: Annotated[str, typer.Option("--on-drift", metavar="WHAT", help="refuse or allow.")] = "refuse",
    var: Annotated[
        list[str] | None, typer.Option("--var", metavar="K=V", help="A secret input; secrets are not recorded.")
    ] = None,
    input_file: Annotated[
        list[Path] | None,
        typer.Option("--input", metavar="FILE", help="A YAML or JSON file with secret inputs.", readable=False),
    ] = None,
    actor: Annotated[
        str | None,
        typer.Option("--as", metavar="ID", help="The actor recorded in the trace; default: the current user."),
    ] = None,
    approval: Annotated[
        str | None, typer.Option("--approval", metavar="PROVIDER", help="The approval provider.")
    ] = None,
    questions: Annotated[str | None, typer.Option("--questions", metavar="WHAT", help="ask, suspend or fail.")] = None,
    no_input: Annotated[bool, typer.Option("--no-input", help="Never prompt.")] = False,
    no_preflight: Annotated[
        bool, typer.Option("--no-preflight", help="Resume although secrets, programs or transports are missing.")
    ] = False,
    pending_exit_code: Annotated[int, pending_exit_code_option()] = 0,
    fail_on: Annotated[str | None, fail_on_option()] = None,
    no_notify: Annotated[bool, no_notify_option()] = False,
    record: Annotated[str | None, record_option()] = None,
    verbose: Annotated[int, verbose_option()] = 0,
    quiet: Annotated[bool, quiet_option()] = False,
    progress: Annotated[str, progress_option()] = "auto",
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Resume a run where it stopped; steps with a recorded result are not executed again."""
    from gert_core.api.giving import COMMAND_LINE
    from gert_core.cli.commands.exec import categories, check_questions
    from gert_core.cli.execution import carry_out
    from gert_core.cli.recordings import Recordings
    from gert_core.cli.session import project_here, registry_for
    from gert_core.cli.showing import Showing
    from gert_core.cli.stores import store_of
    from gert_core.engine.again import RunAgain
    from gert_core.engine.prepare import prepare
    from gert_core.engine.request import DRIFT, Request, Resume
    from gert_core.engine.resume.plan import RunFinished, nothing_left
    from gert_core.hosting.given import parse_pairs, read_inputs
    from gert_core.runs.find import find_run
    from gert_core.stores.choose import with_address

    wanted_run = _one_run(run_id, run)
    shown = Showing(progress=progress, verbose=verbose, quiet=quiet).check()
    fails = categories(fail_on)
    if on_drift not in DRIFT:
        raise UsageError(f"--on-drift takes refuse or allow, not {on_drift!r}")
    check_questions(questions, no_input=no_input)
    if abort and retry_failed:
        raise UsageError("--abort runs no failed step again", hint="use either --abort or --retry-failed")
    if yes and not retry_failed:
        raise UsageError("--yes is for --retry-failed", hint="add --retry-failed, or leave --yes out")
    reconciled = parse_results(reconcile or ())
    stated = parse_outputs(outputs, reconciled)
    secrets, files = parse_pairs(var or (), what="--var"), read_inputs(input_file or ())
    here = project_here()
    kept = store_of(here, ctx.obj, store)
    found = find_run(kept, wanted_run).run_id

    needed: RunAgain | None = None
    recording = Recordings(record)

    def begin(stack: ExitStack, **given: Any) -> Any:
        recorded = _read(kept, found, stack, **given)
        runbook = recorded.choices.runbook
        project = project_here(runbook.parent, known=here) if runbook.parent.is_dir() else here
        recording.begin(recorded, project)
        wanted = Resume(
            run=recorded,
            retry_failed=retry_failed,
            reconcile=reconciled,
            outputs=stated,
            allow_drift=on_drift == "allow",
            ticket=ticket,
            yes=yes,
            abort=abort,
        )
        if needed is not None:  # everything else is done
            wanted = Resume(run=recorded, allow_drift=wanted.allow_drift, again=needed.keys, known=needed.known)
        if not nothing_left(wanted):
            _enter(recorded, stack)
        request = Request(
            runbook=runbook,
            registry=registry_for(project, ctx.obj, executing=True),
            project=project,
            actor=actor,
            approval=approval,
            questions=questions,
            host_vars=secrets,
            giving=COMMAND_LINE,
            file_vars=files,
            resume=wanted,
            preflight=not no_preflight,
            **given,
        )
        return prepare(request, stack)

    while True:
        try:
            return carry_out(
                begin,
                environ=with_address(ctx.obj.environ, store),
                mode="real",
                no_input=no_input,
                as_json=json,
                pending_exit_code=pending_exit_code,
                shown=shown,
                fail_on=fails,
                notify=not no_notify,
                recorder=recording.end,
            )
        except RunFinished as finished:
            again = recording.of_finished(kept, found, ctx.obj)
            return _show_finished(finished.result, kept.open(found), as_json=json, fail_on=fails, recording=again)
        except RunAgain as wanted:  # a secret output is needed that only an earlier process knew
            needed = wanted


def _read(store: RunStore, run_id: str, stack: ExitStack, *, stop: Stop, progress: Progress, **_: Any) -> RecordedRun:
    """Hold and read the run; a lease that a process of this machine left when it was killed is waited for."""
    from gert_core.engine.resume.read import read_run

    try:
        return read_run(store, run_id, stack, alone=True)
    except RunError as error:
        if error.kind != ErrorKind.RUN_LOCKED:
            raise
        from gert_core.engine.leaseholders import wait_for_lease

        with store.open(run_id) as run:
            if not wait_for_lease(run, stop=stop, warn=progress.warn):
                raise
    return read_run(store, run_id, stack, alone=True)


def _enter(run: RecordedRun, stack: ExitStack) -> None:
    """Change to the directory that the run was started in, until ``stack`` closes; its tools run there."""
    from gert_core.cli.render.terminal import err, escape

    cwd = run.choices.cwd
    if cwd is None:  # a run of an early 0.1, or one whose directory was deleted while it started
        return
    try:
        if not Path(cwd).samefile(Path.cwd()):
            stack.enter_context(chdir(cwd))
            with suppress(OSError):  # the run continues without the message
                err(escape(f"continuing in {cwd}, where the run was started"))
    except OSError as error:
        raise RunError(
            f"run {run.run_id} was started in {cwd}, and that directory cannot be entered: {error.strerror}",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="its tools run there; restore the directory, or start a new run",
        ) from None


def _one_run(argument: str | None, option: str | None) -> str:
    if argument is not None and option is not None and argument != option:
        raise UsageError(f"two runs are given, {argument!r} and --run {option!r}", hint="resume one run at a time")
    name = option if argument is None else argument
    if name is None:
        raise UsageError("no run is given", hint="gert resume ID, or gert resume latest; gert runs list shows the runs")
    return name


def parse_results(words: Any) -> dict[str, str]:
    """Return by step key the results that are stated as ``KEY=RESULT``; refuse other words, also for a finished run."""
    from gert_core.engine.resume.reconcile import check_decision

    out: dict[str, str] = {}
    for word in words:
        key, equals, result = word.rpartition("=")
        if not equals or not key:
            given = "nothing before `=`" if equals else "a word without `=`, which is not shown here"
            raise UsageError(f"--reconcile takes STEP_KEY=done|redo|failed, not {given}")
        check_decision(key, result)
        out[key] = result
    return out


def parse_outputs(text: str | None, reconciled: dict[str, str]) -> dict[str, Any]:
    """Return the outputs of the step reconciled as done; of several such steps, by step key."""
    if text is None:
        return {}
    done = [key for key, result in reconciled.items() if result == "done"]
    if not done:
        raise UsageError("--outputs are for a step reconciled as done", hint="add --reconcile KEY=done")
    try:
        value = loads(text)
    except ValueError as error:
        raise UsageError(f"--outputs is not valid JSON: {error}") from None
    given = {done[0]: value} if len(done) == 1 else value
    if not isinstance(given, dict) or not all(isinstance(outputs, dict) for outputs in given.values()):
        shape = "a JSON object" if len(done) == 1 else 'a JSON object {"STEP_KEY": {...}} when several steps are done'
        raise UsageError(f"--outputs takes {shape}")
    return given


def _show_finished(
    result: RunResult,
    stored: StoredRun,
    *,
    as_json: bool,
    fail_on: tuple[str, ...] | None,
    recording: Recording | None = None,
) -> int:
    """Print the result of a run that is over and return the exit code it ended with."""
    from gert_core.cli.execution import document_of, exit_code, kept_info, show_recording
    from gert_core.cli.render.result import show
    from gert_core.cli.render.terminal import out

    info = kept_info(stored, result)
    if as_json:
        told = {} if recording is None else {"record": recording.to_json()}
        out(json_.dumps({**document_of(result, info), **told}, ensure_ascii=False))
    else:
        show(result, info=info, executed=False)
    if recording is not None:
        show_recording(recording, as_json=as_json)
    return exit_code(result, interrupt_code=1, pending=1, fail_on=fail_on)


__all__ = ["parse_outputs", "parse_results", "resume"]
