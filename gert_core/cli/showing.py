"""Choose how a run is shown while it happens: ``--progress``, ``-v``, ``-q``, and whether there is a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from gert_core.api.errors import UsageError
from gert_core.cli.render.console import TerminalConsole
from gert_core.engine.progress import Progress
from gert_core.plugin.printing import real_stdout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.engine.run import Run
    from gert_core.trace.observers import Observer

PROGRESS: Final = ("auto", "live", "plain", "json")
"""The values of ``--progress``."""


class Showing(Struct, frozen=True, kw_only=True):
    """What the command line says about it."""

    progress: str = "auto"
    verbose: int = 0
    quiet: bool = False

    def check(self) -> Showing:
        """Return it; refuse what does not exist or does not go together."""
        if self.progress not in PROGRESS:
            raise UsageError(f"--progress takes {', '.join(PROGRESS)}, not {self.progress!r}; nothing was run")
        if self.quiet and (self.verbose or self.progress in ("live", "json")):
            other = "-v" if self.verbose else f"--progress {self.progress}"
            raise UsageError(
                f"-q shows only the result, and {other} more than that; nothing was run", hint="leave one out"
            )
        return self


class Watcher(Protocol):
    """Who shows a run while it happens."""

    @property
    def listener(self) -> Progress:
        """What the engine tells of the run."""

    @property
    def observers(self) -> Sequence[tuple[str, Observer]]:
        """Who is told of the events of the run."""

    def console(self, *, no_input: bool) -> TerminalConsole:
        """Return who asks people meanwhile."""

    def attach(self, run: Run) -> None:
        """Take the run that is about to be executed."""

    def close(self) -> None:
        """Take the end of the run."""

    def end(self, data: Mapping[str, Any]) -> None:
        """Take the ``result`` of the run, or the ``error`` that ended it."""


class Hidden:
    """Shows nothing but dialogues."""

    listener: Progress = Progress()
    observers: Sequence[tuple[str, Observer]] = ()

    def console(self, *, no_input: bool) -> TerminalConsole:
        """Return who asks people meanwhile."""
        return TerminalConsole(no_input=no_input)

    def attach(self, run: Run) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def end(self, data: Mapping[str, Any]) -> None:
        """Do nothing."""


def watcher(shown: Showing, *, planned: bool, as_json: bool, environ: Mapping[str, str]) -> Watcher:
    """Return who shows a run; a plan for people is its result, and goes to standard output."""
    if shown.progress == "json":
        from gert_core.cli.render.notices import NoticeProgress

        return NoticeProgress(sys.stderr)
    if shown.quiet and not planned:
        return Hidden()
    from gert_core.cli.render.progress import TerminalProgress

    stream = real_stdout() if planned and not as_json else sys.stderr
    terminal = stream.isatty()
    if shown.progress == "live" and not terminal:
        raise UsageError(
            "--progress live draws on a terminal, and there is none; nothing was run", hint="use --progress plain"
        )
    live = shown.progress == "live" or (shown.progress == "auto" and terminal and environ.get("TERM") != "dumb")
    if planned:
        from gert_core.cli.render.dry import DryProgress

        return DryProgress(stream, live=live, verbose=shown.verbose, described=True)
    return TerminalProgress(stream, live=live, verbose=shown.verbose)


__all__ = ["PROGRESS", "Hidden", "Showing", "Watcher", "watcher"]
