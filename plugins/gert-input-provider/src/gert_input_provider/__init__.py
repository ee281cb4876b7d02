"""The input resolver ``provider``: inputs from provider programs over JSON-RPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core import hookimpl
from gert_core.api import InputResolver

if TYPE_CHECKING:
    from gert_core.api import ProjectInfo


def provider_names(project: ProjectInfo | None) -> tuple[str, ...]:
    """Return the providers a project configures; each name is a first word of ``from:`` by itself."""
    return () if project is None else tuple(project.providers)


@hookimpl
def gert_input_resolvers() -> list[InputResolver]:
    """Register ``from: provider/NAME.path`` and, for configured providers, ``from: NAME.path``."""
    return [
        InputResolver(
            name="provider",
            resolve="gert_input_provider.client:resolve",
            names=provider_names,
            summary="Asks a provider program named in gert-project.yaml.",
        )
    ]
