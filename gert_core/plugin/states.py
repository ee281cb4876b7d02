"""The states of installed plugins, with facts and cause."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import PluginError


class PluginState(StrEnum):
    """Every discovered entry point ends in exactly one of these."""

    ACTIVE = "active"
    BLOCKED = "blocked"
    INCOMPATIBLE = "incompatible"
    BROKEN = "broken"
    CONFLICTING = "conflicting"


class PluginInfo(Struct, frozen=True, kw_only=True):
    """One plugin for display and traces; ``cause`` is the reason why it is not active."""

    name: str
    distribution: str
    version: str
    entry_point: str
    state: PluginState = PluginState.ACTIVE
    cause: str = ""

    @property
    def label(self) -> str:
        """Name, distribution and version, such as ``step-sleep (gert-step-sleep 1.0)``."""
        return f"{self.name} ({self.distribution} {self.version})"

    @property
    def healthy(self) -> bool:
        """Whether there is nothing to say about it: it is active, or blocked on purpose."""
        return self.state in {PluginState.ACTIVE, PluginState.BLOCKED}

    @property
    def hinders(self) -> bool:
        """Whether nothing is executed with it: it was meant to be loaded and was not.

        One made for another version of the interface never is; who relies on it requires it in the project.
        """
        return self.state in {PluginState.BROKEN, PluginState.CONFLICTING}

    def to_json(self) -> dict[str, object]:
        """Return the object printed by ``gert plugins list --json``."""
        return {
            "name": self.name,
            "distribution": self.distribution,
            "version": self.version,
            "entry_point": self.entry_point,
            "state": str(self.state),
            "cause": self.cause,
        }


class UnknownName(PluginError, LookupError):  # noqa: N818 - read as a sentence: unknown name
    """A name in a document that no plugin provides; the hint names the distribution that would."""

    default_kind = ErrorKind.UNKNOWN_NAME


__all__ = ["PluginInfo", "PluginState", "UnknownName"]
