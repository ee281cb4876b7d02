"""Show why a run failed, at its end: each step with its place, command, exit code and the end of its output."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gert_core.api import RunStatus
from gert_core.cli.render.result import mode_of
from gert_core.cli.render.terminal import escape, out, paint, spelled
from gert_core.hosting.closing import around_lines, failure_lines
from gert_core.kit.display import readable_key
from gert_core.runs.places import place_of

if TYPE_CHECKING:
    from gert_core.documents.tree import Runbook
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.result import RunResult

_DETAILED: Final = 3
"""How many failures are shown with their output."""


def show_failures(result: RunResult, info: RunInfo | None, book: Runbook | None) -> None:
    """Print how a run ended that did not complete, and why."""
    out(f"{paint('✗', 'red')} Run {result.status}{mode_of(result)}")
    steps = {} if info is None or info.state is None else info.state.steps
    for number, failure in enumerate(result.failures):
        place = place_of(book, failure.key)
        record = steps.get(failure.key) if number < _DETAILED else None
        for line in failure_lines(failure.to_json(), place, record):
            out(escape(line))
    for line in around_lines([failure.key for failure in result.failures], steps):
        out(escape(line))
    if result.state.aborted:
        out("  it was aborted, after its cleanup; nothing is left to resume")
    elif result.status is RunStatus.CANCELLED:
        out(escape(f"  cancelled by {result.state.result.get('reason')}"))
    if result.status is RunStatus.CANCELLED and info is not None and info.unknown_outcomes:
        names = ", ".join(map(readable_key, info.unknown_outcomes))
        out(escape(f"  cannot determine whether {names} took effect: it writes, is not idempotent and was interrupted"))


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
