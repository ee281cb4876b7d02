"""The transport ``stdio``: one process per call of a tool."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import Transport


@hookimpl
def gert_transports() -> list[Transport]:
    """Register ``stdio``."""
    return [
        Transport(
            name="stdio",
            open="gert_transport_stdio.session:StdioSession",
            default=True,
            starts_program=True,
            requires=("argv",),
            summary="Runs one process per call.",
        )
    ]
