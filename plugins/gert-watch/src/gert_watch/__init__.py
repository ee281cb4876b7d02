"""The command ``gert watch``: run a runbook again and again."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Command


@hookimpl
def gert_commands() -> list[Command]:
    """Register ``gert watch``."""
    return [
        Command(name="watch", summary="Run a runbook at an interval, a line per run.", target="gert_watch.command:main")
    ]
