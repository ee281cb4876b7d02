"""Show why a run failed, at its end: each step with its place, command, exit code and the end of its output."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import RunStatus
from gert_core.cli.render.result import mode_of
from gert_core.cli.render.terminal import escape, out, paint, spelled
from gert_core.cli.render.values import last_lines
from gert_core.kit.display import readable_key
from gert_core.runs.places import place_of

if TYPE_CHECKING:
    from gert_core.documents.tree import Runbook
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.result import RunResult
    from gert_core.runs.state import Failure, StepState

_DETAILED: Final = 3
"""How many failures are shown with their output."""
_COMMAND: Final = 60
_BETWEEN: Final = " " * 8


def show_failures(result: RunResult, info: RunInfo | None, book: Runbook | None) -> None:
    """Print how a run ended that did not complete, and why."""
    out(f"{paint('✗', 'red')} Run {result.status}{mode_of(result)}")
    steps = {} if info is None or info.state is None else info.state.steps
    for number, failure in enumerate(result.failures):
        place = place_of(book, failure.key)
        _show_failure(failure, place)
        if number < _DETAILED and (record := steps.get(failure.key)) is not None:
            _show_detail(record)
    if result.state.aborted:
        out("  it was aborted, after its cleanup; nothing is left to resume")
    elif result.status is RunStatus.CANCELLED:
        out(escape(f"  cancelled by {result.state.result.get('reason')}"))
    if result.status is RunStatus.CANCELLED and info is not None and info.unknown_outcomes:
        names = ", ".join(map(readable_key, info.unknown_outcomes))
        out(escape(f"  cannot determine whether {names} took effect: it writes, is not idempotent and was interrupted"))


def _show_failure(failure: Failure, place: tuple[str, int] | None) -> None:
    where = ""
    if failure.key:
        at = "" if place is None else f" ({place[0]}:{place[1]})"
        where = f"step {readable_key(failure.key)}{at}: "
    out(escape(f"  {where}{failure.message} ({failure.kind})"))


def _show_detail(record: StepState) -> None:
    """Print the command of a step, its exit code, how often it was attempted, and the end of its output."""
    detail: dict[str, Any] = record.detail or {}
    facts = []
    if detail.get("command"):
        command = shlex.join(map(str, detail["command"]))
        facts.append(f"command: {command if len(command) <= _COMMAND else f'{command[: _COMMAND - 1]}…'}")
    if detail.get("exit_code") is not None:
        facts.append(f"exit code: {detail['exit_code']}")
    if facts:
        out(escape(f"    {_BETWEEN.join([*facts, f'attempt: {record.attempts}'])}"))
    name = next((name for name in ("stderr", "stdout") if str(detail.get(name) or "").strip()), None)
    if name is None:
        return
    rows, total = last_lines(str(detail[name]))
    shown = f"{name}, last {len(rows)} of {total} lines:" if total > len(rows) else f"{name}:"
    out(f"    {shown}")
    for row in rows:  # GitHub takes a line that begins with two colons for a command, whatever stands before them
        out(escape(f"      {'| ' if row.lstrip().startswith('::') else ''}{row}"))


def annotate(result: RunResult, book: Runbook | None) -> None:
    """Print failures as GitHub's workflow commands, which it shows beside the line of the runbook."""
    for failure in result.failures:
        place = place_of(book, failure.key)
        at = "" if place is None else f" file={_property(place[0])},line={place[1]}"
        step = f"step {readable_key(failure.key)}: " if failure.key else ""
        line = f"::error{at}::{_escaped(f'{step}{failure.message} ({failure.kind})')}"
        with suppress(OSError, AttributeError):  # there is no stderr, or its reader has gone
            sys.stderr.write(spelled(f"{escape(line)}\n", sys.stderr))
            sys.stderr.flush()


def _escaped(text: str) -> str:
    """Return a text as workflow commands spell it, in one line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


__all__ = ["annotate", "show_failures"]
