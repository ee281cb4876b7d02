"""Show a summary of past runs on a terminal: bars, trends, codes, times and steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.kit.escaping import cells, cut, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_outcomes.summary import OutcomeReport, Part, StepRate, Times

_BAR: Final = 22
_LEAST: Final = 8
"""The narrowest trend."""
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_PLAIN_LEVELS: Final = "_.-~=+*#"
_CODES: Final = 10
"""How many codes are shown."""
_NAME: Final = 48
"""The widest name of a step or code."""


def text(report: OutcomeReport, *, ascii_only: bool = False, width: int = 100) -> str:
    """Return the whole report, without the newline at its end; trends end at ``width``."""
    return "\n\n".join(_part(part, report.period, ascii_only=ascii_only, width=width) for part in report.parts)


def seconds_text(seconds: float) -> str:
    """Return a time as people say it: ``1.8s``, ``3m 10s``, ``2h 5m``."""
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {left}s"


def percent(count: int, total: int) -> str:
    """Return a share; one of something is never nothing, and not all is never all."""
    share = round(100 * count / total)
    if 0 < count < total:
        share = min(max(share, 1), 99)
    return f"{share}%"


def runs_text(count: int) -> str:
    """Return a number of runs in words."""
    return f"{count} run{'' if count == 1 else 's'}"


def _part(part: Part, period: str, *, ascii_only: bool, width: int) -> str:
    about = ", ".join(filter(None, (runs_text(part.runs), escape(period))))
    lines = [f"  {escape(part.name)} ({about})", "", *_bars(part, ascii_only=ascii_only, columns=width)]
    if codes := part.codes:
        lines += ["", "  Top outcome codes:", *_codes(codes)]
    times = _times("duration", part.duration, "") + _times("waiting", part.waiting, f" of {part.runs}")
    lines += ["", *times] if times else []
    if part.steps is not None:
        lines += ["", *_steps(part.steps)]
    return "\n".join(lines)


def _bars(part: Part, *, ascii_only: bool, columns: int) -> list[str]:
    kinds = part.kinds
    width = max(10, *(len(kind) + 1 for kind in kinds))
    digits = max(4, *(len(str(count)) for count in kinds.values()))
    left = max(columns - (2 + width + 1 + digits + 1 + 6 + 2 + _BAR + 2), _LEAST)
    lines = []
    for kind, count in kinds.items():
        full = max(1, round(_BAR * count / part.runs))
        bar = "█" * full + "░" * (_BAR - full)
        if ascii_only:
            bar = bar.replace("█", "#").replace("░", "-")
        share = f"({percent(count, part.runs)})"
        label = f"{escape(kind)}:"
        trend = _sparkline([bucket.counts.get(kind, 0) for bucket in part.trend], left, ascii_only=ascii_only)
        lines.append(f"  {label:<{width}} {count:>{digits}} {share:<5}  {bar}  {trend}".rstrip())
    return lines


def _sparkline(counts: Sequence[int], width: int, *, ascii_only: bool) -> str:
    """Return a trend: a character for each count, as high as it is; of a single one there is none.

    Where there are more of them than fit, a character stands for several.
    """
    levels = _PLAIN_LEVELS if ascii_only else _LEVELS
    if (together := -(-len(counts) // width)) > 1:
        counts = [sum(counts[at : at + together]) for at in range(0, len(counts), together)]
    most = max(counts, default=0)
    if len(counts) < 2 or not most:
        return ""
    last = len(levels) - 1
    # Without any run it is the lowest level, with one at least the next.
    return "".join(levels[-(-count * last // most)] for count in counts)


def _codes(codes: Sequence[tuple[str, str, int]]) -> list[str]:
    names = [code for _, code, _ in codes]
    shown = []
    for category, code, count in codes[:_CODES]:
        name = cut(escape(code), _NAME)
        shown.append((f"{name} ({escape(category)})" if names.count(code) > 1 else name, str(count)))
    width, digits = max(cells(name) for name, _ in shown), max(2, *(len(count) for _, count in shown))
    lines = [f"    {name}{' ' * (width - cells(name))}   {count:>{digits}}" for name, count in shown]
    if len(codes) > _CODES:
        lines.append(f"    and {len(codes) - _CODES} more")
    return lines


def _times(name: str, found: Times | None, total: str) -> list[str]:
    if found is None:
        return []
    of = f"  ({found.runs}{total} runs)" if total else ""
    return [f"  {name}  p50 {seconds_text(found.p50)}  p95 {seconds_text(found.p95)}{of}"]


def _steps(steps: Sequence[StepRate]) -> list[str]:
    if not steps:
        return ["  No steps were executed."]
    waits = any(step.waiting for step in steps)
    head = ["STEP", "TYPE", "RUNS", "FAILURES", "RATE", "P50", "P95", *(["WAITED P50", "P95"] if waits else [])]
    rows = [head]
    for step in steps:
        row = [cut(escape(step.step), _NAME), escape(step.type), str(step.runs), str(step.failures)]
        row += [percent(step.failures, step.runs), *_both(step.duration)]
        rows.append(row + _both(step.waiting) if waits else row)
    widths = [max(cells(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        padded = [_pad(cell, widths[column], left=column < 2) for column, cell in enumerate(row)]
        lines.append(f"  {'  '.join(padded)}".rstrip())
    return lines


def _both(found: Times | None) -> list[str]:
    return ["", ""] if found is None else [seconds_text(found.p50), seconds_text(found.p95)]


def _pad(cell: str, width: int, *, left: bool) -> str:
    blanks = " " * (width - cells(cell))
    return cell + blanks if left else blanks + cell


__all__ = ["percent", "runs_text", "seconds_text", "text"]
