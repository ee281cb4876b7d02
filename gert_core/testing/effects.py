"""Forbid sockets and child processes in tests, to catch steps that bypass their context."""

from __future__ import annotations

import socket
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def forbid_outside_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every socket and every child process an error, to catch steps that bypass their context."""

    def refuse(*_: object, **__: object) -> object:
        raise AssertionError("the step bypassed its context: sockets and processes are not allowed in this mode")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    for name in ("posix_spawn", "posix_spawnp", "fork", "system", "execv", "execve"):
        monkeypatch.setattr(f"os.{name}", refuse, raising=False)


__all__ = ["forbid_outside_effects"]
