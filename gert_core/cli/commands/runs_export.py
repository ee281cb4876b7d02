"""``gert runs export``: give out a run exactly as its store has it."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out
from gert_core.cli.stores import store_here, store_option
from gert_core.runs.find import find_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.api import StoredRun
    from gert_core.runs.export import Exported

_LINES: Final = ".jsonl"
"""How a file is named that takes the trace alone."""


def export(
    ctx: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The run's id, its beginning, or `latest`.")],
    out_: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="A tar archive of the whole run; FILE.jsonl: its trace.", readable=False
        ),
    ] = None,
    no_output: Annotated[
        bool, typer.Option("--no-output", help="Leave out what tools wrote while they were running.")
    ] = False,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document; without --out the lines.")] = False,
) -> int:
    """Write a run as it is: the lines of its trace to standard output, or everything to an archive.

    The hash chain is checked on the way, and files that steps kept: those that are not what was recorded are written,
    named, and the exit code is 1. The archive is the same whichever store the run is in; unpacked in a directory
    of runs it is that run.
    """
    from gert_core.runs.export import export_archive, export_lines

    run = find_run(store_here(ctx.obj, store), run_id)
    if out_ is None:
        _note(run, _print(run))
        return 0
    done = export_lines(run, out_) if out_.suffix == _LINES else export_archive(run, out_, output=not no_output)
    if json:
        document = {"run_id": done.run_id, "out": str(out_), "events": done.events, "blobs": done.blobs}
        out(json_.dumps({**document, "torn_bytes": done.torn, "changed": done.changed}, ensure_ascii=False))
    else:
        files = f" and {done.blobs} file{'' if done.blobs == 1 else 's'}" if out_.suffix != _LINES else ""
        out(escape(f"{done.events} events{files} of run {done.run_id} written to {out_}"))
    _note(run, done)
    return report_changed(done.run_id, done.changed)


def report_changed(run_id: str, names: Sequence[str]) -> int:
    """Name the files that are not what the trace recorded; return the exit code."""
    for name in names:
        err(escape(f"changed: {name} of run {run_id} is missing or not what its trace recorded (sha256)"))
    return 1 if names else 0


def _print(run: StoredRun) -> Exported:
    """Print the lines, byte for byte; on a terminal with every character visible, which is the same JSON."""
    from gert_core.runs.export import CheckedLines, Exported

    lines = CheckedLines(run)
    if sys.stdout is not None and sys.stdout.isatty():
        for line in lines():
            out(escape(line.decode("utf-8", "replace").removesuffix("\n")))
    elif sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(lines())
        sys.stdout.buffer.flush()
    return Exported(run_id=run.run_id, events=lines.chain.events, torn=lines.chain.torn)


def _note(run: StoredRun, done: Exported) -> None:
    """Say what was left out; the last line of a run that is being executed may be half written."""
    if done.torn and run.holder() is None:
        err(f"left out: {done.torn} bytes behind event {done.events}, which a crash left and which are not an event")


__all__ = ["export", "report_changed"]
