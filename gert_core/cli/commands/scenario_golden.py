"""``gert scenario promote``, ``demote`` and ``prune``: choose which recorded runs stay as tests, and delete others."""

from __future__ import annotations

import json as json_
import shutil
from pathlib import Path
from typing import Annotated

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import err, escape, out, paint


def promote(
    given: Annotated[str, typer.Argument(metavar="DIR|NAME", help="The scenario: its directory, or its name.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="N", help="Move it to this name among those of its runbook.")
    ] = None,
    runbook: Annotated[
        Path | None, typer.Option("--runbook", metavar="F", help="The runbook it is for.", readable=False)
    ] = None,
) -> int:
    """Make a scenario golden, so that `gert test` and `gert diff` run it; recordings move beside their runbook."""
    from gert_core.scenarios.golden import set_golden
    from gert_core.scenarios.locate import home_of, locate
    from gert_core.scenarios.moving import check_home, move

    found = locate(given, runbook=runbook, root=_root())
    home = home_of(found, name or found.directory.resolve().name)
    if moves := found.directory.resolve() != home.resolve():
        check_home(home)
    changed = set_golden(found.directory, golden=True)
    if moves:
        move(found.directory, home, found.runbook)
    said = "is golden now" if changed else "is golden already"
    out(f"{paint('★', 'yellow')} {escape(str(home if moves else found.directory))} {said}")
    return 0


def demote(
    given: Annotated[str, typer.Argument(metavar="DIR|NAME", help="The scenario: its directory, or its name.")],
    runbook: Annotated[
        Path | None, typer.Option("--runbook", metavar="F", help="The runbook it is for.", readable=False)
    ] = None,
) -> int:
    """Make a scenario an archived one again; nothing else of it changes."""
    from gert_core.scenarios.golden import set_golden
    from gert_core.scenarios.locate import locate

    found = locate(given, runbook=runbook, root=_root())
    said = "is not golden any more" if set_golden(found.directory, golden=False) else "is not golden"
    out(f"{escape(str(found.directory))} {said}")
    return 0


def prune(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE|DIR", help="Runbooks, or directories of them; default: here.", readable=False),
    ] = None,
    older: Annotated[
        str | None, typer.Option("--older", metavar="90d", help="Recordings of runs that ended as long ago.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete them; without it they are only listed.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Delete recorded scenarios that are not golden and old."""
    if older is None:
        raise UsageError("--older is missing", hint="say which recordings to delete, for example --older 90d")
    from gert_core.kit.times import moment
    from gert_core.scenarios.pruning import old_recordings, why_kept

    before = moment(older, what="--older")
    old = old_recordings(files or [_root()], before=before)
    kept = {directory: told for directory in old if (told := why_kept(directory)) is not None}
    if yes:
        kept |= {directory: told for directory in old if directory not in kept and (told := _delete(directory))}
    gone = [directory for directory in old if directory not in kept]
    if json:
        document = {"pruned": list(map(str, gone)), "skipped": list(map(str, kept)), "dry_run": not yes}
        out(json_.dumps(document, ensure_ascii=False))
    else:
        for directory in gone:
            out(escape(str(directory)))
        end = "deleted" if yes else "would be deleted; add --yes to delete them"
        err(f"{len(gone)} recording{'' if len(gone) == 1 else 's'} {end}")
    for directory, told in kept.items():
        err(escape(f"skipped: {directory} {told}"))
    return 1 if kept and yes else 0


def _delete(directory: Path) -> str | None:
    """Delete a recording; return why that failed."""
    try:
        shutil.rmtree(directory)
    except OSError as error:
        return f"cannot be deleted: {error.strerror or error}"
    return None


def _root() -> Path:
    """Return the directory below which scenarios are looked for: that of the project, else the working directory."""
    from gert_core.cli.session import project_here

    project = project_here()
    here = Path.cwd()
    if project is None or project.root.resolve() == here:
        return Path()
    return project.root


__all__ = ["demote", "promote", "prune"]
