"""The command ``gert tui``: a screen on which runs are started, followed, answered and approved."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Command


@hookimpl
def gert_commands() -> list[Command]:
    """Register ``gert tui``."""
    return [
        Command(
            name="tui",
            summary="Start, follow, answer and approve runs on one screen.",
            target="gert_tui.command:main",
        )
    ]
