"""Shows verdicts to people: a line per scenario, then every failure with the path the run took."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from gert_core.cli.render.terminal import paint, plain
from gert_core.scenarios.results import ScenarioStatus, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.scenarios.results import RunbookReport, ScenarioResult

_MARKS: Final = {
    ScenarioStatus.PASSED: ("✓", "green"),
    ScenarioStatus.FAILED: ("✗", "red"),
    ScenarioStatus.ERROR: ("✗", "red"),
    ScenarioStatus.SKIPPED: ("○", "dim"),
}
_STEP_MARKS: Final = {"success": ("✓", "green"), "failed": ("✗", "red"), "error": ("✗", "red")}


def line(verdict: ScenarioResult) -> str:
    """``✓ healthy  3 ms``."""
    mark, style = _MARKS[verdict.status]
    text = f"  {paint(mark, style)} {verdict.scenario}"
    if verdict.status is ScenarioStatus.SKIPPED:
        return f"{text}  skipped: {plain(verdict.error)}"
    said = "  error" if verdict.status is ScenarioStatus.ERROR else ""
    return f"{text}{said}  {paint(f'{verdict.duration * 1000:.0f} ms', 'dim')}"


def failures(reports: Sequence[RunbookReport]) -> Iterator[str]:
    """What is wrong, scenario by scenario."""
    for report in reports:
        for verdict in report.verdicts:
            if not verdict.good:
                yield ""
                yield from _explained(report.runbook, verdict)


def _explained(runbook: str, verdict: ScenarioResult) -> Iterator[str]:
    yield f"{paint('✗', 'red')} {paint(f'{runbook}: {verdict.scenario}', 'bold')}"
    if verdict.error is not None:
        yield f"    {plain(verdict.error)}"
    for found in verdict.failed:
        yield plain(f"    {found.title}: {found.message}")
    if verdict.path:
        yield "    path:"
        for key, status in shortened(verdict.path):
            mark, style = _STEP_MARKS.get(status, ("○", "dim"))
            said = "" if status in ("success", "") else f"  {status}"
            yield f"      {paint(mark, style) if status else ' '} {key}{said}"
        words = ["gert", "exec", runbook, "--mode", "replay", "--scenario", verdict.scenario]
        yield f"    {paint('look closer:', 'cyan')} {shlex.join(words)}"
    if verdict.hint:
        yield f"    {paint('hint:', 'cyan')} {verdict.hint}"


__all__ = ["failures", "line"]
