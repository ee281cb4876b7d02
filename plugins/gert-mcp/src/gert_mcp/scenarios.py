"""Choose which scenarios agents may see and replay: those of runbooks they see, with all their files below the root.

What is replayed is told: steps, outputs and what differs from a test. A link to elsewhere would tell that file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, UsageError
from gert_mcp.roots import inside
from gert_mcp.tools import opaque

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gert_core.hosting import Host
    from gert_mcp.books import Books

_SCENARIO: Final = "scenario.yaml"
_FILES: Final = (_SCENARIO, "test.yaml", "trace.jsonl")
"""What gert reads of a scenario."""


def refuse_outside(host: Host, directories: Iterable[Path]) -> None:
    """Raise ``UsageError`` unless the directories of scenarios and all files of them lie below the root."""
    for directory in directories:
        for file in (directory, *(directory / name for name in _FILES)):
            inside(file, [host.root], f"scenario {directory.name!a}")


def to_replay(books: Books, host: Host, path: Path, scenario: str | None) -> list[Path]:
    """Return what to test of a runbook, or of all below a directory: without the runbooks agents see nothing of."""
    if path.is_dir():
        return _below(books, host, path, scenario)
    book = books.at(host, path)
    if book.opaque:
        raise opaque(book.label)
    refuse_outside(host, (one.directory for one in host.scenarios(path) if scenario in (None, one.name)))
    return [path]


def refuse_scenario(books: Books, host: Host, path: Path, *, named: object) -> None:
    """Raise ``UsageError`` for a file of a scenario whose runbook, beside it or ``named`` in it, agents do not see."""
    place = path.parent.parent
    beside = [place.parent.parent / f"{place.name}{suffix}" for suffix in (".yaml", ".yml")]
    found = beside if place.parent.name == "scenarios" else []
    if isinstance(named, str):
        found = [*found, path.parent / named]
    if not all(_shows(books, host, runbook) for runbook in found if runbook.is_file()):
        raise opaque(path.relative_to(host.root).as_posix())


def _below(books: Books, host: Host, directory: Path, scenario: str | None) -> list[Path]:
    # Of a directory that is a scenario or has some in it; an error about a file elsewhere would tell of that.
    refuse_outside(host, (one for one in (directory, *directory.iterdir()) if (one / _SCENARIO).is_file()))
    hides = UsageError("there are no scenarios here that are served to MCP clients", kind=ErrorKind.NOT_SERVED)
    try:
        every = host.to_test([directory])
    except UsageError:
        if all(_shows(books, host, path) for path in books.look() if path.is_relative_to(directory)):
            raise
        raise hides from None
    shown = {runbook: found for runbook, found in every.items() if _shows(books, host, runbook)}
    chosen = {runbook: [one for one in found if scenario in (None, one.name)] for runbook, found in shown.items()}
    refuse_outside(host, (one.directory for found in chosen.values() for one in found))
    if len(shown) == len(every):
        return [directory]
    below = [runbook for runbook, found in chosen.items() if found and runbook.is_relative_to(directory)]
    if not below:
        raise hides
    return below


def _shows(books: Books, host: Host, runbook: Path) -> bool:
    """Return whether agents may see the steps of a runbook."""
    file = runbook.resolve()
    book = books.look().get(runbook) or books.look().get(file)
    return file.is_relative_to(host.root) and book is not None and not book.hidden and not book.opaque


__all__ = ["refuse_outside", "refuse_scenario", "to_replay"]
