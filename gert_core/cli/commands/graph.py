"""``gert graph``: show the steps of a runbook and how they follow each other, without running it."""

from __future__ import annotations

import json as json_
import sys
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.runs import colour
from gert_core.cli.render.terminal import err, out, paint
from gert_core.cli.session import project_here, registry_for
from gert_core.cli.stores import store_here, store_option
from gert_core.documents.load import complete_runbook, load_runbook
from gert_core.graph.build import build_graph
from gert_core.graph.formats import FORMATS, SUFFIXES, TEXT, render
from gert_core.kit.files import write_named
from gert_core.runs.find import find_run

if TYPE_CHECKING:
    from gert_core.graph.model import Graph

_WIDEST: Final = 120


def graph(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The runbook.", readable=False)],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="text, mermaid, dot or svg; default by -o, else text."),
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="Show what became of each step in a run.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.", readable=False)
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show the steps of a runbook as a graph: what follows what, on which condition, how often."""
    wanted = _format(format_, output)
    project = project_here(file.parent)
    book = complete_runbook(
        load_runbook(file, registry=registry_for(project, ctx.obj), project=project), so="it has no graph"
    )
    found = build_graph(book)
    if run is not None:
        from gert_core.graph.status import changed_since, of_run
        from gert_core.runs.listing import run_info

        info = run_info(find_run(store_here(ctx.obj, store), run))
        found = of_run(found, book, info)
        if changed_since(book, info):
            err("warning: the runbook has changed since this run; the graph is that of the runbook as it is now")
    if output is not None:
        _write(output, json_.dumps(found.to_json(), ensure_ascii=False) + "\n" if json else render(found, wanted))
    elif json:
        out(json_.dumps(found.to_json(), ensure_ascii=False))
    elif wanted == TEXT:
        _print(found)
    else:
        out(render(found, wanted).removesuffix("\n"))
    return 0


def _format(given: str | None, output: Path | None) -> str:
    if given is None:
        return SUFFIXES.get(output.suffix.lower(), TEXT) if output is not None else TEXT
    if given not in FORMATS:
        from gert_core.documents.model_hints import suggest

        known = f"the formats are {', '.join(FORMATS)}"
        raise UsageError(f"there is no format {given!r}", hint=suggest(given, FORMATS) or known)
    return given


def _print(found: Graph) -> None:
    from gert_core.cli.render.help import columns
    from gert_core.graph.text import render_text

    width = min(columns(), _WIDEST)
    for line in render_text(found, width=width, paint=lambda text, status: paint(text, colour(status))):
        out(line)
    sys.stdout.flush()


def _write(path: Path, text: str) -> None:
    try:
        write_named(path, text.encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}", hint="choose another -o file") from error


__all__ = ["graph"]
