"""``gert init``: start a project whose runbook runs and whose tests pass at once."""

from __future__ import annotations

import json as json_
import re
import shlex
from pathlib import Path
from typing import Annotated, Final

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import out, paint
from gert_core.cli.scaffold import NewFiles, from_template

_ABOUT: Final = {
    "disk-check.yaml": "a runbook",
    "disk.tool.yaml": "a tool it uses, with its contract",
    "scenario.yaml": "inputs and answers for a test",
    "test.yaml": "the expected result",
    "floor.yaml": "rules for every run",
    "gert-project.yaml": "the project",
}
_YOURS: Final = ("README.md", ".gitignore")
_NEXT: Final = (
    ("gert test .", "replay the scenarios"),
    ("gert exec disk-check.yaml", "run it"),
    ("gert exec disk-check.yaml --var limit=0", "run it so that it asks for approval"),
    ("gert runs list", "see what ran"),
)


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory; created if it does not exist.", readable=False)
    ] = Path(),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Start a project in a directory: a runbook, a tool, scenarios and a policy that work at once.

    Nothing is overwritten: if one of the files exists, none is written. An existing README.md or .gitignore is kept.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file, not a directory", file=str(directory))
    planned = from_template("project", directory, {"name": _name(directory)}).texts
    # A repository often has these already, and its own are better than ours.
    wanted = {path: text for path, text in planned.items() if path.name not in _YOURS or not path.exists()}
    written = NewFiles(texts=wanted).write()
    if json:
        names = [path.as_posix() for path in written]
        out(json_.dumps({"directory": str(directory), "files": names}, ensure_ascii=False))
        return 0
    out(f"{paint('✓', 'green')} Started a project in {directory.resolve()}")
    width = max(len(str(path)) for path in written)
    for path in written:
        out(f"  {path!s:<{width}}  {_ABOUT.get(path.name, '')}".rstrip())
    out("Next:")
    if directory.resolve() != Path.cwd():
        out(f"  cd {shlex.quote(str(directory))}")
    width = max(len(command) for command, _ in _NEXT)
    for command, why in _NEXT:
        out(f"  {command:<{width}}  {paint('# ' + why, 'dim')}")
    return 0


def _name(directory: Path) -> str:
    """Return the name of the directory, quoted if YAML would read it as something else."""
    name = directory.resolve().name or "runbooks"
    unquoted = re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]*", name) and name.lower() not in ("true", "false", "null")
    return name if unquoted else json_.dumps(name, ensure_ascii=False)


__all__ = ["init"]
