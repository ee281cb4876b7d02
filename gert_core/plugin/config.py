"""Give each plugin its own configuration from the project, and never another's."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from gert_core.plugin.discovery import normalise
from gert_core.plugin.kinds import APPROVAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from gert_core.api import ApprovalRequest, Console, Json, ProjectInfo, Services, StoredRun
    from gert_core.plugin.kinds import RecordKind
    from gert_core.plugin.registry import Registry
    from gert_core.plugin.states import PluginInfo

    SinceLast = Callable[[ApprovalRequest], Mapping[str, Any] | None]


class ConfiguredProject(Protocol):
    """A project with what it configures for plugins; ``plugin_config`` is by plugin or distribution name."""

    @property
    def plugin_config(self) -> Mapping[str, Mapping[str, Json]]:
        """The value of ``plugins.config``."""

    @property
    def approval_config(self) -> Mapping[str, Json]:
        """The value of ``approvals.config``, for the provider in use."""

    def info(self, config: Mapping[str, Json]) -> ProjectInfo:
        """Return the project as the plugin with this configuration sees it."""


def project_info(plugin: PluginInfo, project: ConfiguredProject | None) -> ProjectInfo | None:
    """Return a project as one plugin sees it; None outside of a project."""
    if project is None:
        return None
    names = {normalise(plugin.name), plugin.distribution}
    own = [config for name, config in project.plugin_config.items() if normalise(name) in names]
    return project.info(deepcopy(dict(own[0])) if own else {})


class PluginServices:
    """The services of a run, given to each plugin with the plugin's own configuration."""

    __slots__ = ("_project", "_registry", "_services")

    def __init__(self, services: Services, *, registry: Registry, project: ConfiguredProject | None) -> None:
        self._services = services
        self._registry = registry
        self._project = project

    @property
    def console(self) -> Console:
        """The person at the terminal."""
        return self._services.console

    def during(self, run_id: str, run: StoredRun | None, *, since_last: SinceLast) -> PluginServices:
        """Return the same for a run that has begun."""
        place = None if run is None else run.path
        services = replace(self._services, run_id=run_id, run=run, run_dir=place, since_last=since_last)
        return PluginServices(services, registry=self._registry, project=self._project)

    def of(self, kind: RecordKind, name: str) -> Services:
        """Return the services for the plugin of a record; an approval provider also has ``approvals.config``."""
        owners = self._registry.providers(kind, name)
        project = project_info(owners[0], self._project) if owners else None
        config = project.config if project is not None else {}
        if kind is APPROVAL and self._project is not None:
            config = {**config, **deepcopy(dict(self._project.approval_config))}
        return replace(self._services, project=project, config=config)


__all__ = ["ConfiguredProject", "PluginServices", "project_info"]
