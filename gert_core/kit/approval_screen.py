"""Lay out approval requests for the terminal: every line behind a gutter, no longer than the terminal is wide."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from gert_core.kit.display import readable_key, readable_time, value_lines
from gert_core.kit.escaping import cut, escape, spell_out, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gert_core.api import ApprovalRequest

LINES: Final = 20
"""How many lines of one value are shown."""
_GUTTER: Final = "| "
_LABEL: Final = 11
_INDENT: Final = "  "
_BESIDE: Final = 22
"""From how many columns on values stand beside their labels; on a narrower terminal they stand below them."""
NARROWEST: Final = 8
"""The least columns on which a request can be shown so that no value begins a line."""
_USUAL: Final = 80
GRAVE: Final = frozenset({"high", "critical"})
"""The risks at which a reflex must not approve: people are asked twice, or type the id of the step."""
_REFLEXES: Final = frozenset({"y", "yes", "n", "no"})
_SHOWN: Final = ("program", "connect", "method", "config", "stdin", "env", "cwd")


def describe(
    request: ApprovalRequest,
    *,
    columns: int,
    title: str = "Approval needed",
    signature: str = "required",
    more: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield the request as lines of at most ``columns``; everything in it is masked already.

    Only gert writes to the left of the gutter and into the column of labels, so a value can imitate neither. ``more``
    are further rows by their labels, ``signature`` is said where the request needs one.
    """
    frame = _Frame(columns)
    command = command_of(request)
    yield cut(_shown(f"{title}: step {readable_key(request.step_key)} of {request.runbook_name}"), columns)
    yield from frame.rows("command", command)
    started: Mapping[str, Any] = request.document.get("command") or {}
    for name in _SHOWN:
        if started.get(name):
            yield from frame.rows(name, started[name])
    for name, called in (request.document.get("tools") or {}).items():
        yield from frame.rows("may call", f"{name}: {called.get('program') or 'no program'}")
    for name in ("effects", "writes", "reads"):
        tags = request.contract.get(name) or ()
        yield from frame.rows(name, ", ".join(str(tag) for tag in tags) or "none")
    flags = [name if request.contract.get(name) else f"not {name}" for name in ("idempotent", "deterministic")]
    yield from frame.rows("contract", ", ".join(flags))
    yield from frame.rows("risk", request.risk_level)
    yield from frame.rows("rule", request.rule)
    yield from frame.rows(
        "step", f"{readable_key(request.step_key)} of {request.runbook_name}, type {request.step_type}"
    )
    yield from _pairs(
        frame, "author's", {"description": request.description, "message": request.document.get("message")}
    )
    yield from _pairs(frame, "inputs", request.inputs)
    if request.min_approvers > 1:
        yield from frame.rows("approvers", f"{request.min_approvers} different people")
    if request.approvers:
        yield from frame.rows("approvers", ", ".join(request.approvers))
    if request.exclude_actor:
        yield from frame.rows("", f"{request.requested_by} started the run and may not approve it")
    if request.require_signed:
        yield from frame.rows("signature", signature)
    if request.expires_at:
        yield from frame.rows("expires", readable_time(request.expires_at))
    for label, value in (more or {}).items():
        yield from frame.rows(label, value)
    yield from frame.rows("command", command)


def width() -> int:
    """Return the columns of the narrowest terminal in use; ``COLUMNS`` can only make it narrower."""
    found = []
    for descriptor in (2, 0):
        with suppress(OSError):
            found.append(os.get_terminal_size(descriptor).columns)
    with suppress(ValueError):
        found.append(int(os.environ.get("COLUMNS", "")))
    return min((columns for columns in found if columns > 0), default=_USUAL)


def name_of(request: ApprovalRequest) -> str:
    """Return the step as it is named on screen, its item included."""
    return escape(readable_key(request.step_key))


def approving_word(request: ApprovalRequest) -> str:
    """Return what a person types at a terminal to approve what is of high or critical risk; "" for any other risk.

    It is the id of the step, but never a word that is typed without thinking.
    """
    if request.risk_level not in GRAVE:
        return ""
    return f"approve-{request.step_id}" if request.step_id.casefold() in _REFLEXES else request.step_id


def command_of(request: ApprovalRequest) -> str:
    """Return what the step would start or call, on one line, with what its transport is told besides."""
    started = request.document.get("command") or {}
    told = ", ".join(
        f"{name} = {' '.join(value_lines(value))}" for name, value in (started.get("config") or {}).items()
    )
    command = _command_of(request, started)
    if started.get("argv") and started.get("method"):  # a server, which may be at an address instead
        called = f"calls {' '.join(value_lines(started['method']))}"
        connect = started.get("connect")
        command = f"{called} at {connect}; its command line is {command}" if connect else f"{command}, {called}"
    return f"{command} with {told}" if told else command


def _command_of(request: ApprovalRequest, started: Mapping[str, Any]) -> str:
    if request.command:
        return shlex.join(request.command)
    if started.get("argv"):
        return shlex.join(started["argv"])
    if started.get("method"):
        return f"calls {started['method']}"
    if called := request.document.get("tools"):
        return f"none: a step of type {request.step_type} may call {', '.join(called)}"
    return f"none: a step of type {request.step_type} starts no program"


def _pairs(frame: _Frame, label: str, values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if value or label == "inputs":
            yield from frame.rows(label, value, lead=f"{name} =")
            label = "" if label == "inputs" else label


def _shown(text: str) -> str:
    """Return text as the terminal can show it; what its encoding does not have would all be one question mark."""
    return spell_out(escape(text), getattr(sys.stderr, "encoding", None) or "utf-8")


class _Frame:
    """The gutter and the column of labels, with what is to the right of them wrapped.

    On a narrow terminal a label has a line of its own, and what stands below it is indented.
    """

    def __init__(self, columns: int) -> None:
        self._beside = columns >= _BESIDE
        self._width = max(columns - len(_GUTTER) - (_LABEL if self._beside else len(_INDENT)) - 1, 1)
        self._columns = columns

    def rows(self, label: str, value: object, *, lead: str = "") -> Iterator[str]:
        """Yield a value behind its label; one with a name that takes several lines stands below it, behind a bar."""
        lines = value_lines(value)
        parts = self._wrapped([f"{lead} {lines[0]}".lstrip(), *lines[1:]])
        if lead and len(parts) > 1:
            bar = len("| ")
            inner = [part for line in lines for part in wrap(_shown(line), max(self._width - bar, 1))]
            parts = [*self._wrapped([lead]), *(f"| {part}" for part in inner)]
        yield from self._labelled(label, parts[:LINES])
        if len(parts) > LINES:
            whole = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
            yield from self._labelled("(cut)", self._wrapped([f"{len(whole)} characters in all, SHA-256 {digest}"]))

    def _labelled(self, label: str, parts: list[str]) -> Iterator[str]:
        if self._beside:
            for number, part in enumerate(parts):
                yield f"{_GUTTER}{'' if number else label:<{_LABEL}}{part}".rstrip(" ")
            return
        if label:
            yield cut(f"{_GUTTER}{label}", self._columns - 1)
        for part in parts:
            yield f"{_GUTTER}{_INDENT}{part}".rstrip(" ")

    def _wrapped(self, lines: list[str]) -> list[str]:
        return [part for line in lines for part in wrap(_shown(line), self._width)]


__all__ = ["GRAVE", "LINES", "NARROWEST", "approving_word", "command_of", "describe", "name_of", "width"]
