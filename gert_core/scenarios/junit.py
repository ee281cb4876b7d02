"""Format scenario results as JUnit XML, which build servers read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gert_core.scenarios.results import ScenarioCounts, ScenarioStatus, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.scenarios.results import RunbookReport, ScenarioResult

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(reports: Sequence[RunbookReport]) -> bytes:
    """Return the document, with one ``testsuite`` per runbook and one ``testcase`` per scenario."""
    root = Element("testsuites", {"name": "gert test", **_counts([v for r in reports for v in r.results])})
    for report in reports:
        suite = SubElement(root, "testsuite", {"name": _text(report.runbook), **_counts(report.results)})
        for result in report.results:
            _case(suite, report.runbook, result)
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _counts(results: Sequence[ScenarioResult]) -> dict[str, str]:
    summary = ScenarioCounts.of(results)
    return {
        "tests": str(summary.total),
        "failures": str(summary.failed),
        "errors": str(summary.errors),
        "skipped": str(summary.skipped),
        "time": _seconds(sum(result.duration for result in results)),
    }


def _case(suite: Element, runbook: str, result: ScenarioResult) -> None:
    facts = {"classname": runbook, "name": result.scenario, "time": _seconds(result.duration)}
    case = SubElement(suite, "testcase", {name: _text(value) for name, value in facts.items()})
    if result.status is ScenarioStatus.SKIPPED:
        SubElement(case, "skipped", {"message": _text(result.error or "")})
    elif result.status is ScenarioStatus.ERROR:
        error = SubElement(case, "error", {"message": _text(result.error or ""), "type": "error"})
        error.text = _text("\n".join([result.error or "", *_path(result)]))
    elif result.failed:
        first = result.failed[0]
        lines = [f"{found.title}: {found.message}" for found in result.failed]
        failure = SubElement(case, "failure", {"message": _text(first.message), "type": first.type})
        failure.text = _text("\n".join([*lines, *_path(result)]))
    if result.warnings:
        SubElement(case, "system-err").text = _text("\n".join(f"warning: {text}" for text in result.warnings))


def _path(result: ScenarioResult) -> list[str]:
    steps = [f"  {key}: {status}" if status else f"  {key}" for key, status in shortened(result.path)]
    return ["path:", *steps] if steps else []


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _text(text: str) -> str:
    """Replace characters that are not allowed in XML."""
    return _FORBIDDEN.sub("\ufffd", text)


__all__ = ["junit"]
