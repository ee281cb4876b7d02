"""Where a run is kept: its store, its trace, and what was chosen for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api import UsageError
from gert_core.documents.floor import floor_files
from gert_core.documents.project_file import FILE_NAME
from gert_core.engine.holding import hold
from gert_core.runs.choices import RunChoices
from gert_core.runs.directory import runs_root
from gert_core.runs.meta import META, meta_blob
from gert_core.stores.directory import DirectoryStore
from gert_core.trace.events import ZEROS
from gert_core.trace.sinks import FileSink, NullSink

if TYPE_CHECKING:
    from contextlib import ExitStack

    from gert_core.api import Lease, RunStore, Sink, StoredRun
    from gert_core.engine.request import Request, Resume
    from gert_core.trace.signing import Signer


class Place(Struct, frozen=True, kw_only=True, eq=False):
    """Where a run is kept, and where its trace continues."""

    run_id: str
    choices: RunChoices
    sink: Sink
    store: RunStore | None = None
    stored: StoredRun | None = None
    lease: Lease | None = None
    trace: Path | None = None
    """The file with the trace; the null device for a run that keeps none, ``None`` in a store without files."""
    start_seq: int = 0
    prev_hash: str = ZEROS


def new_place(request: Request, run_id: str, signer: Signer | None, stack: ExitStack) -> Place:
    """Create the run in its store, and its trace."""
    if request.trace is None and not request.kept:
        choices = _choices(request, signer=signer)
        return Place(run_id=run_id, choices=choices, sink=NullSink(), trace=Path(os.devnull))
    sink: Sink | None = None
    if request.trace is not None:  # a path that cannot be written leaves no directory behind
        sink = FileSink(request.trace)
        stack.callback(sink.close)
    if not request.kept:
        choices = _choices(request, signer=signer)
        return Place(run_id=run_id, choices=choices, sink=sink or NullSink(), trace=request.trace)
    store = request.store or DirectoryStore(request.runs or runs_root(request.project))
    choices = _choices(request, signer=signer, store=store, run_id=run_id)
    extra = {**choices.to_meta(), **request.remember}
    meta = meta_blob(run_id, runbook=request.runbook, trace=request.trace, extra=extra)
    stored = store.create(run_id, blobs={META: meta})
    stack.callback(stored.close)
    lease = hold(stored, stack, alone=request.alone)
    if sink is None:
        sink = stored.sink(seq=0, lease=lease)
    trace = request.trace or (None if stored.path is None else stored.path / "trace.jsonl")
    return Place(run_id=run_id, choices=choices, sink=sink, store=store, stored=stored, lease=lease, trace=trace)


def recorded_place(resume: Resume, signer: Signer | None) -> Place:
    """Open the trace of a recorded run behind its last complete event; until here nothing was written."""
    from gert_core.engine.resume.trust import refuse_other_signer

    run = resume.run
    refuse_other_signer(run.choices, signer, run.seals, run_id=run.run_id)
    run.stored.recover()
    return Place(
        run_id=run.run_id,
        choices=run.choices,
        sink=run.stored.sink(seq=run.end.seq, lease=run.lease),
        store=run.store,
        stored=run.stored,
        lease=run.lease,
        trace=run.trace,
        start_seq=run.end.seq,
        prev_hash=run.end.prev_hash,
    )


def check_place(request: Request) -> None:
    """Refuse a trace in a file of its own where the run is not kept in files, and paths that no trace can record."""
    if request.mode != "replay":
        root = request.store.root if isinstance(request.store, DirectoryStore) else None
        for path in (request.runbook, request.trace, *request.policies, request.cwd, request.runs, root, Path()):
            _check_recordable(path)
    if request.trace is not None and request.kept and not isinstance(request.store, (DirectoryStore, type(None))):
        raise UsageError(
            f"--trace is for runs in directories, and this one would be kept in {request.store.url}",
            hint="leave it out; or keep the run in a directory with --store file:runs",
        )


def _check_recordable(path: Path | None) -> None:
    """Refuse a path with bytes that are not UTF-8: the trace is text, and could not say where the run was."""
    try:
        whole = "" if path is None else str(path.absolute())
        whole.encode()
    except FileNotFoundError:  # the working directory was deleted
        return
    except UnicodeEncodeError:
        raise UsageError(
            f"the path {whole!a} has bytes that are not UTF-8, so a trace cannot record it",
            hint="rename the file or directory, or work in another one",
        ) from None


def _choices(request: Request, *, signer: Signer | None, store: RunStore | None = None, run_id: str = "") -> RunChoices:
    """Return what a resumed run chooses again; a replay records no paths, so that its trace is the same anywhere."""
    here = request.mode != "replay"
    directory = (store.root / run_id).absolute() if isinstance(store, DirectoryStore) else None
    elsewhere = None
    if store is not None and directory is None:
        from gert_core.kit.store_urls import without_password

        elsewhere = without_password(store.url)
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
        cwd=_working_directory(request.cwd) if here else None,
        run_directory=str(directory) if here and directory is not None else None,
        store=elsewhere if here else None,
    )


def _fail_on(request: Request) -> tuple[str, ...]:
    if request.fail_on is None and request.project is not None:
        return tuple(request.project.model.fail_on)
    return request.fail_on or ()


def _working_directory(chosen: Path | None) -> str | None:
    try:
        return str(chosen or Path.cwd())
    except OSError:  # it was deleted
        return None


def chosen_provider(request: Request) -> str | None:
    """Return the name of the approval provider that the request or the project asks for."""
    if request.approval is None and request.project is not None:
        return request.project.model.approvals.provider
    return request.approval


__all__ = ["Place", "check_place", "chosen_provider", "new_place", "recorded_place"]
