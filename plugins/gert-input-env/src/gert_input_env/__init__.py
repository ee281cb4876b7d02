"""The input resolver ``env``: inputs from environment variables."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import InputResolver


@hookimpl
def gert_input_resolvers() -> list[InputResolver]:
    """Register ``from: env/NAME``."""
    return [InputResolver(name="env", resolve="gert_input_env.read:resolve", summary="Reads an environment variable.")]
