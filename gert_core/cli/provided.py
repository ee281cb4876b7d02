"""What one plugin provides: its records, the tools of its packs, policies, findings, checks and observers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.errors import PluginError
from gert_core.api.policies import PolicyPack
from gert_core.documents.kinds import DocumentKind
from gert_core.plugin.calls import policy_packs
from gert_core.plugin.kinds import CHECKS_HOOK, DIAGNOSTICS_HOOK, KINDS, OBSERVER_HOOK, POLICIES_HOOK, TOOLS

if TYPE_CHECKING:
    from gert_core.api.packs import ToolPack
    from gert_core.documents.project import Project
    from gert_core.plugin.loader import Plugin

TOOL: Final = str(DocumentKind.TOOL)
POLICY: Final = str(DocumentKind.POLICY)
DIAGNOSTICS: Final = "diagnostics"
OBSERVER: Final = "observer"
CHECKS: Final = "checks"
ACTIVITIES: Final = {
    DIAGNOSTICS: "checks every runbook",
    OBSERVER: "is told every trace event",
    CHECKS: "adds checks to `gert doctor`",
}
"""What a plugin does that is not a record with a name, by the word for it."""
HOOKS: Final = {DIAGNOSTICS: DIAGNOSTICS_HOOK, OBSERVER: OBSERVER_HOOK, CHECKS: CHECKS_HOOK}
_SUFFIX: Final = ".tool.yaml"


class Provided(Struct, frozen=True, kw_only=True):
    """The names a plugin provides, by kind; an activity has the plugin's own name. ``notes`` say what is missing."""

    names: dict[str, list[str]]
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return one line per kind, for people, and one per note."""
        said = [f"{word}: {ACTIVITIES.get(word) or ', '.join(names)}" for word, names in self.names.items()]
        return said + [f"note: {note}" for note in self.notes]


def provided(plugin: Plugin, project: Project | None) -> Provided:
    """Return everything that a plugin provides in a project."""
    names: dict[str, list[str]] = {}
    notes = list(plugin.notes)
    for kind in KINDS:
        if records := plugin.records.get(kind.word):
            names[kind.word] = sorted(getattr(record, kind.key) for record in records)
            if kind is TOOLS:
                names[TOOL] = sorted(f"{pack.name}/{tool}" for pack in records for tool in tools_of(pack))
    packs, fault = policies(plugin, project)
    if packs:
        names[POLICY] = packs
    if fault:
        notes.append(fault)
    for word, hook in HOOKS.items():
        if hook in plugin.hooks:
            names[word] = [plugin.candidate.name]
    return Provided(names=names, notes=tuple(notes))


def tools_of(pack: ToolPack) -> list[str]:
    """Return the names of the tools in a pack; a directory that is missing has none."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in pack.directory.glob(f"*{_SUFFIX}"))


def policies(plugin: Plugin, project: Project | None) -> tuple[list[str], str]:
    """Return the names of a plugin's policies, and what kept it from providing them."""
    if POLICIES_HOOK not in plugin.hooks:
        return [], ""
    try:
        return sorted(pack.name for pack in policy_packs(plugin, project, PolicyPack)), ""
    except PluginError as error:
        return [], error.message


__all__ = [
    "ACTIVITIES",
    "CHECKS",
    "DIAGNOSTICS",
    "HOOKS",
    "OBSERVER",
    "POLICY",
    "TOOL",
    "Provided",
    "policies",
    "provided",
    "tools_of",
]
