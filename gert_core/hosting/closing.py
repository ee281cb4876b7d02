"""Say line by line how a run ended: why steps failed, and what can be done next."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Final

from gert_core.kit.display import readable_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.hosting.advice import NextStep
    from gert_core.runs.state import StepState

TAIL: Final = 8
"""The number of lines that are shown of the output of a failed step."""
_COMMAND: Final = 60
_BETWEEN: Final = " " * 8
_LINES_BEFORE: Final = r"… (\d{1,9}) lines before"


def failure_lines(failure: Mapping[str, str], place: tuple[str, int] | None, record: StepState | None) -> list[str]:
    """Return why a step failed, as the end of ``gert exec`` says it.

    ``failure`` is one of ``failures`` of a result, ``place`` the file and the line of its step; ``record`` is the step
    in the state of the run, for its command, exit code and the end of its output. Escape each line before it is shown.
    """
    where = ""
    if failure["step_key"]:
        at = "" if place is None else f" ({place[0]}:{place[1]})"
        where = f"step {readable_key(failure['step_key'])}{at}: "
    lines = [f"  {where}{failure['message']} ({failure['kind']})"]
    return lines if record is None else [*lines, *_details(record)]


def around_lines(failed: Sequence[str], steps: Mapping[str, StepState]) -> list[str]:
    """Return what else the steps around failed ones tell, such as which of their blocks were not started."""
    return [
        f"  step {readable_key(key)}: {name}: {value}"
        for key, record in steps.items()
        if record.detail and any(one.startswith(f"{key}/") for one in failed)
        for name, value in record.detail.items()
        if isinstance(value, str) and "\n" not in value
    ]


def next_lines(steps: Sequence[NextStep]) -> list[str]:
    """Return what can be done about a run next: the command to take first, then the others.

    Of commands that differ only in what they state about steps, the first is whole. What one is for is said where there
    are several, and of one that starts another run or repeats what took effect. Escape each line before it is shown.
    """
    first = next((step for step in steps if step.choice), None)
    lines = []
    for number, step in enumerate(steps):
        lead = "next" if number == 0 else step.lead
        command = shlex.join(step.command) if not step.choice or step is first else f"…={step.choice}"
        told = len(steps) > 1 or step.command[1] == "exec" or "--yes" in step.command
        why = f"  # {step.why}" if told else ""
        lines.append(f"  {lead:>4}: {command}{why}")
    return lines


def last_lines(text: str, *, lines: int = TAIL) -> tuple[list[str], int]:
    """Return the last lines of a text, and how many it had before it was shortened, here or in the trace."""
    rows = text.rstrip().splitlines()
    known = re.fullmatch(_LINES_BEFORE, rows[0]) if rows else None
    if known is not None:
        del rows[0]
    return rows[-lines:], len(rows) + (int(known[1]) if known is not None else 0)


def _details(record: StepState) -> list[str]:
    """Return the command of a step, its exit code, how often it was attempted, and the end of its output."""
    detail: dict[str, Any] = record.detail or {}
    facts = []
    if detail.get("command"):
        command = shlex.join(map(str, detail["command"]))
        facts.append(f"command: {command if len(command) <= _COMMAND else f'{command[: _COMMAND - 1]}…'}")
    if detail.get("exit_code") is not None:
        facts.append(f"exit code: {detail['exit_code']}")
    shown = [f"    {_BETWEEN.join([*facts, f'attempt: {record.attempts}'])}"] if facts else []
    name = next((name for name in ("stderr", "stdout") if str(detail.get(name) or "").strip()), None)
    if name is None:
        return shown
    rows, total = last_lines(str(detail[name]))
    shown.append(f"    {name}, last {len(rows)} of {total} lines:" if total > len(rows) else f"    {name}:")
    # GitHub takes a line that begins with two colons for a command, whatever stands before them.
    return [*shown, *(f"      {'| ' if row.lstrip().startswith('::') else ''}{row}" for row in rows)]


__all__ = ["TAIL", "around_lines", "failure_lines", "last_lines", "next_lines"]
