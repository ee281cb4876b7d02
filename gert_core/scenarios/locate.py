"""Find the one scenario that a person means: by its directory, or by its name among those of runbooks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.errors import UsageError
from gert_core.documents.scenario import SCENARIO_FILE, load_scenario
from gert_core.scenarios.find import DIRECTORY, candidates_of, find_runbooks, runbook_of_scenario, scenarios_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN: Final = 10


class Located(Struct, frozen=True, kw_only=True):
    """A scenario directory, and the runbook that it belongs to."""

    directory: Path
    runbook: Path


def locate(given: str, *, runbook: Path | None, root: Path) -> Located:
    """Return the scenario of a directory, or of a name; raise ``UsageError`` with candidates when it is ambiguous.

    Without ``runbook`` a name is looked for among the scenarios of all runbooks below ``root``.
    """
    if runbook is not None and not runbook.is_file():
        raise UsageError(f"{runbook} does not exist", file=str(runbook), hint="give the path of a runbook")
    path = Path(given)
    if (path / SCENARIO_FILE).is_file():
        return Located(directory=path, runbook=runbook or _own_runbook(path))
    found = [
        Located(directory=candidate.directory, runbook=book)
        for book in ([runbook] if runbook is not None else _books(root))
        for candidate in candidates_of(book)
        if candidate.name == given
    ]
    if len(found) == 1:
        return found[0]
    if found:
        named = ", ".join(str(one.runbook) for one in found[:_SHOWN])
        raise UsageError(
            f"{len(found)} runbooks have a scenario {given!r}: {named}", hint="say which one with --runbook FILE"
        )
    where = f"of {runbook}" if runbook is not None else f"below {root}"
    raise UsageError(f"there is no scenario {given!r} {where}{_near(given, runbook, root)}", hint=_HINT)


_HINT: Final = "give the directory of a scenario or its name; `gert scenario list FILE` shows them"


def _own_runbook(directory: Path) -> Path:
    found = runbook_of_scenario(directory, load_scenario(directory))
    if found is None:
        raise UsageError(f"{directory} does not say which runbook it is for", hint="add --runbook FILE")
    if not found.is_file():
        raise UsageError(f"{directory} is for {found}, which does not exist", hint="add --runbook FILE")
    return found


def _books(root: Path) -> Iterator[Path]:
    """Yield the runbooks with scenarios below a directory, which may have none."""
    if any(DIRECTORY in names for _, names, _ in os.walk(root)):
        try:
            yield from find_runbooks([root]).runbooks
        except UsageError:
            return


def _near(given: str, runbook: Path | None, root: Path) -> str:
    from gert_core.kit.nearest import nearest  # only mistakes need it

    books = [runbook] if runbook is not None else _books(root)
    names = {candidate.name for book in books for candidate in candidates_of(book)}
    near = nearest(given, names)
    return f"; did you mean {near!r}?" if near else ""


def home_of(scenario: Located, name: str) -> Path:
    """Return the directory that a scenario of this name has among those of its runbook; raise ``UsageError``."""
    if Path(name).name != name:
        raise UsageError(f"{name!r} cannot be the name of a scenario", hint="give a name, not a path")
    return scenarios_directory(scenario.runbook) / name


__all__ = ["Located", "home_of", "locate"]
