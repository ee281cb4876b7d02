"""Read-only views of a project and of a runbook, for hooks and plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from gert_core.api.contracts import Contract
    from gert_core.api.data import Json


class ProviderInfo(Struct, frozen=True, kw_only=True):
    """An input provider that a project configures under ``providers``."""

    binary: str
    transport: str | None = None
    config: Mapping[str, Json] = field(default_factory=dict)


class ProjectInfo(Struct, frozen=True, kw_only=True):
    """A project with the configuration of one plugin.

    ``root`` is the directory of ``gert-project.yaml``, ``policies`` are the policy files it names, ``traces_dir`` is
    where further traces are kept, as those of ``gert watch``. ``config`` is this plugin's own part of
    ``plugins.config``.
    """

    root: Path
    tools_dir: Path
    runs_dir: Path
    name: str = ""
    traces_dir: Path | None = None
    policies: tuple[Path, ...] = ()
    providers: Mapping[str, ProviderInfo] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)


class StepView(Struct, frozen=True, kw_only=True):
    """One step of a runbook.

    ``type`` is the name of its step type, ``path`` its place in the document (``("steps", 2)``), ``line`` and
    ``column`` its position, ``parent`` the id of the step around it. ``fields`` are all its fields as written,
    templates included. ``contract`` is the one that governance uses, None when its tool is missing.
    """

    id: str
    type: str
    path: tuple[str | int, ...]
    line: int
    column: int
    parent: str | None = None
    fields: Mapping[str, Json] = field(default_factory=dict)
    contract: Contract | None = None


class RunbookView(Protocol):
    """A runbook that could be read."""

    @property
    def name(self) -> str:
        """Its ``meta.name``."""

    @property
    def file(self) -> str:
        """The file, as in messages."""

    @property
    def tools(self) -> Sequence[str]:
        """The tools it lists, as written."""

    @property
    def document(self) -> Mapping[str, Json]:
        """The whole document as written."""

    def walk(self) -> Iterator[StepView]:
        """Return every step at any depth, in document order."""

    def locate(self, path: Sequence[str | int]) -> tuple[int, int]:
        """Return line and column of a place in the document, or of the nearest place around it."""


__all__ = ["ProjectInfo", "ProviderInfo", "RunbookView", "StepView"]
