"""Start other programs: without a shell, each in a session of its own, with nothing left running.

``call`` runs a program to its end, ``start`` returns a ``Child`` that keeps running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.kit.processes.group import kill_all, stopped_with_run
from gert_core.kit.processes.once import OUTPUT_LIMIT, ProcessResult, call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.kit.processes.child import Child


def start(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: str | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
) -> Child:
    """Start a program that keeps running: write to it, read its lines, end it (``Child.close``).

    ``cwd`` is the directory it starts in, None: gert's own. ``on_stderr`` is given what it writes to standard error,
    as it is read, in the thread that reads ``lines``. Raises ``StepProblem`` (``not_found``, ``spawn``) like ``call``.
    """
    from gert_core.kit.processes.child import Child

    return Child(argv, environ=environ, cwd=cwd, on_stderr=on_stderr)


def __getattr__(name: str) -> object:
    if name != "Child":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gert_core.kit.processes.child import Child

    return Child


__all__ = ["OUTPUT_LIMIT", "Child", "ProcessResult", "call", "kill_all", "start", "stopped_with_run"]
