"""Format approval requests for the terminal: everything the decision depends on, control characters escaped."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING, Final

from gert_core.kit.display import readable_key, readable_time, value_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import ApprovalRequest

_LABEL: Final = 11
_NARROWEST: Final = 20


def describe(request: ApprovalRequest, *, actor: str) -> Iterator[str]:
    """Yield the request as lines; the inputs in it are masked already."""
    yield ""
    yield f"Approval needed: step {printable(readable_key(request.step_key))} of {printable(request.runbook_name)}"
    for position, sentence in enumerate(request.rule.splitlines()):
        yield _line("" if position else "rule", sentence)
    if request.description:
        yield _line("what", request.description)
    yield _line("type", request.step_type)
    yield _line("risk", request.risk_level)
    for name in ("effects", "writes", "reads"):
        tags = request.contract.get(name) or ()
        yield _line(name, ", ".join(str(tag) for tag in tags) or "none")
    flags = [name if request.contract.get(name) else f"not {name}" for name in ("idempotent", "deterministic")]
    yield _line("contract", ", ".join(flags))
    for position, (name, value) in enumerate(request.inputs.items()):
        yield from _block("inputs" if position == 0 else "", f"{name} =", value)
    if request.command:
        yield from _block("command", "", shlex.join(request.command))
    if request.min_approvers > 1:
        yield _line("approvers", f"{request.min_approvers} different people")
    if request.exclude_actor:
        yield _line("", f"{actor or request.requested_by} started the run and may not approve it")
    if request.require_signed:
        yield _line("signature", "required; a line typed here is not signed (use the inbox and `gert approve`)")
    if request.expires_at:
        yield _line("expires", readable_time(request.expires_at))


def printable(text: str) -> str:
    """Escape characters that could move the cursor, hide a line or turn its direction."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{printable(text)}"


def _block(label: str, lead: str, value: object) -> Iterator[str]:
    """Yield a value behind its name; one of several lines stands below it, each line behind a bar."""
    columns = shutil.get_terminal_size().columns - _LABEL - len("  | ")
    shown = value_lines(value, width=max(columns - len(lead), _NARROWEST))
    if len(shown) == 1:
        yield _line(label, f"{lead} {shown[0]}".lstrip())
        return
    yield _line(label, lead)
    for text in value_lines(value, width=max(columns, _NARROWEST)):
        yield _line("", f"| {text}")


__all__ = ["describe", "printable"]
