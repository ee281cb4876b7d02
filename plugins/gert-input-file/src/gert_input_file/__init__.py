"""The input resolver ``file``: inputs from files."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import InputResolver


@hookimpl
def gert_input_resolvers() -> list[InputResolver]:
    """Register ``from: file/PATH``."""
    return [InputResolver(name="file", resolve="gert_input_file.read:resolve", summary="Reads a file.")]
