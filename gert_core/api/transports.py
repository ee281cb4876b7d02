"""How tools are reached: a transport opens one session per target, the core calls and closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.context import Deadline, Services
    from gert_core.api.data import Json


class Target(Struct, frozen=True, kw_only=True):
    """What a session talks to: the tool's name, its program or address, and its whole environment.

    ``environ`` is complete: what the tool may see, its secrets included, signing keys excluded. ``config`` is the
    tool's ``meta.config`` as written.
    """

    tool: str
    binary: str | None = None
    connect: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)


class Action(Struct, frozen=True, kw_only=True):
    """One rendered action of a tool: nothing in it is a template any more.

    ``config`` is the action's ``config``, for what only one transport needs, such as ``mcp_tool``.
    """

    name: str
    argv: tuple[str, ...] = ()
    method: str | None = None
    stdin: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)
    idempotency_key: str = ""


class Reply(Struct, frozen=True, kw_only=True):
    """What a tool answered. ``outputs`` is set by transports whose answers are structured already.

    ``command`` is what was run, for people; ``failed`` says that the tool itself reports failure.
    """

    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    outputs: Mapping[str, object] | None = None
    command: tuple[str, ...] = ()
    failed: bool = False
    message: str = ""


class TransportSession(Protocol):
    """An open connection to one target; calls may come from several threads."""

    def call(self, action: Action, inputs: Mapping[str, object], deadline: Deadline) -> Reply:
        """Call one action; raises ``StepProblem`` (``timeout``, ``not_found``, ``output_too_large`` ...)."""

    def close(self) -> None:
        """End it; leaves no process behind."""


class Transport(Struct, frozen=True, kw_only=True):
    """A way to reach tools, chosen by ``meta.transport`` of a tool document.

    ``default`` takes tools that name no transport.
    """

    name: str
    open: str | Callable[[Target, Services], TransportSession]
    default: bool = False
    summary: str = ""


__all__ = ["Action", "Reply", "Target", "Transport", "TransportSession"]
