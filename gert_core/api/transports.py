"""Transports, which open one session per tool; the core calls and closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api.context import Deadline, Services
    from gert_core.api.data import Json


class Target(Struct, frozen=True, kw_only=True):
    """The target of a session: the tool's name, its program or address, and its whole environment.

    ``environ`` is complete: its secrets included, signing keys excluded. ``config`` is the tool's ``meta.config`` as
    written. ``cwd`` is the directory that a program starts in, by ``meta.cwd``; None: gert's own.
    """

    tool: str
    binary: str | None = None
    connect: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)
    cwd: str | None = None


class Action(Struct, frozen=True, kw_only=True):
    """One rendered action of a tool, without templates.

    ``config`` is the action's ``config``, for what only one transport needs, such as ``mcp_tool``. ``repeatable`` is
    whether the call may be made again when it is not known whether it took effect. ``output`` takes what the tool
    writes, while it writes it: the name of the stream (``stdout``, ``stderr`` or ``progress``) and its bytes. It is
    None unless somebody watches; it raises nothing, and one thread at a time calls it for a stream. ``outputs`` are the
    names of the declared outputs, for transports that fill them by name; None where ``extract`` reads them. ``confirm``
    is called directly before each start of a program for the call, also for a second try: it raises ``StepProblem``
    when the step has an approval and the program is not what was approved. It is None for a step without an approval.
    """

    name: str
    argv: tuple[str, ...] = ()
    method: str | None = None
    stdin: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)
    idempotency_key: str = ""
    repeatable: bool = False
    output: Callable[[str, bytes], None] | None = None
    outputs: tuple[str, ...] | None = None
    confirm: Callable[[], None] | None = None


class Reply(Struct, frozen=True, kw_only=True):
    """The reply of a tool; ``outputs`` is set by transports with structured replies.

    ``command`` is what was run, for display; ``failed`` is true when the tool itself reports failure. ``in_time`` is
    true when the transport ends a tool whose time is over, so that one that has replied did so in time, also where the
    reply is read later because gert was stopped meanwhile.
    """

    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    outputs: Mapping[str, object] | None = None
    command: tuple[str, ...] = ()
    failed: bool = False
    message: str = ""
    in_time: bool = False


class TransportSession(Protocol):
    """An open connection to one target; calls may come from several threads."""

    def call(self, action: Action, inputs: Mapping[str, object], deadline: Deadline) -> Reply:
        """Call one action; raise ``StepProblem`` (``timeout``, ``not_found``, ``output_too_large`` ...).

        Anything else it raises, and a reply that is not well formed, makes the step an error ``plugin_failed`` that
        names the transport's plugin.
        """

    def close(self) -> None:
        """Close it; no process is left."""


class Transport(Struct, frozen=True, kw_only=True):
    """A way to reach tools, chosen by ``meta.transport`` of a tool document.

    ``default``: used for tools without ``meta.transport``. ``starts_program``: it starts ``meta.binary`` or the first
    item of ``argv`` on this machine, so a run looks for that program before it starts. ``requires`` are the fields of
    an action without which it cannot be called; a tool with a ``binary`` needs no ``argv``.
    """

    name: str
    open: str | Callable[[Target, Services], TransportSession]
    default: bool = False
    starts_program: bool = False
    requires: tuple[str, ...] = ()
    summary: str = ""


__all__ = ["Action", "Reply", "Target", "Transport", "TransportSession"]
