"""``gert scenario``: list, write and record scenarios, and look for secrets in them."""

from __future__ import annotations

import json as json_
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated, Any

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.scenario_options import runbooks_argument
from gert_core.cli.stores import store_option

if TYPE_CHECKING:
    from gert_core.scenarios.find import ScenarioCandidate


def list_(
    files: Annotated[list[Path], runbooks_argument()],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """List the scenarios of runbooks: which are golden, which are recorded, and what each expects."""
    from gert_core.cli.render.table import table
    from gert_core.scenarios.find import candidates_for, find_runbooks

    found = find_runbooks(files)
    for remark in found.warnings:
        err(escape(f"warning: {remark}"))
    books = {runbook: candidates_for(runbook, found) for runbook in found.runbooks}
    if json:
        listed = [
            {"runbook": str(book), "scenarios": [_entry(one) for one in candidates]}
            for book, candidates in books.items()
        ]
        out(json_.dumps(listed[0] if len(files) == 1 and len(listed) == 1 else listed, ensure_ascii=False))
        return 0
    for book, candidates in books.items():
        out(escape(str(book)))
        rows = [("★" if one.golden else "", *map(escape, _cells(one))) for one in candidates]
        for line in table(("", "SCENARIO", "EXPECTS", "TAGS"), rows, column=0, colour=lambda _: "yellow"):
            out(f"  {line}")
    return 0


def _cells(one: ScenarioCandidate) -> tuple[str, str, str]:
    return one.name, _expects(one), ", ".join(sorted(one.tags))


def _expects(one: ScenarioCandidate) -> str:
    if one.problem is not None:
        return one.problem.message
    test = one.scenario.test if one.scenario is not None else None
    if test is None:
        return "no test.yaml"
    if test.expected_outcome is not None:
        return f"{test.expected_outcome} ({test.expected_code})" if test.expected_code else str(test.expected_outcome)
    return str(test.expected_status or "")


def _entry(one: ScenarioCandidate) -> dict[str, Any]:
    test = one.scenario.test if one.scenario is not None else None
    return {
        "scenario": one.name,
        "path": str(one.directory),
        "golden": one.golden,
        "recorded": one.recorded,
        "tags": sorted(one.tags),
        "expected_status": None if test is None else test.expected_status,
        "expected_outcome": None if test is None or test.expected_outcome is None else str(test.expected_outcome),
        "expected_code": None if test is None else test.expected_code,
        "problem": None if one.problem is None else one.problem.message,
    }


def new(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The runbook.", readable=False)],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, such as disk-full.")],
) -> int:
    """Write a scenario for a runbook: canned answers for every tool it uses, and the result expected of them."""
    from gert_core.cli.commands.new import new_scenario

    return new_scenario(ctx, name, file)


def record(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, its beginning, or `latest`.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="DIR|NAME", help="The scenario's name; default: the run's id.")
    ] = None,
    store: Annotated[str | None, store_option()] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Record a run that is over as a scenario of its runbook."""
    from gert_core.cli.execution import show_recording
    from gert_core.cli.session import project_here, registry_for
    from gert_core.cli.stores import store_of
    from gert_core.runs.find import find_run
    from gert_core.scenarios.recording.old import record_old, runbook_of
    from gert_core.scenarios.recording.place import check_target, target_of

    here = project_here()
    kept = store_of(here, ctx.obj, store)
    with find_run(kept, run) as stored:
        run_id, runbook = stored.run_id, runbook_of(stored)
    target = check_target(target_of(name or run_id, runbook))
    project = project_here(runbook.parent, known=here)
    registry = registry_for(project, ctx.obj)
    done = record_old(kept, run_id, target, registry=registry, project=project, environ=ctx.obj.environ)
    if json:
        out(json_.dumps({"run_id": run_id, "record": done.to_json()}, ensure_ascii=False))
    elif done.written:
        out(f"{paint('✓', 'green')} {escape(done.path)}")
    show_recording(done, as_json=True)
    return 0 if done.written else 1


def scan(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Scenarios, files, or directories of them.", readable=False)
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Look for tokens, keys and passwords that have a known form; exit with 1 when there are any."""
    from gert_core.scenarios.scanning import scan_paths

    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", file=str(path), hint="give files, or directories of scenarios")
    files, hits = scan_paths(paths)
    if json:
        listed = [{"place": hit.place, "kind": hit.kind} for hit in hits]
        out(json_.dumps({"files": files, "hits": listed}, ensure_ascii=False))
    else:
        for hit in hits:
            out(escape(str(hit)))
        err(f"{files} file{'' if files == 1 else 's'} scanned, {len(hits) or 'nothing'} found")
    return 1 if hits else 0


__all__ = ["list_", "new", "record", "scan"]
