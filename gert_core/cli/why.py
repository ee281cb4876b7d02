"""Explanation which plugin provides something, would provide it, or does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.api.errors import UsageError
from gert_core.cli.provided import ACTIVITIES, CHECKS, DIAGNOSTICS, HOOKS, OBSERVER, POLICY, TOOL, policies, tools_of
from gert_core.cli.verbs import VERBS
from gert_core.kit.nearest import nearest
from gert_core.plugin import kinds
from gert_core.plugin.advice import would_be_called
from gert_core.plugin.discovery import normalise
from gert_core.plugin.selection import unknown_plugin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gert_core.documents.project import Project
    from gert_core.plugin.kinds import RecordKind
    from gert_core.plugin.registry import Registry
    from gert_core.plugin.states import PluginInfo

_NOTHING: Final = {
    DIAGNOSTICS: "checks runbooks by rules of its own",
    OBSERVER: "observes trace events",
    CHECKS: "adds checks to `gert doctor`",
}
_ALONE: Final = (POLICY, *ACTIVITIES)
"""The kinds that may be asked for without a name: all of them apply at once."""


class Explanation(Struct, frozen=True, kw_only=True):
    """An answer for people (``lines``) and for programs; ``known`` is whether the thing is there and usable."""

    lines: tuple[str, ...]
    known: bool
    providers: tuple[PluginInfo, ...] = ()
    would_provide: str | None = None
    more: dict[str, object] = field(default_factory=dict)

    def to_json(self, what: str) -> dict[str, object]:
        """Return the object printed by ``gert plugins why --json``."""
        said = [info.to_json() for info in self.providers]
        return {"what": what, "provided_by": said, "would_provide": self.would_provide, **self.more}


def answer(what: str, *, registry: Registry, project: Project | None) -> Explanation:
    """Explanation ``KIND:NAME``, or ``KIND`` for what applies as a whole; raise ``UsageError`` for anything else."""
    word, _, name = what.partition(":")
    if word in ACTIVITIES and (name or what == word):
        return _activity(word, name, registry)
    if word == POLICY and (name or what == word):
        return _policy(name, registry, project)
    if word == TOOL and name:
        return _tool(name, registry, project)
    for kind in kinds.KINDS:
        if kind.word == word and name:
            return _record(kind, name, registry)
    known = ", ".join((*(kind.word for kind in kinds.KINDS), TOOL, *_ALONE))
    raise UsageError(f"{what!r} is not of the form KIND:NAME", hint=f"the kinds are {known}; try step:NAME")


def _record(kind: RecordKind, name: str, registry: Registry) -> Explanation:
    found = registry.providers(kind, name)
    if kind is kinds.COMMAND and name in VERBS:
        return Explanation(lines=(f"{kind.label} {name!r} is one of gert itself",), known=True)
    if len(found) == 1:
        line = f"{kind.label} {name!r} is provided by plugin {found[0].label}"
        return Explanation(lines=(line,), known=True, providers=found)
    if found:
        line = f"{kind.label} {name!r} is not usable: {found[0].cause}"
        return Explanation(lines=(line,), known=False, providers=found)
    provider = kinds.provider_of(kind, name)
    installed = [info for info in registry.plugins if info.distribution == provider]
    if installed:
        info = installed[0]
        cause = f": {info.cause}" if info.cause else ""
        line = f"{kind.label} {name!r} is missing: plugin {info.label} is {info.state}{cause}"
        return Explanation(lines=(line,), known=False, would_provide=provider)
    near = _near(name, registry.records(kind))
    line = f"no installed plugin provides {kind.label} {name!r}{near}"
    return Explanation(lines=(line, f"  {would_be_called(provider)}"), known=False, would_provide=provider)


def _tool(name: str, registry: Registry, project: Project | None) -> Explanation:
    from gert_core.documents.lookup import find_tool

    packs = registry.tool_packs()
    found = find_tool(name, base=Path(), project=project, packs=packs)
    pack, _, bare = name.rpartition("/")
    if found.path is not None:
        owners = [one for one in packs.values() if one.directory == found.path.parent]
        if not owners:
            line = f"tool {name!r} is a file, not a plugin's: {found.path}"
            return Explanation(lines=(line,), known=True, more={"file": str(found.path)})
        (owner,) = registry.providers(kinds.TOOLS, owners[0].name)
        lines = (f"tool {name!r} is provided by plugin {owner.label}", f"  {found.path}")
        return Explanation(lines=lines, known=True, providers=(owner,), more={"file": str(found.path)})
    if found.reason:
        return Explanation(lines=(f"tool {name!r} is not usable: {found.reason}",), known=False)
    if pack and pack not in packs:
        return _record(kinds.TOOLS, pack, registry)
    known = [f"{one.name}/{tool}" for one in packs.values() for tool in tools_of(one)]
    near = _near(name, known) or _near(bare, known, strip=True)
    if not pack:
        return Explanation(lines=(f"no installed tool pack has a tool {bare!r}{near}",), known=False)
    (owner,) = registry.providers(kinds.TOOLS, pack)
    line = f"tool pack {pack!r} of plugin {owner.label} does not have a tool {bare!r}{near}"
    return Explanation(lines=(line,), known=False)


def _policy(name: str, registry: Registry, project: Project | None) -> Explanation:
    lines, faults, names, owners = [], [], [], []
    for plugin in registry.loaded:
        found, fault = policies(plugin, project)
        faults += [fault] if fault else []
        names += found
        for one in found:
            if name in ("", one):
                lines.append(f"policy {one!r} is provided by plugin {plugin.info.label}")
                owners.append(plugin.info)
    if not lines:
        wanted = f"policy {name!r}{_near(name, names)}" if name else "a policy"
        lines.append(f"no installed plugin provides {wanted}")
    return Explanation(lines=(*lines, *faults), known=bool(owners) and not faults, providers=tuple(owners))


def _activity(word: str, name: str, registry: Registry) -> Explanation:
    doing = tuple(plugin.info for plugin in registry.loaded if HOOKS[word] in plugin.hooks)
    if not name:
        if not doing:
            return Explanation(lines=(f"no installed plugin {_NOTHING[word]} ({HOOKS[word]})",), known=False)
        return Explanation(lines=tuple(_does(info, word) for info in doing), known=True, providers=doing)
    wanted = normalise(name)
    named = [info for info in registry.plugins if wanted in {normalise(info.name), info.distribution}]
    if not named:
        raise unknown_plugin(name, {normalise(info.name) for info in registry.plugins})
    if named[0] in doing:
        return Explanation(lines=(_does(named[0], word),), known=True, providers=(named[0],))
    return Explanation(lines=(f"plugin {named[0].label} does not implement {HOOKS[word]}",), known=False)


def _does(info: PluginInfo, word: str) -> str:
    return f"plugin {info.label} {ACTIVITIES[word]} ({HOOKS[word]})"


def _near(name: str, known: Iterable[str], *, strip: bool = False) -> str:
    """Return a suggestion in words, or nothing; ``strip`` compares with the last part of each name."""
    names = {one.rpartition("/")[2] if strip else one: one for one in known}
    near = nearest(name, names)
    return f"; did you mean {names[near]!r}?" if near else ""


__all__ = ["Explanation", "answer"]
