"""Decide from metadata which plugins may be imported: allow, block and require."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api.errors import UsageError
from gert_core.plugin.discovery import GROUP, normalise
from gert_core.plugin.states import PluginState

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gert_core.plugin.discovery import Candidate
    from gert_core.plugin.states import PluginInfo

    Decided = dict[str, tuple[PluginState, str]]


class Selection(Struct, frozen=True, kw_only=True):
    """The selection of plugins by flags, environment and project file: entry-point or distribution names.

    With ``load`` "listed" only allowed and required plugins are loaded, with "auto" all of them. A block always
    wins. ``configured`` are the plugins the project has settings for. ``require`` holds requirements of distributions
    such as ``gert-policy-acme>=2``.
    """

    allow: Sequence[str] = ()
    block: Sequence[str] = ()
    block_installed: Sequence[str] = ()
    """Names to block that need not be installed: projects and machines block what somebody may install later."""
    require: Sequence[str] = ()
    machine_require: Sequence[str] = ()
    """Requirements of the machine floor."""
    load: str = "auto"
    configured: Sequence[str] = ()

    def decide(self, candidates: Sequence[Candidate]) -> Decided:
        """Return state and cause of every candidate that must not be imported, by its key."""
        allowed = self._named(self.allow, candidates)
        blocked = self._named(self.block, candidates) | {normalise(word) for word in self.block_installed}
        self._check_configured(candidates)
        required = {requirement_name(text) for text in (*self.require, *self.machine_require)}
        usable = {(c.distribution, c.name) for c in candidates if c.group == GROUP}
        decided: Decided = {}
        for candidate in candidates:
            names = {normalise(candidate.name), candidate.distribution}
            if names & blocked:
                decided[candidate.key] = (PluginState.BLOCKED, "blocked by name")
            elif self.load == "listed" and not names & allowed and candidate.distribution not in required:
                decided[candidate.key] = (PluginState.BLOCKED, "not listed in the project's plugins")
            elif candidate.group != GROUP and (candidate.distribution, candidate.name) not in usable:
                cause = f"made for {candidate.group}, this gert loads {GROUP}"
                decided[candidate.key] = (PluginState.INCOMPATIBLE, cause)
        self._same_name_twice(candidates, decided)
        return decided

    def warnings(self, candidates: Sequence[Candidate]) -> list[str]:
        """Return a message for each name that is blocked although no installed plugin has it."""
        known = _names(candidates)
        return [
            f"the plugin {word!r}, which is blocked, is not installed" + _close(word, known, "; did you mean {!r}?")
            for word in self.block_installed
            if normalise(word) not in known
        ]

    def _named(self, words: Sequence[str], candidates: Sequence[Candidate]) -> set[str]:
        known = _names(candidates)
        wanted = set()
        for word in words:
            if normalise(word) not in known:
                raise unknown_plugin(word, known)
            wanted.add(normalise(word))
        return wanted

    def _check_configured(self, candidates: Sequence[Candidate]) -> None:
        """Raise ``UsageError`` for settings of a plugin that is not installed, and for two of the same plugin."""
        self._named(self.configured, candidates)
        for candidate in candidates:
            names = {normalise(candidate.name), candidate.distribution}
            words = [word for word in self.configured if normalise(word) in names]
            if len(words) > 1:
                raise UsageError(
                    f"plugins.config has {' and '.join(map(repr, words))}, which name the same plugin",
                    hint="put its settings under one of these names",
                )

    def _same_name_twice(self, candidates: Sequence[Candidate], decided: Decided) -> None:
        by_name: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            if candidate.group == GROUP and candidate.key not in decided:
                by_name.setdefault(normalise(candidate.name), []).append(candidate)
        for name, rivals in by_name.items():
            if len(rivals) > 1:
                owners = " and ".join(f"{c.distribution} {c.version}" for c in rivals)
                cause = f"{owners} both have the name {name!r}; uninstall one, or block it by its distribution name"
                decided.update({c.key: (PluginState.CONFLICTING, cause) for c in rivals})


def _names(candidates: Sequence[Candidate]) -> set[str]:
    return {normalise(c.name) for c in candidates} | {c.distribution for c in candidates}


def requirement_name(text: str) -> str:
    """Return the distribution name in a requirement, normalised."""
    return normalise(_requirement(text)[0])


def unmet(require: Sequence[str], plugins: Sequence[PluginInfo], *, who: str) -> list[tuple[str, str]]:
    """Return the requirements that are not met: what to install (empty if installed) and a message.

    A requirement names a distribution, all of whose plugins must be active: neither another distribution with a plugin
    of that name nor a part of the required one is enough. ``who`` requires them.
    """
    missing = []
    for text in require:
        name, specifier = _requirement(text)
        own = [info for info in plugins if info.distribution == normalise(name)]
        idle = [info for info in own if info.state is not PluginState.ACTIVE]
        install = ""
        if not own:
            meant = _instead(name, plugins)
            install, why = "" if meant else text, f"it is not installed{meant}"
        elif len(own) == len(idle):
            why = "it is installed but not active"
        elif idle:
            why = f"its plugin {idle[0].name!r} is {idle[0].state}"
        elif _satisfies(own[0].version, specifier):
            continue
        else:
            why, install = f"version {own[0].version} is active", own[0].distribution + specifier
        missing.append((install, f"{who} requires plugin {text!r}, but {why}"))
    return missing


def _instead(name: str, plugins: Sequence[PluginInfo]) -> str:
    """Return which distribution was probably meant: the one with a plugin of that name, or one with a similar name."""
    owner = next((info.distribution for info in plugins if normalise(info.name) == normalise(name)), None)
    if owner is not None:
        return f"; the plugin {name!r} is in the distribution {owner!r}, and requirements name distributions"
    known = {info.distribution for info in plugins} | {normalise(info.name) for info in plugins}
    return _close(name, known, "; did you mean {!r}?")


def unknown_plugin(word: str, known: Collection[str]) -> UsageError:
    """Return the error for a name that no installed plugin has."""
    hint = _close(word, known, "did you mean {!r}?") or "`gert plugins list` shows the installed plugins"
    return UsageError(f"no installed plugin has the name {word!r}", hint=hint)


def _close(word: str, known: Collection[str], sentence: str) -> str:
    from gert_core.kit.nearest import nearest  # only mistakes need it

    near = nearest(normalise(word), known)
    return sentence.format(near) if near else ""


def _requirement(text: str) -> tuple[str, str]:
    if not any(mark in text for mark in "<>=!~[;@ "):
        return text, ""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        parsed = Requirement(text)
    except InvalidRequirement as exc:
        raise UsageError(
            f"{text!r} is not a plugin requirement", hint='write a name and versions, such as "gert-policy-acme>=2"'
        ) from exc
    return parsed.name, str(parsed.specifier)


def _satisfies(version: str, specifier: str) -> bool:
    if not specifier:
        return True
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except InvalidVersion:
        return False


__all__ = ["Selection", "requirement_name", "unknown_plugin", "unmet"]
