"""Format scenario results for people: a line per scenario, then every failure with the steps of its run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from gert_core.cli.render.terminal import escape, paint
from gert_core.kit.display import readable_key
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


def line(result: ScenarioResult) -> str:
    """Return the line of one scenario, such as ``✓ healthy  3 ms``."""
    mark, style = _MARKS[result.status]
    text = f"  {paint(mark, style)} {escape(result.scenario)}"
    if result.status is ScenarioStatus.SKIPPED:
        return f"{text}  skipped: {escape(result.error)}"
    word = "  error" if result.status is ScenarioStatus.ERROR else ""
    return f"{text}{word}  {paint(f'{result.duration * 1000:.0f} ms', 'dim')}"


def failures(reports: Sequence[RunbookReport]) -> Iterator[str]:
    """Yield the lines about every scenario that did not pass."""
    for report in reports:
        for result in report.results:
            if not result.ok:
                yield ""
                yield from _explained(report.runbook, result)


def _explained(runbook: str, result: ScenarioResult) -> Iterator[str]:
    yield f"{paint('✗', 'red')} {paint(escape(f'{runbook}: {result.scenario}'), 'bold')}"
    if result.error is not None:
        yield f"    {escape(result.error)}"
    for found in result.failed:
        yield escape(f"    {found.title}: {found.message}")
    if result.path:
        yield "    path:"
        for key, status in shortened(result.path):
            mark, style = _STEP_MARKS.get(status, ("○", "dim"))
            said = "" if status in ("success", "") else f"  {status}"
            yield f"      {paint(mark, style) if status else ' '} {escape(readable_key(key))}{said}"
        words = ["gert", "exec", runbook, "--mode", "replay", "--scenario", result.scenario]
        yield f"    {paint('look closer:', 'cyan')} {escape(shlex.join(words))}"
    if result.hint:
        yield f"    {paint('hint:', 'cyan')} {escape(result.hint)}"


__all__ = ["failures", "line"]
