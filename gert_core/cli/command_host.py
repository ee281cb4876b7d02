"""The host of a plugin's command: the registry, the project with the plugin's own settings, the terminal."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gert_core.api.errors import GertError
from gert_core.plugin.kinds import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gert_core.api import Console, Json, ProjectInfo, RunStore
    from gert_core.cli.session import Options
    from gert_core.documents.project import Project
    from gert_core.engine.cancel import Deadline
    from gert_core.plugin.registry import Registry


class TerminalHost:
    """The ``CommandHost`` of one command."""

    def __init__(self, command: str, *, registry: Registry, project: Project | None, options: Options) -> None:
        self.command = command
        self.environ = options.environ
        self.registry = registry
        self._project = project
        self._options = options
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

    def store(self, url: str | None = None) -> RunStore:
        """Return the store of runs at an address, or as gert's own commands choose it."""
        from gert_core.cli.session import project_here
        from gert_core.cli.stores import store_of

        # A project file that is broken names another store than the one there is without it.
        return store_of(project_here(known=self._project), self._options, url, self.registry)

    def deadline(self, seconds: float | None = None) -> Deadline:
        """Return a deadline; a signal ends the command itself."""
        from gert_core.engine.cancel import Deadline, Stop

        return Deadline(Stop(), seconds)


def call_command(function: Callable[[list[str], TerminalHost], object], args: list[str], host: TerminalHost) -> int:
    """Call a plugin's command and return its exit code; raise ``PluginFault`` for what is not meant for people."""
    from gert_core.plugin.functions import Unusable, a_kind_of, plugin_fault

    try:
        code = function(args, host)
        if code is not None and not isinstance(code, int):
            raise Unusable(f"it returned {a_kind_of(code)} instead of an exit code")
    except (GertError, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        of_output = isinstance(error, OSError) and error.filename is None  # of an output that is closed or full
        if of_output or hasattr(error, "exit_code"):  # or of click and typer: reported as for gert's own commands
            raise
        owners = host.registry.providers(COMMAND, host.command)
        raise plugin_fault(owners, f"command {host.command!r}", error) from error
    return code or 0


__all__ = ["TerminalHost", "call_command"]
