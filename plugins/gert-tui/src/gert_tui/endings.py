"""Say how a run ended, in the words of ``gert exec``: the outcome or why it failed, and what to do next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gert_core.hosting.advice import next_steps_of
from gert_core.hosting.closing import failure_lines, next_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import GertError
    from gert_tui.look import Look
    from gert_tui.session import RunSession

_DETAILED = 3
"""How many failures are shown with their output."""


def ending_lines(session: RunSession, look: Look) -> list[str]:
    """Return the lines about the end of a run, or about where it waits."""
    end: Mapping[str, Any] = session.model.end or {}
    if "error" in end:
        return error_text(end["error"])
    result = end.get("result") or {}
    mode = f" [{result['mode']}]" if result.get("mode") else ""
    outcome, status = result.get("outcome"), str(result.get("status"))
    if status == "completed":
        return _outcome(outcome, result, mode, look)
    lines = []
    view = session.view
    if status in ("failed", "error", "denied", "cancelled"):
        lines.append(f"{look.icon('failed')} Run {status}{mode}")
        steps = {} if view is None or view.state is None else view.state.steps
        for number, failure in enumerate(result.get("failures") or ()):
            key = str(failure.get("step_key") or "")
            shown = session.model.steps.find(key)
            place = (_relative(shown.file, session.host.root), shown.line) if shown is not None and shown.line else None
            lines += failure_lines(failure, place, steps.get(key) if number < _DETAILED else None)
        if status == "cancelled" and view is not None and view.state is not None:
            lines.append(f"  cancelled by {view.state.result.get('reason')}")
    else:
        lines.append(f"Run {status.replace('_', ' ')}{mode}")
    return lines if view is None else [*lines, *next_lines(next_steps_of(view.info))]


def _outcome(outcome: Mapping[str, Any] | None, result: Mapping[str, Any], mode: str, look: Look) -> list[str]:
    if outcome is None:
        possible = [_label(one) for one in result.get("possible") or ()]
        return [f"Possible outcomes: {', '.join(dict.fromkeys(possible)) or 'none reached'}{mode}"]
    lines = [f"{look.icon('done')} Outcome: {_label(outcome)}{mode}"]
    for name, value in (outcome.get("meta") or {}).items():
        lines.append(f"  {name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return lines


def _relative(file: str, root: Path) -> str:
    path = Path(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else file


def _label(outcome: Mapping[str, Any]) -> str:
    code = outcome.get("code")
    return f"{outcome.get('category')} ({code})" if code else str(outcome.get("category"))


def error_lines(error: GertError) -> list[str]:
    """Return an error as the command line says it, with what to do about it."""
    return error_text(error.to_json())


def error_text(error: Mapping[str, Any]) -> list[str]:
    """Return an error, given as an object, as the command line says it."""
    lines = [f"error: {error.get('message')}"]
    for found in error.get("diagnostics") or ():
        place = ":".join(str(found[name]) for name in ("file", "line", "column") if found.get(name) is not None)
        lines.append(f"  {place}: {found.get('message')}")
    return [*lines, *([f"  hint: {error['hint']}"] if error.get("hint") else [])]


__all__ = ["ending_lines", "error_lines", "error_text"]
