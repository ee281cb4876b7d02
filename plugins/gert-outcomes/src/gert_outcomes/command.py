"""``gert outcomes``: read the command line, summarise the runs, and print or write what was asked for."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api import UsageError
from gert_core.kit.arguments import read_words
from gert_core.kit.escaping import escape, without_commands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import CommandHost
    from gert_outcomes.summary import OutcomeReport

USAGE: Final = """\
Usage: gert outcomes [OPTIONS]

Show what past runs came to: outcomes and their trends, how long runs worked and waited for people, failing steps.
Only runs in mode `real` count, each of them once.

Options:
  --since TIME       Runs that began in this time (7d, 12h), or since a moment (2026-11-01); default: all.
  --runbook NAME     Runs of this runbook only.
  --by WHAT          One part for each runbook, actor, day or week; default: runbook. Days and weeks are those of UTC.
  --steps            Also how often each step ran and failed, and how long it took; reads whole traces.
  --json             Print one JSON document.
  --csv              Print a table for spreadsheets; with --steps that of the steps.
  --html FILE        Write one HTML page with charts and tables.
  --store URL        Where runs are kept; default: GERT_STORE, or as the project says.
  --help             Show this text.
"""
BY: Final = ("runbook", "actor", "day", "week")
_FORMS: Final = ("json", "csv", "html")
_OPTIONS: Final = {
    **dict.fromkeys(("--since", "--runbook", "--by", "--html", "--store"), True),
    **dict.fromkeys(("--steps", "--json", "--csv"), False),
}
"""The options, and whether each takes a value."""
_WIDTH: Final = 100
"""The width where there is no terminal."""
_NAMED: Final = 20
"""How many traces that cannot be read are named on the terminal."""


class OutcomesOptions(Struct, frozen=True, kw_only=True):
    """What a command line asks for."""

    since: str | None = None
    """As it was given."""
    runbook: str | None = None
    by: str = BY[0]
    steps: bool = False
    form: str = "text"
    html: Path | None = None
    store: str | None = None


def main(args: Sequence[str], host: CommandHost) -> int:
    """Run ``gert outcomes``, and return its exit code."""
    if {"--help", "-h"} & set(args):
        _say(USAGE.removesuffix("\n"))
        return 0
    wanted = read(args)
    from gert_core.hosting.past import PastRuns
    from gert_outcomes.collect import collect

    traces = Path("traces") if host.project is None else host.project.traces_dir
    past = PastRuns(host.store(wanted.store), traces=traces if wanted.store is None else None)
    report = collect(past, wanted)
    _print(report, wanted, host)
    return 0


def read(args: Sequence[str]) -> OutcomesOptions:
    """Return what a command line asks for; raise ``UsageError`` for one that does not make sense."""
    words = read_words(args, _OPTIONS)
    if words.rest:
        raise UsageError(f"gert outcomes takes no {words.rest[0]!r}", hint="`gert outcomes --help` lists the options")
    texts = {name: value for name, value in words.values.items() if isinstance(value, str)}
    forms = [name for name in _FORMS if f"--{name}" in words.values]
    if len(forms) > 1:
        raise UsageError(f"--{forms[0]} and --{forms[1]} cannot be given together")
    by, html = texts.get("--by") or BY[0], texts.get("--html")
    if by not in BY:
        raise UsageError(f"--by takes {', '.join(BY[:-1])} or {BY[-1]}, not {by!r}")
    if html == "":
        raise UsageError("--html needs the name of a file")
    return OutcomesOptions(
        since=texts.get("--since"),
        runbook=texts.get("--runbook"),
        by=by,
        steps="--steps" in words.values,
        form=forms[0] if forms else "text",
        html=None if html is None else Path(html),
        store=texts.get("--store"),
    )


def _print(report: OutcomeReport, wanted: OutcomesOptions, host: CommandHost) -> None:
    if wanted.form == "json":
        import json

        _say(json.dumps(report.to_json(), ensure_ascii=False))
    elif wanted.form == "csv":
        from gert_outcomes.spreadsheet import table

        _say(table(report, steps=wanted.steps).removesuffix("\n"))
    elif wanted.html is not None:
        from gert_outcomes.page import page

        _write(wanted.html, page(report))
    elif report.parts:
        from gert_outcomes.text import text

        _say(text(report, ascii_only=not _shows_blocks(), width=_columns(host.environ)))
    if wanted.form != "json":
        if not report.parts:
            asked = " that are as asked for" if wanted.since or wanted.runbook else ""
            _note(f"no real runs{asked} found in {report.place}")
        for problem in report.problems[:_NAMED]:
            _note(f"warning: {problem['run_id']} was left out: {problem['problem']}")
        if (more := len(report.problems) - _NAMED) > 0:
            _note(f"warning: {more} more runs that cannot be read were left out; --json names all of them")


def _write(path: Path, text: str) -> None:
    from gert_core.kit.files import write_named

    try:
        write_named(path, text.encode("utf-8", "replace"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write {path}: {reason}", hint="choose another file for --html") from None
    _note(f"wrote {path}")


def _columns(environ: Mapping[str, str]) -> int:
    """Return how wide a line may be: as the user says, as the terminal is, or so wide that most trends fit."""
    if (text := environ.get("COLUMNS", "")).isdecimal() and int(text):
        return int(text)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH
    except (AttributeError, ValueError, OSError):
        return _WIDTH


def _shows_blocks() -> bool:
    try:
        "█▁".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _say(text: str) -> None:
    """Print on standard output; what its encoding does not have is spelled out."""
    if sys.stdout is not None:
        coding = getattr(sys.stdout, "encoding", None) or "utf-8"
        text = without_commands(text)
        sys.stdout.write(f"{text.encode(coding, 'backslashreplace').decode(coding)}\n")
        sys.stdout.flush()


def _note(text: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{without_commands(escape(text))}\n")
        sys.stderr.flush()


__all__ = ["BY", "USAGE", "OutcomesOptions", "main", "read"]
