"""Read the outputs out of a tool's reply, and leave out what may contain secret outputs that were not found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import ErrorKind, StepProblem
from gert_core.tools import extract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Reply
    from gert_core.documents.tree import ToolNode

_NOT_SHOWN: Final = "what it wrote is not shown, because the action has secret outputs"
_OWN_WORDS: Final = frozenset(
    {ErrorKind.TIMEOUT, ErrorKind.CANCELLED, ErrorKind.SPAWN, ErrorKind.NOT_FOUND, ErrorKind.OUTPUT_TOO_LARGE}
)
"""Kinds whose messages do not quote what a tool wrote."""
_WHY: Final[Mapping[str, str]] = {
    ErrorKind.EXTRACT: "an output cannot be extracted",
    ErrorKind.OUTPUT_TYPE: "an output is not of its declared type",
}


def read_reply(tool: ToolNode, action: str, reply: Reply, *, secret: tuple[str, ...]) -> Reply:
    """Return a reply with its outputs extracted; ``secret`` are the names of the secret ones.

    What an action with secret outputs wrote is kept only with all of these extracted, since they cannot be masked in it
    before. Raises ``StepProblem``, with what is known of the call as its detail.
    """
    model, contract = tool.tool.actions[action], tool.contracts[action]
    try:
        reply = replace(reply, outputs=extract(model, contract, reply))
    except StepProblem as problem:
        problem.detail = {
            "command": list(reply.command),
            "exit_code": reply.exit_code,
            "stdout": reply.stdout,
            "stderr": reply.stderr,
        }
        if secret:
            withhold(problem, tool, action)
        raise
    if not secret or all((reply.outputs or {}).get(name) is not None for name in secret):
        return reply
    message = f"{tool.name} {action} failed; {_NOT_SHOWN}" if reply.failed else ""
    return replace(reply, stdout=_length(reply.stdout), stderr=_length(reply.stderr), message=message)


def withhold(problem: StepProblem, tool: ToolNode, action: str) -> None:
    """Leave out of a problem what an action with secret outputs wrote, except for its length."""
    problem.detail = {
        name: _length(str(value)) if name in ("stdout", "stderr") else value
        for name, value in problem.detail.items()
        if name in ("command", "exit_code", "stdout", "stderr")
    }
    if problem.kind not in _OWN_WORDS:
        problem.message = f"{tool.name} {action}: {_WHY.get(problem.kind, 'there was no usable reply')}; {_NOT_SHOWN}"


def _length(text: str) -> str:
    return f"({len(text)} characters, not recorded)" if text else ""


__all__ = ["read_reply", "withhold"]
