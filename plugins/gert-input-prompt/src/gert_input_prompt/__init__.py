"""The input resolver ``prompt``: asks for inputs at the terminal."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import InputResolver


@hookimpl
def gert_input_resolvers() -> list[InputResolver]:
    """Register ``from: prompt``."""
    return [
        InputResolver(
            name="prompt",
            resolve="gert_input_prompt.ask:resolve",
            interactive=True,
            summary="Asks at the terminal.",
        )
    ]
