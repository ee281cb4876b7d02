"""The host of a plugin's command: the registry, the project with the plugin's own settings, the terminal."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gert_core.plugin.kinds import COMMAND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Console, Json, ProjectInfo
    from gert_core.documents.project import Project
    from gert_core.engine.cancel import Deadline
    from gert_core.plugin.registry import Registry


class TerminalHost:
    """The ``CommandHost`` of one command."""

    def __init__(self, command: str, *, registry: Registry, project: Project | None) -> None:
        self.registry = registry
        self.project: ProjectInfo | None = registry.project_info(COMMAND, command, project)

    @property
    def config(self) -> Mapping[str, Json]:
        """The settings of the plugin that provides the command."""
        return self.project.config if self.project is not None else {}

    @cached_property
    def console(self) -> Console:
        """The person at the terminal."""
        from gert_core.cli.render.console import TerminalConsole

        return TerminalConsole()

    def deadline(self, seconds: float | None = None) -> Deadline:
        """Return a deadline; a signal ends the command itself."""
        from gert_core.engine.cancel import Deadline, Stop

        return Deadline(Stop(), seconds)


__all__ = ["TerminalHost"]
