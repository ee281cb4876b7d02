"""The command ``gert outcomes``: what past runs came to."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Command


@hookimpl
def gert_commands() -> list[Command]:
    """Register ``gert outcomes``."""
    summary = "Show what past runs came to: outcomes, trends, times, failing steps."
    return [Command(name="outcomes", summary=summary, target="gert_outcomes.command:main")]
