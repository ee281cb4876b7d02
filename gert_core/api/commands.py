"""Commands that plugins add to the command line, and the host they are called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.api.approvals import ApprovalProvider
    from gert_core.api.context import Console, Deadline
    from gert_core.api.data import Json
    from gert_core.api.inputs import InputResolver
    from gert_core.api.packs import ToolPack
    from gert_core.api.signatures import SignatureScheme
    from gert_core.api.steps import StepType
    from gert_core.api.stores import RunStore
    from gert_core.api.transports import Transport
    from gert_core.api.views import ProjectInfo


class RegistryView(Protocol):
    """The records of the active plugins, by name."""

    def step_types(self) -> Mapping[str, StepType]:
        """Return every usable step type."""

    def transports(self) -> Mapping[str, Transport]:
        """Return every usable transport."""

    def approval_providers(self) -> Mapping[str, ApprovalProvider]:
        """Return every usable approval provider."""

    def input_resolvers(self) -> Mapping[str, InputResolver]:
        """Return every usable input resolver."""

    def signature_schemes(self) -> Mapping[str, SignatureScheme]:
        """Return every usable signature scheme, by algorithm."""

    def tool_packs(self) -> Mapping[str, ToolPack]:
        """Return every usable tool pack."""


class CommandHost(Protocol):
    """The host of a plugin's command."""

    @property
    def registry(self) -> RegistryView:
        """The records of the active plugins."""

    @property
    def project(self) -> ProjectInfo | None:
        """The project of the working directory with this plugin's configuration; None outside of one."""

    @property
    def config(self) -> Mapping[str, Json]:
        """The configuration of this plugin under ``plugins.config``."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment as the user set it; ``os.environ`` has none of gert's keys."""

    @property
    def console(self) -> Console:
        """The person at the terminal."""

    def store(self, url: str | None = None) -> RunStore:
        """Return the store of runs at an address; None: the one that gert's own commands use in this directory.

        It is closed when the command is over.
        """

    def deadline(self, seconds: float | None = None) -> Deadline:
        """Return a deadline for calls that wait, such as ``console.ask``; None: no limit."""


class Command(Struct, frozen=True, kw_only=True):
    """A command: ``gert NAME ARGS...`` calls ``target(args, host)``, which returns the exit code.

    The summary is static so that help imports nothing.
    """

    name: str
    summary: str
    target: str | Callable[[Sequence[str], CommandHost], int]


__all__ = ["Command", "CommandHost", "RegistryView"]
