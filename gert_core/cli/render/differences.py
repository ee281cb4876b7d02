"""Format the differences of scenarios: before and after, and the steps, outputs and decisions that changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gert_core.cli.render.terminal import escape, paint
from gert_core.kit.display import readable_key
from gert_core.kit.excerpts import part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.scenarios.diffing.compare import Difference, DiffReport

_COLUMN: Final = 33
"""How wide an outcome is shown, so that marks are below each other."""
_SHOWN: Final = 200


def head(report: DiffReport) -> str:
    """Return the line of a runbook; what was not compared is said there."""
    more = f"  ({report.left_out} not golden, --all compares them)" if report.left_out else ""
    return f"  {paint(escape(report.name), 'bold')}{more}\n"


def lines(found: Difference) -> Iterator[str]:
    """Yield the lines about one scenario, with an empty one behind them."""
    yield f"  Scenario: {escape(found.scenario)}"
    if found.before is not None:
        yield f"    Before: {escape(str(found.before))}"
    if found.error is not None:
        yield f"    {_warn()} {escape(found.error)}"
        yield ""
        return
    yield f"    After:  {escape(str(found.after)):<{_COLUMN}}{_mark(found)}"
    if found.added or found.removed:
        yield "    Steps changed:"
        yield from (f"      {paint('+', 'green')} {_step(key)} (newly reached)" for key in found.added)
        yield from (f"      {paint('-', 'red')} {_step(key)} (no longer reached)" for key in found.removed)
    if found.outputs:
        yield "    Outputs changed:"
        yield from (f"      {escape(name)}: {_value(a)} → {_value(b)}" for name, (a, b) in found.outputs.items())
    if found.decisions:
        yield "    Decisions changed:"
        yield from (f"      {_step(step)}: {a} → {b}" for step, a, b in found.decisions)
    yield ""


def summary(report: DiffReport) -> str:
    """Return the last line of a runbook."""
    counts = report.summary
    errors = counts["errors"]
    more = f", {errors} error{'' if errors == 1 else 's'}" if errors else ""
    return f"  {counts['unchanged']} unchanged, {counts['changed']} changed{more}"


def _mark(found: Difference) -> str:
    if found.same:
        return f"{paint('✓', 'green')} same"
    if found.ended_otherwise:
        assert found.before is not None  # noqa: S101 - it ended otherwise than something
        assert found.after is not None  # noqa: S101
        both = found.before.category is not None and found.after.category is not None
        return f"{_warn()} {'outcome' if both else 'result'} changed!"
    return f"{_warn()} changed"


def _warn() -> str:
    return paint("⚠", "yellow")


def _step(key: str) -> str:
    return escape(readable_key(key))


def _value(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return escape(part(text, 0, _SHOWN) if len(text) > _SHOWN else text)


__all__ = ["head", "lines", "summary"]
