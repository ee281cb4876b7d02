"""The project file ``gert-project.yaml``: its model, and finding and reading it."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Struct
from pydantic import AfterValidator, Field

from gert_core.api.views import ProjectInfo, ProviderInfo
from gert_core.documents.fields import Given, Model, Name, Text, no_items
from gert_core.documents.later import later
from gert_core.documents.project_file import project_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api.data import Json
    from gert_core.documents.notify import NotifyModel
    from gert_core.documents.yaml import Document
else:
    NotifyModel = later("gert_core.documents.notify:NotifyModel")

DEFAULT_TRACES: Final = "traces"
"""The directory of traces that are not kept with their runs, where none is named."""


class TracesModel(Model):
    """Where traces go."""

    dir: Given[Text] = Field(default=None, description="Directory for traces, relative to the project.")


class ProviderModel(Model):
    """A source of inputs: a program that answers by name."""

    transport: Given[Text] = Field(default=None, description="How it is reached.")
    binary: Text = Field(description="The program to start.")
    config: dict[str, Any] = Field(default_factory=dict, description="Handed to the provider untouched.")


class ApprovalsModel(Model):
    """Who is asked for approvals."""

    provider: Given[Text] = Field(default=None, description="The approval provider used by default.")
    config: dict[str, Any] = Field(default_factory=dict, description="Handed to the provider untouched.")


class PluginsModel(Model):
    """Which plugins may load, and their settings."""

    load: Literal["auto", "listed"] = Field(
        default="auto", description="`auto`: every installed plugin; `listed`: only those under `allow`."
    )
    allow: list[Text] = Field(default_factory=no_items, description="Plugins that may load with `load: listed`.")
    block: list[Text] = Field(default_factory=no_items, description="Plugins that are never imported.")
    require: list[Text] = Field(
        default_factory=no_items,
        description="Distributions all of whose plugins must be active, with version ranges if you like.",
    )
    config: dict[Text, dict[str, Any]] = Field(
        default_factory=dict, description="Settings by plugin, each handed to that plugin alone."
    )


class PluginFloorModel(Model):
    """What ``plugins.yaml`` of the machine floor says."""

    require: list[Text] = Field(default_factory=no_items, description="Distributions whose plugins must be active.")
    block: list[Text] = Field(default_factory=no_items, description="Plugins that are never imported.")


def _store_address(url: str) -> str:
    """Refuse what is not the address of a store, and a password, which every reader of the file would see."""
    from pydantic_core import PydanticCustomError

    from gert_core.kit.store_urls import has_password, split_url

    if has_password(url):
        raise PydanticCustomError(
            "store-credentials",
            "`store` has a password in it, which every reader of the project file would see",
            {"hint": "leave it out; GERT_STORE may be the whole address, or give it as the store's plugin says"},
        )
    try:
        split_url(url)
    except ValueError as error:
        why = {"why": str(error)}
        raise PydanticCustomError("wrong-type", "`store` is not the address of a store: {why}", why) from None
    return url


class ProjectModel(Model):
    """A project document."""

    name: Given[Text] = Field(default=None, description="The project's name.")
    tools_dir: Text = Field(default="tools", description="Directory of shared tools, relative to this file.")
    runs_dir: Text = Field(default="runs", description="Directory that run directories are created in.")
    store: Given[
        Annotated[Text, AfterValidator(_store_address), Field(json_schema_extra={"pattern": "^[a-z][a-z0-9+.-]*:"})]
    ] = Field(default=None, description="Address of the store of runs, such as `sqlite:runs.db`; default: `runs_dir`.")
    traces: TracesModel = Field(default_factory=TracesModel, description="Where traces go.")
    policies: list[Text] = Field(default_factory=no_items, description="Policy files that hold for every run.")
    providers: dict[Name, ProviderModel] = Field(
        default_factory=dict, description="Input providers by the name used in `from`."
    )
    approvals: ApprovalsModel = Field(default_factory=ApprovalsModel, description="Approval defaults.")
    fail_on: list[Literal["resolved", "escalated", "no_action", "needs_rca"]] = Field(
        default_factory=list, description="Outcomes that end `gert exec` and `gert resume` with exit code 4."
    )
    notify: list[NotifyModel] = Field(
        default_factory=no_items, description="Who is told how runs end and what they wait for."
    )
    notifiers: dict[Name, dict[str, Any]] = Field(
        default_factory=dict, description="Settings of notifiers by name, such as the key of a service."
    )
    plugins: PluginsModel = Field(
        default_factory=PluginsModel, description="Plugins that may load, and their settings."
    )


class Project(Struct, frozen=True, kw_only=True):
    """A project: its directory and the content of its file."""

    root: Path
    model: ProjectModel
    document: Document | None = None

    @property
    def tools_dir(self) -> Path:
        """The directory of shared tools."""
        return self.root / self.model.tools_dir

    @property
    def runs_dir(self) -> Path:
        """The directory that run directories are created in."""
        return self.root / self.model.runs_dir

    @property
    def traces_dir(self) -> Path:
        """The directory of traces that are not kept with their runs."""
        return self.root / (self.model.traces.dir or DEFAULT_TRACES)

    @property
    def policy_files(self) -> tuple[Path, ...]:
        """The policy files that hold for every run."""
        return tuple(self.root / entry for entry in self.model.policies)

    @property
    def plugin_config(self) -> Mapping[str, Mapping[str, Json]]:
        """The settings of plugins, by plugin or distribution name."""
        return self.model.plugins.config

    @property
    def approval_config(self) -> Mapping[str, Json]:
        """The settings of whichever approval provider is used."""
        return self.model.approvals.config

    def info(self, config: Mapping[str, Json]) -> ProjectInfo:
        """Return the project as the plugin with this configuration sees it."""
        return ProjectInfo(
            root=self.root,
            tools_dir=self.tools_dir,
            runs_dir=self.runs_dir,
            name=self.model.name or "",
            traces_dir=self.traces_dir,
            policies=self.policy_files,
            providers={
                name: ProviderInfo(binary=given.binary, transport=given.transport, config=deepcopy(given.config))
                for name, given in self.model.providers.items()
            },
            config=config,
        )


def find_project(start: Path) -> Project | None:
    """Return the project of a file or directory, searched upward; raise ``ProjectError`` when its file is invalid."""
    first = start if start.is_dir() else start.parent
    if ".." in first.parts:
        first = first.resolve()
    # The given spelling is kept as far as it reaches, so that messages show paths as the user wrote them.
    above = () if first.is_absolute() else first.resolve().parents
    file = project_file((first, *first.parents, *above))
    return None if file is None else load_project(file)


def load_project(path: Path, *, name: str | None = None) -> Project:
    """Read a project file; raise ``ProjectError`` when it is invalid."""
    from gert_core.documents.standalone import load_strictly, read_strictly

    document = read_strictly(path, what="project file", name=name)
    model = load_strictly(path, ProjectModel, what="project file", document=document)
    return Project(root=path.parent, model=model, document=document)


__all__ = [
    "ApprovalsModel",
    "PluginFloorModel",
    "PluginsModel",
    "Project",
    "ProjectModel",
    "ProviderModel",
    "TracesModel",
    "find_project",
    "load_project",
]
