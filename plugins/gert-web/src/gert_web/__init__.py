"""The command ``gert web``: an inbox in the browser, where people approve, answer and follow runs."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Command


@hookimpl
def gert_commands() -> list[Command]:
    """Register ``gert web``."""
    summary = "Serve a web inbox: approve, answer and follow runs."
    return [Command(name="web", summary=summary, target="gert_web.command:main")]
