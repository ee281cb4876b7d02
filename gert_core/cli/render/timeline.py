"""Format a trace for people: relative times, nested by step, the failing step with its details."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Final

from gert_core.api.events import EventType
from gert_core.api.results import StepStatus
from gert_core.cli.render.durations import time_taken
from gert_core.cli.render.terminal import escape, paint
from gert_core.cli.render.values import named, one_line, tail
from gert_core.kit.display import readable_key
from gert_core.runs.document import summary
from gert_core.runs.fold import Fold
from gert_core.runs.state import parent_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Set

    from gert_core.api.events import TraceEvent
    from gert_core.runs.state import RunState

_WIDTH: Final = 100
_LAST_LINES: Final = 10
_MOST_LINES: Final = 20
"""The number of lines that are shown of one value."""
_MARKS: Final = {
    StepStatus.SUCCESS: ("✓", "green"),
    StepStatus.FAILED: ("✗", "red"),
    StepStatus.ERROR: ("✗", "red"),
    StepStatus.SKIPPED: ("-", "dim"),
}
_NOISE: Final = ("step_id", "type", "extensions")
_PLACE: Final = {"index", "label", "parent"}


def timeline(
    events: Iterable[TraceEvent], *, step: str | None = None, kind: str | None = None, fatal: Set[str] | None = None
) -> Iterator[str]:
    """Yield the lines of a timeline; ``step`` is an id or a key, ``kind`` an event's type.

    ``fatal`` are the steps whose failure ended the run, where that is known: after the others it continued.
    """
    folding = Fold()
    start: datetime | None = None
    for event in events:
        folding.feed(event)
        moment = _moment(event.timestamp)
        start = start or moment
        if not wanted(event, step=step, kind=kind):
            continue
        elapsed = (moment - start).total_seconds() if moment and start else 0.0
        depth = _depth(event.step_key)
        first, *more = _describe(event, folding.state, fatal)
        indent = "  " * depth
        yield f"{paint(f'{elapsed:>+10.3f}s', 'dim')}  {indent}{first}"
        for line in more:
            yield f"{'':>11}  {indent}  {line}"


def as_json(events: Iterable[TraceEvent], *, step: str | None = None, kind: str | None = None) -> dict[str, object]:
    """Return the summary of the run and the selected events, in one document."""
    folding = Fold()
    kept: list[dict[str, object]] = []
    for event in events:
        folding.feed(event)
        if wanted(event, step=step, kind=kind):
            raw = {name: getattr(event, name) for name in event.__struct_fields__}
            kept.append({name: value for name, value in raw.items() if value is not None})
    return {**summary(folding.state), "events": kept}


def wanted(event: TraceEvent, *, step: str | None, kind: str | None) -> bool:
    """Return whether an event is of this type and belongs to this step or to one below it."""
    if kind is not None and event.type != kind:
        return False
    return step is None or belongs(event.step_key or "", step)


def belongs(key: str, step: str) -> bool:
    """Return whether a step key is that of this step, given by its key or id, or of one below it."""
    below = (f"{step}/", f"{step}[", f"{step}#")
    if any(name == step or name.startswith(below) for name in (key, readable_key(key))):
        return True
    return any(part.partition("[")[0].partition("#")[0] == step for part in key.split("/"))


def fatal_keys(state: RunState) -> set[str] | None:
    """Return the steps whose failure ended a run, with those around them; None for a run that is not over."""
    if state.status not in ("completed", "failed", "error"):
        return None
    found: set[str] = set()
    for failing in state.failing:
        key = failing
        while key and key not in found:
            found.add(key)
            key = parent_key(key)
    return found


def _describe(event: TraceEvent, state: RunState, fatal: Set[str] | None) -> list[str]:
    if event.type == EventType.STEP_COMPLETE:
        return _step_complete(event, continued=fatal is not None and event.step_key not in fatal)
    special: dict[str, Callable[[TraceEvent, RunState], list[str]]] = {
        EventType.RUN_START: _run_start,
        EventType.RUN_COMPLETE: _run_complete,
        EventType.STEP_START: _step_start,
        EventType.STEP_ATTEMPT: _step_attempt,
        EventType.GOVERNANCE_DECISION: _governance,
        EventType.CONTRACT_EVALUATED: _contract,
    }
    if (describe := special.get(event.type)) is not None:
        return describe(event, state)
    data = event.data.items()
    facts = brief({name: value for name, value in data if name not in _NOISE and not _is_place(value)})
    return [f"{paint(escape(event.type), 'cyan')}{f'  {facts}' if facts else ''}"]


def _run_start(event: TraceEvent, state: RunState) -> list[str]:
    data = event.data
    who = "".join(f" {word} {escape(data[name])}" for word, name in (("by", "actor"), ("on", "host")) if data.get(name))
    lines = [f"{paint(EventType.RUN_START, 'bold')}  {escape(state.runbook)} ({escape(event.run_id)}){who}"]
    return lines + facts_lines("inputs:", data.get("inputs"))


def _run_complete(event: TraceEvent, state: RunState) -> list[str]:
    outcome = ""
    if state.outcome:
        code = state.outcome.get("code")
        outcome = f": {escape(state.outcome.get('category'))}{f' ({escape(code)})' if code else ''}"
    colour = "green" if state.status == "completed" else "red"
    duration = f" in {escape(time_taken(state.duration, state.waited))}" if state.duration else ""
    lines = [f"{paint(EventType.RUN_COMPLETE, 'bold')}  {paint(escape(state.status), colour)}{outcome}{duration}"]
    return lines + failure_lines(state.failure, {})


def _step_start(event: TraceEvent, state: RunState) -> list[str]:
    kind = event.data.get("type")
    lines = [f"▸ {paint(_key(event), 'bold')}{f' ({escape(kind)})' if kind else ''}"]
    if event.data.get("description"):
        lines.append(escape(one_line(str(event.data["description"]))))
    return lines + facts_lines("inputs:", event.data.get("inputs"))


def _step_attempt(event: TraceEvent, state: RunState) -> list[str]:
    data = event.data
    reason = str(data.get("reason") or "").replace("_", " ")
    delay = f" in {escape(data['delay'])}" if data.get("delay") else ""
    lines = [f"{paint(f'↻ {_key(event)}', 'yellow')}  attempt {escape(data.get('attempt'))} ({escape(reason)}){delay}"]
    previous = data.get("previous") or {}
    lines += failure_lines(previous or None, previous.get("detail") or {}, colour="yellow")
    return lines + detail_lines(data.get("detail") or {})


def _step_complete(event: TraceEvent, *, continued: bool) -> list[str]:
    data = event.data
    status = str(data.get("status"))
    mark, colour = _MARKS.get(status, ("?", "yellow"))  # type: ignore[call-overload]
    if colour == "red" and continued:
        mark, colour = "!", "yellow"
    why = (data.get("approval") or {}).get("reason") or data.get("reason")
    reason = f" ({escape(why)})" if why else ""
    duration = f" in {escape(time_taken(data['duration'], data.get('waited')))}" if data.get("duration") else ""
    lines = [f"{paint(f'{mark} {_key(event)}', colour)}  {escape(status)}{reason}{duration}"]
    lines += facts_lines("outputs:", data.get("outputs"))
    return lines + failure_lines(data.get("failure"), data.get("detail") or {}, colour=colour)


def _governance(event: TraceEvent, state: RunState) -> list[str]:
    data = event.data
    reason = f": {escape(data['reason'])}" if data.get("reason") else ""
    risk = escape(data.get("risk_level") or "unknown")
    return [f"{paint('governance', 'cyan')}  {escape(data.get('decision'))} (risk {risk}){reason}"]


def _contract(event: TraceEvent, state: RunState) -> list[str]:
    contract = event.data.get("resolved_contract", event.data.get("contract")) or {}
    names = ("effects", "writes", "reads", "deterministic", "idempotent")
    return [f"{paint('contract', 'cyan')}  {brief({n: contract[n] for n in names if contract.get(n)}) or 'pure'}"]


def failure_lines(failure: object, detail: Mapping[str, object], *, colour: str = "red") -> list[str]:
    """Return why a step or the run failed, and the end of its output."""
    if not isinstance(failure, dict):
        return []
    lines = [paint(f"{escape(failure.get('kind'))}: {escape(failure.get('message'))}", colour)]
    return lines + detail_lines(detail)


def detail_lines(detail: Mapping[str, object]) -> list[str]:
    """Return the end of what a step recorded beside its result."""
    lines = []
    for name, value in detail.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        rows = tail(text, lines=_LAST_LINES)
        if len(rows) == 1:
            lines.append(f"{escape(name)}: {escape(rows[0])}")
        elif rows:
            lines += [f"{escape(name)}:", *(f"  {escape(row)}" for row in rows)]
    return lines


def facts_lines(label: str, values: Mapping[str, object] | None) -> list[str]:
    """Return ``label name=value ...`` if that fits into a line, else the values one below the other."""
    if not values:
        return []
    line = brief(values)
    if not line.endswith("…") and not any(isinstance(value, str) and "\n" in value for value in values.values()):
        return [f"{label} {line}"]
    lines = [label.rstrip()]
    for name, value in values.items():
        shown = named(f"{escape(name)}:", value, indent="  ")
        more = len(shown) - _MOST_LINES - 1
        lines += [*shown[: _MOST_LINES + 1], *([f"    … {more} lines more"] if more > 0 else [])]
    return lines


def brief(values: Mapping[str, object]) -> str:
    """Return ``name=value`` pairs on one line, shortened to fit."""
    parts = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts.append(f"{escape(name)}={escape(text)}")
    line = " ".join(parts)
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _key(event: TraceEvent) -> str:
    return escape(readable_key(event.step_key or ""))


def _is_place(value: object) -> bool:
    """Return whether a value is the position of an event among concurrent ones, which its step key has already."""
    return isinstance(value, dict) and set(value) == _PLACE


def _depth(key: str | None) -> int:
    depth = 0
    while key:
        key = parent_key(key)
        depth += 1
    return depth


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


__all__ = ["as_json", "belongs", "facts_lines", "failure_lines", "fatal_keys", "timeline", "wanted"]
