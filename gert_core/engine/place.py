"""Where a run is kept: its directory, its trace, and what was chosen for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.documents.floor import floor_files
from gert_core.documents.project_file import FILE_NAME
from gert_core.runs.choices import RunChoices
from gert_core.runs.directory import RunDirectory, runs_root
from gert_core.trace.events import ZEROS
from gert_core.trace.sinks import FileSink, NullSink

if TYPE_CHECKING:
    from contextlib import ExitStack

    from gert_core.api.stores import Sink
    from gert_core.engine.request import Request, Resume
    from gert_core.trace.signing import Signer


class Place(Struct, frozen=True, kw_only=True, eq=False):
    """Where a run is kept, and where its trace continues."""

    run_id: str
    choices: RunChoices
    directory: RunDirectory | None
    sink: Sink
    start_seq: int = 0
    prev_hash: str = ZEROS


def new_place(request: Request, run_id: str, signer: Signer | None, stack: ExitStack) -> Place:
    """Create the directory and the trace of a fresh run."""
    sink: Sink = NullSink()
    if request.trace is not None:  # a path that cannot be written leaves no directory behind
        sink = FileSink(request.trace)
        stack.callback(sink.close)
    directory = None
    if request.kept:
        directory = RunDirectory.create(request.runs or runs_root(request.project), run_id)
        stack.enter_context(directory.lock())
    choices = _choices(request, signer=signer, directory=directory)
    if directory is not None:
        directory.write_meta(runbook=request.runbook, trace=request.trace, extra=choices.to_meta())
        if request.trace is None:
            sink = FileSink(directory.path / "trace.jsonl")
    return Place(run_id=run_id, choices=choices, directory=directory, sink=sink)


def recorded_place(resume: Resume, signer: Signer | None) -> Place:
    """Open the trace of a recorded run behind its last complete event; until here nothing was written."""
    from gert_core.engine.resume.trust import refuse_other_signer
    from gert_core.trace.recovery import cut_torn_end

    run = resume.run
    refuse_other_signer(run.choices, signer, run.seals, run_id=run.run_id)
    cut_torn_end(run.trace, run.end, aside=run.directory.path / "trace.torn")
    return Place(
        run_id=run.run_id,
        choices=run.choices,
        directory=run.directory,
        sink=FileSink(run.trace, append=True, file=run.end.file),
        start_seq=run.end.seq,
        prev_hash=run.end.prev_hash,
    )


def _choices(request: Request, *, signer: Signer | None, directory: RunDirectory | None) -> RunChoices:
    """Return what a resumed run chooses again; a replay records no paths, so that its trace is the same anywhere."""
    here = request.mode != "replay"
    return RunChoices(
        mode=request.mode,
        runbook_path=str(request.runbook.absolute()) if here else None,
        floor_files=tuple(map(str, floor_files())) if here else (),
        project_file=str((request.project.root / FILE_NAME).absolute())
        if here and request.project is not None
        else None,
        policy_files=tuple(str(path.absolute()) for path in request.policies) if here else (),
        approval_provider=chosen_provider(request),
        questions=request.questions if here else None,
        trace_sync=request.trace_sync,
        fail_on=_fail_on(request),
        signer=signer.to_json() if signer is not None else None,
        cwd=_working_directory() if here else None,
        run_directory=str(directory.path.absolute()) if here and directory is not None else None,
    )


def _fail_on(request: Request) -> tuple[str, ...]:
    if request.fail_on is None and request.project is not None:
        return tuple(request.project.model.fail_on)
    return request.fail_on or ()


def _working_directory() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # it was deleted
        return None


def chosen_provider(request: Request) -> str | None:
    """Return the name of the approval provider that the request or the project asks for."""
    if request.approval is None and request.project is not None:
        return request.project.model.approvals.provider
    return request.approval


__all__ = ["Place", "chosen_provider", "new_place", "recorded_place"]
