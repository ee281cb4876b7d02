"""Write a summary of past runs as CSV: a line for each end that runs had, or for each step."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from gert_core.kit.escaping import escape

if TYPE_CHECKING:
    from gert_outcomes.summary import OutcomeReport, Times

_TIMES: Final = ("duration_p50", "duration_p95", "waiting_p50", "waiting_p95")
_FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How cells begin that spreadsheets calculate: some take signs of full width for the others, and skip blanks."""


def table(report: OutcomeReport, *, steps: bool) -> str:
    """Return the table with its header; times are seconds."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    if steps:
        writer.writerow((report.by, "step", "type", "runs", "failures", "rate", *_TIMES))
        for part in report.parts:
            for step in part.steps or ():
                names = (_cell(part.name), _cell(step.step), _cell(step.type))
                counts = (step.runs, step.failures, round(step.rate, 4))
                writer.writerow((*names, *counts, *_both(step.duration), *_both(step.waiting)))
        return file.getvalue()
    writer.writerow((report.by, "status", "category", "code", "runs", "share", *_TIMES))
    for part in report.parts:
        for end in part.ends:
            words = (_cell(part.name), _cell(end.status), _cell(end.category or ""), _cell(end.code))
            share = round(end.count / part.runs, 4)
            writer.writerow((*words, end.count, share, *_both(end.duration), *_both(end.waiting)))
    return file.getvalue()


def _both(found: Times | None) -> tuple[float | str, float | str]:
    return ("", "") if found is None else (found.p50, found.p95)


def _cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: names and codes may come from anywhere."""
    shown = escape(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


__all__ = ["table"]
