"""The registry, a typed interface to pluggy: everything plugins provide, by name and with its origin."""

from __future__ import annotations

from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import PluginError
from gert_core.plugin import kinds
from gert_core.plugin.advice import ways_out, would_be_called
from gert_core.plugin.discovery import GROUP, Candidate, normalise
from gert_core.plugin.discovery import scan as scan_installed
from gert_core.plugin.selection import Selection, unmet
from gert_core.plugin.states import PluginState, UnknownName
from gert_core.plugin.tables import collect, conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gert_core.api import (
        ApprovalProvider,
        Check,
        Command,
        Diagnostic,
        InputResolver,
        Notifier,
        PolicyPack,
        ProjectInfo,
        RunbookView,
        SignatureScheme,
        StepType,
        StoreType,
        ToolPack,
        TraceEvent,
        Transport,
    )
    from gert_core.plugin.config import ConfiguredProject
    from gert_core.plugin.kinds import RecordKind
    from gert_core.plugin.loader import Manager, Plugin
    from gert_core.plugin.states import PluginInfo
    from gert_core.plugin.tables import Table


class Registry:
    """The records of the installed plugins; plugins are imported when their records are first needed."""

    def __init__(self, candidates: Sequence[Candidate], *, selection: Selection, extra: Sequence[object] = ()) -> None:
        self.candidates = tuple(candidates)
        self._selection = selection
        self._decided = selection.decide(self.candidates)
        self._extra = tuple(extra)
        self._lock = RLock()

    @classmethod
    def build(
        cls,
        *,
        allow: Iterable[str] = (),
        block: Iterable[str] = (),
        block_installed: Iterable[str] = (),
        require: Iterable[str] = (),
        machine_require: Iterable[str] = (),
        load: str = "auto",
        configured: Iterable[str] = (),
        scan: Iterable[Candidate] | None = None,
        extra_plugins: Iterable[object] = (),
    ) -> Registry:
        """Decide from metadata what may be loaded; raise ``UsageError`` for a name that no plugin has.

        ``scan`` replaces the scan of installed distributions (``()`` finds none of them); ``extra_plugins`` are
        plugin objects already imported; a name in ``block_installed`` that no plugin has is a warning.
        """
        selection = Selection(
            allow=tuple(allow),
            block=tuple(block),
            block_installed=tuple(block_installed),
            require=tuple(require),
            machine_require=tuple(machine_require),
            load=load,
            configured=tuple(configured),
        )
        found = scan_installed() if scan is None else tuple(scan)
        return cls(found, selection=selection, extra=tuple(extra_plugins))

    def with_plugins(self, *plugins: object) -> Registry:
        """Return a registry with further plugins that are already imported."""
        return Registry(self.candidates, selection=self._selection, extra=(*self._extra, *plugins))

    # -- records by name ------------------------------------------------------------------------------------

    def step_type(self, name: str) -> StepType:
        """Return the step type called ``name``; ``UnknownName`` names the distribution that would provide it."""
        found: StepType = self._get(kinds.STEP, name)
        return found

    def step_types(self) -> dict[str, StepType]:
        """Return every usable step type by name."""
        return dict(self._table(kinds.STEP).records)

    def transport(self, name: str) -> Transport | None:
        """Return the transport called ``name``, or None."""
        return self.transports().get(name)

    def transports(self) -> dict[str, Transport]:
        """Return every usable transport by name."""
        return dict(self._table(kinds.TRANSPORT).records)

    def approval_provider(self, name: str) -> ApprovalProvider:
        """Return the approval provider ``name``; ``UnknownName`` names the distribution that would provide it."""
        found: ApprovalProvider = self._get(kinds.APPROVAL, name)
        return found

    def approval_providers(self) -> dict[str, ApprovalProvider]:
        """Return every usable approval provider by name."""
        return dict(self._table(kinds.APPROVAL).records)

    def input_resolvers(self) -> dict[str, InputResolver]:
        """Return every usable input resolver by name."""
        return dict(self._table(kinds.INPUT).records)

    def signature_scheme(self, algorithm: str) -> SignatureScheme | None:
        """Return the scheme for an algorithm, or None; signatures without a scheme are rejected.

        What its functions raise besides ``ValueError`` names the plugin.
        """
        scheme = self.signature_schemes().get(algorithm)
        if scheme is None:
            return None
        from gert_core.plugin.functions import guarded_scheme

        return guarded_scheme(scheme, self.providers(kinds.SIGNATURE, algorithm))

    def signature_schemes(self) -> dict[str, SignatureScheme]:
        """Return every usable signature scheme by algorithm."""
        return dict(self._table(kinds.SIGNATURE).records)

    def tool_packs(self) -> dict[str, ToolPack]:
        """Return every usable tool pack by name."""
        return dict(self._table(kinds.TOOLS).records)

    def store_type(self, scheme: str) -> StoreType:
        """Return the store for a scheme; ``UnknownName`` names the distribution that would provide it."""
        found: StoreType
        for found in self._table(kinds.STORE).records.values():
            if scheme in found.schemes:
                return found
        found = self._get(kinds.STORE, scheme)
        return found

    def notifiers(self) -> dict[str, Notifier]:
        """Return every usable notifier by name."""
        return dict(self._table(kinds.NOTIFIER).records)

    def commands(self) -> dict[str, Command]:
        """Return every usable command by name."""
        return dict(self._table(kinds.COMMAND).records)

    def records(self, kind: RecordKind) -> dict[str, Any]:
        """Return every usable record of a kind by name."""
        return dict(self._table(kind).records)

    # -- hooks that take arguments --------------------------------------------------------------------------

    def policies(self, project: ConfiguredProject | None) -> list[tuple[PolicyPack, PluginInfo]]:
        """Return every policy pack with its origin; raise when a plugin cannot provide its policies."""
        from gert_core.api.policies import PolicyPack
        from gert_core.plugin.calls import policy_packs

        return [(pack, plugin.info) for plugin in self._active for pack in policy_packs(plugin, project, PolicyPack)]

    def policy_plugins(self) -> tuple[str, ...]:
        """Return the names of the plugins that are asked for policies, whatever they answer."""
        return tuple(plugin.info.name for plugin in self._active if kinds.POLICIES_HOOK in plugin.hooks)

    def diagnostics(self, runbook: RunbookView, project: ConfiguredProject | None) -> list[Diagnostic]:
        """Return the findings of plugins about a runbook, sorted; a plugin that raises becomes an error naming it."""
        from gert_core.plugin.calls import diagnostics

        return diagnostics(self._active, runbook, project)

    def checks(self, project: ConfiguredProject | None) -> list[tuple[PluginInfo, tuple[Check, ...], str]]:
        """Return by plugin its checks for ``gert doctor``, and what is wrong with how it gives them."""
        from gert_core.plugin.calls import checks

        return checks(self._active, project)

    def trace_observers(self, mode: str) -> list[tuple[str, Callable[[TraceEvent], None]]]:
        """Return the functions that observe the trace events of a run in this mode, with their plugins."""
        from gert_core.plugin.calls import observers

        return observers(self._active, mode)

    # -- the plugins themselves -----------------------------------------------------------------------------

    @cached_property
    def plugins(self) -> tuple[PluginInfo, ...]:
        """Every installed plugin with its state, sorted by name."""
        _ = self._tables
        return tuple(plugin.info for plugin in self._plugins)

    @property
    def loaded(self) -> tuple[Plugin, ...]:
        """Every installed plugin with its hooks and records, sorted by name, to explain what it provides."""
        _ = self._tables
        return tuple(self._plugins)

    def problems(self) -> tuple[PluginInfo, ...]:
        """Return the plugins that are neither active nor blocked."""
        return tuple(info for info in self.plugins if not info.healthy)

    def unmet_requirements(self) -> list[tuple[str, str]]:
        """Return the requirements that are not met: what to install, if any, and a message."""
        wanted = self._selection
        machine = unmet(wanted.machine_require, self.plugins, who="the machine floor")
        return machine + unmet(wanted.require, self.plugins, who="the project")

    def warnings(self) -> list[str]:
        """Return one message per plugin that is not usable as installed, for commands that continue nevertheless."""
        said = [f"plugin {info.label} is {info.state}: {info.cause}" for info in self.problems()]
        said += [f"plugin {p.info.label}: {note}" for p in self._plugins for note in p.notes]
        said += self._selection.warnings(self.candidates)
        return said + [sentence for _, sentence in self.unmet_requirements()]

    def require_healthy(self) -> None:
        """Raise ``PluginError`` for a plugin that is broken or conflicting, and for a requirement that is not met."""
        problems, missing = [info for info in self.problems() if info.hinders], self.unmet_requirements()
        if problems or missing:
            by_cause: dict[tuple[PluginState, str], list[str]] = {}
            for info in problems:  # conflicting plugins share one cause, shown once
                by_cause.setdefault((info.state, info.cause), []).append(info.label)
            said = [
                f"plugin{'s' * (len(labels) > 1)} {' and '.join(labels)} {'are' if len(labels) > 1 else 'is'}"
                f" {state}: {cause}"
                for (state, cause), labels in by_cause.items()
            ]
            said += [sentence for _, sentence in missing]
            raise PluginError("; ".join(said), hint=ways_out(problems, [text for text, _ in missing if text]))

    def providers(self, kind: RecordKind, name: str) -> tuple[PluginInfo, ...]:
        """Return the plugins that provide a record: none, one, or several that conflict."""
        table = self._table(kind)
        if name in table.conflicts:
            return tuple(plugin.info for plugin in table.conflicts[name])
        return (table.owners[name].info,) if name in table.owners else ()

    def project_info(self, kind: RecordKind, name: str, project: ConfiguredProject | None) -> ProjectInfo | None:
        """Return a project as the plugin sees it that provides a record."""
        from gert_core.plugin.config import project_info

        owners = self.providers(kind, name)
        return project_info(owners[0], project) if owners else None

    def provider_hint(self, kind: RecordKind, name: str) -> str:
        """Return which plugin would provide a missing record, installed but not active or not installed.

        What is not installed is only named: a command to install a name that was never checked is not to be followed.
        """
        table = self._table(kind)
        if name in table.conflicts:
            return conflict(kind, name, table.conflicts[name])
        provider = kinds.provider_of(kind, name)
        for info in self.plugins:
            if info.distribution == provider and info.state is not PluginState.ACTIVE:
                return f"plugin {info.label}, which by its name provides it, is {info.state}: {info.cause}"
        return would_be_called(provider)

    # -- inside ---------------------------------------------------------------------------------------------

    def _get(self, kind: RecordKind, name: str) -> Any:
        table = self._table(kind)
        if name in table.records:
            return table.records[name]
        if name in table.conflicts:
            raise PluginError(
                conflict(kind, name, table.conflicts[name]), kind=ErrorKind.CONFLICT, hint=ways_out(self.problems())
            )
        from gert_core.kit.nearest import nearest  # only mistakes need it

        near, hint = nearest(name, table.records), self.provider_hint(kind, name)
        if near:
            hint = f"did you mean {near!r}? {hint}"
        raise UnknownName(f"no installed plugin provides {kind.label} {name!r}", hint=hint)

    def _table(self, kind: RecordKind) -> Table:
        return self._tables[kind.word]

    @property
    def _tables(self) -> dict[str, Table]:
        with self._lock:
            return self._collected

    @property
    def _active(self) -> list[Plugin]:
        _ = self._tables
        return [plugin for plugin in self._plugins if plugin.hooks]

    @cached_property
    def _manager(self) -> Manager:
        from gert_core.plugin.loader import Manager

        return Manager()

    @cached_property
    def _plugins(self) -> list[Plugin]:
        from gert_core.plugin.loader import Plugin, load

        plugins = []
        for candidate in self.candidates:
            if candidate.key in self._decided:
                state, cause = self._decided[candidate.key]
                plugins.append(Plugin(candidate=candidate, state=state, cause=cause))
            elif candidate.group == GROUP:
                plugins.append(Plugin(candidate=candidate))
                load(self._manager, plugins[-1])
        for given in self._extra:
            plugins.append(Plugin(candidate=_candidate_for(given)))
            load(self._manager, plugins[-1], loaded=given)
        return sorted(plugins, key=lambda p: (p.candidate.name, p.candidate.distribution))

    @cached_property
    def _collected(self) -> dict[str, Table]:
        return collect(self._plugins)


def _candidate_for(given: object) -> Candidate:
    name = getattr(given, "__name__", type(given).__name__)
    distribution = normalise(name)
    named = distribution.removeprefix("gert-") if name.startswith("gert_") and "." not in name else name
    return Candidate(name=named, distribution=distribution, version="0", group=GROUP, target=name)


__all__ = ["Registry"]
