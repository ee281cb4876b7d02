"""``gert tui``: read the command line, and open the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.api import UsageError
from gert_core.hosting import options
from gert_tui.terminal import is_there

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gert_core.api import CommandHost

USAGE: Final = """\
Usage: gert tui [FILE] [OPTIONS]

Start, follow, answer and approve runs on one screen; without FILE it begins with the list of runs.

Options:
  --run ID                Open this run; `latest` is the newest.
  --ascii                 Draw with ASCII only.
  --no-mouse              Leave the mouse to the terminal.
  --var --input --mode --scenario --policy --approval --record --as --store -p   As for `gert exec`.

Press ? on any screen for its keys.
"""
_OWN: Final = {"--run": True, "--ascii": False, "--no-mouse": False}
_MODES: Final = ("real", "dry-run", "probe", "replay")


class TuiOptions(Struct, frozen=True, kw_only=True):
    """What a command line asks for."""

    runbook: Path | None = None
    run: str | None = None
    start: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    ascii: bool = False
    mouse: bool = True


def main(args: Sequence[str], host: CommandHost) -> int:
    """Run ``gert tui``, and return its exit code."""
    if {"--help", "-h"} & set(args):
        host.console.say(USAGE)
        return 0
    wanted = read(args)
    if not is_there():
        hint = "use gert exec and gert runs where there is none"
        raise UsageError("gert tui needs a terminal to draw on and to read keys from", hint=hint)
    from gert_tui.opening import open_screen

    return open_screen(wanted, environ=host.environ)


def read(args: Sequence[str]) -> TuiOptions:
    """Return what a command line asks for; raise ``UsageError`` for one that does not make sense."""
    given = options.parse(args, own=_OWN)
    run = given.own.get("--run")
    if given.runbook is not None and run is not None:
        raise UsageError("FILE starts a run and --run opens one: give one of them")
    if given.runbook is not None and not given.runbook.is_file():
        told = "is not a file" if given.runbook.exists() else "does not exist"
        raise UsageError(f"{given.runbook} {told}", file=str(given.runbook), hint="give the path of a runbook")
    if given.start.get("mode", "real") not in _MODES:
        raise UsageError(f"--mode is {', '.join(_MODES[:-1])} or {_MODES[-1]}, not {given.start['mode']}")
    return TuiOptions(
        runbook=None if given.runbook is None else given.runbook.resolve(),
        run=None if run is None else str(run),
        start=given.start,
        host=given.host,
        ascii="--ascii" in given.own,
        mouse="--no-mouse" not in given.own,
    )


__all__ = ["USAGE", "TuiOptions", "main", "read"]
