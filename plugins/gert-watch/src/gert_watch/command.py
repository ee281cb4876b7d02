"""``gert watch``: read the command line, and start the loop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import OutcomeCategory, UsageError
from gert_core.hosting import options
from gert_core.kit.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import CommandHost

USAGE: Final = """\
Usage: gert watch FILE --interval 5m [OPTIONS]

Run a runbook again and again, one after another, and print a line for each run.

Options:
  --interval TIME         The time from one start to the next, 1s at least.
  --stop-on A,B           Stop after these outcomes, with exit code 1.
  --count N               Stop after so many runs.
  --config FILE           A file with `notify`: who is told of these runs, besides the project's rules.
  --fail-on A,B           Go on after these outcomes, and exit with 4 at the end.
  --pending-exit-code N   Exit code when a run waits for people, which ends the loop.
  --no-notify             Send no notifications; `gert notify flush` does.
  --var --input --mode --policy --as --approval --store -p   As for `gert exec`.

It stops when a run fails or waits for people. Ctrl-C stops it after the current run, a second one cancels that run.
"""
_OWN: Final = {
    "--interval": True,
    "--stop-on": True,
    "--count": True,
    "--config": True,
    "--fail-on": True,
    "--pending-exit-code": True,
    "--no-notify": False,
    "--no-input": False,
}
_LEAST: Final = 1.0
"""The shortest interval, in seconds."""


class WatchOptions(Struct, frozen=True, kw_only=True):
    """What a command line asks for."""

    runbook: Path
    interval: float
    start: Mapping[str, Any]
    host: Mapping[str, Any]
    stop_on: tuple[str, ...] = ()
    fail_on: tuple[str, ...] | None = None
    """None: as the project says."""
    count: int | None = None
    pending_exit_code: int = 0
    notify: bool = True


def main(args: Sequence[str], host: CommandHost) -> int:
    """Run ``gert watch``, and return its exit code."""
    from gert_watch.loop import Watch

    if {"--help", "-h"} & set(args):
        host.console.say(USAGE)
        return 0
    return Watch(read(args), environ=host.environ).watch()


def read(args: Sequence[str]) -> WatchOptions:
    """Return what a command line asks for; raise ``UsageError`` for one that does not make sense."""
    given = options.parse(args, own=_OWN)
    own = given.own
    if given.runbook is None:
        raise UsageError("give the runbook to run", hint="gert watch FILE --interval 5m")
    if not given.runbook.is_file():
        told = "is not a file" if given.runbook.exists() else "does not exist"
        raise UsageError(f"{given.runbook} {told}", file=str(given.runbook), hint="give the path of a runbook")
    start = dict(given.start)
    if start.setdefault("questions", "suspend") == "ask":
        raise UsageError("--questions ask asks, and gert watch never does; nothing was run", hint="leave it out")
    if "record" in start:
        hint = "set GERT_AUTO_RECORD=true or GERT_AUTO_RECORD=new, which records each run under its id"
        raise UsageError("--record names one recording, and gert watch makes many runs; nothing was run", hint=hint)
    if "--config" in own:
        config = Path(str(own["--config"]))
        if not config.is_file():
            raise UsageError(f"{config} does not exist", file=str(config), hint="give a file with `notify`")
        start["notify"] = (config,)
    return WatchOptions(
        runbook=given.runbook,
        interval=_interval(own.get("--interval")),
        start=start,
        host=given.host,
        stop_on=_categories("--stop-on", own.get("--stop-on")),
        fail_on=_categories("--fail-on", own["--fail-on"]) if "--fail-on" in own else None,
        count=None if "--count" not in own else _number("--count", own["--count"], least=1),
        pending_exit_code=_number("--pending-exit-code", own.get("--pending-exit-code", "0"), most=255),
        notify="--no-notify" not in own,
    )


def _interval(text: str | bool | None) -> float:
    if text is None:
        raise UsageError("--interval is missing; nothing was run", hint="say how often, such as --interval 5m")
    try:
        seconds = parse_duration(str(text))
    except ValueError as error:
        raise UsageError(f"--interval: {error}; nothing was run") from None
    if seconds < _LEAST:
        raise UsageError(f"--interval is {text}, and 1s is the least; nothing was run")
    return seconds


def _categories(option: str, text: str | bool | None) -> tuple[str, ...]:
    if text is None:
        return ()
    known = [str(category) for category in OutcomeCategory]
    words = [word.strip() for word in str(text).split(",") if word.strip()]
    if words == ["none"] and option == "--fail-on":
        return ()
    if not words or not set(words) <= set(known):
        hint = f"they are {', '.join(known)}"
        raise UsageError(f"{option} takes categories of outcomes, not {text!r}; nothing was run", hint=hint)
    return tuple(dict.fromkeys(words))


def _number(option: str, text: str | bool, *, least: int = 0, most: int = 10**9) -> int:
    word = str(text)
    if not (word.isascii() and word.isdigit() and len(word) < 11) or not least <= int(word) <= most:
        raise UsageError(f"{option} takes a number from {least} to {most}, not {word!r}; nothing was run")
    return int(word)


__all__ = ["USAGE", "WatchOptions", "main", "read"]
