"""Collect the records of plugins by kind and name, and take away what several of them claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gert_core.plugin.claims import contested
from gert_core.plugin.kinds import KINDS, NOTIFIER, STEP, STORE, TRANSPORT
from gert_core.plugin.states import PluginState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.plugin.kinds import RecordKind
    from gert_core.plugin.loader import Plugin


class Table:
    """The records of one kind: usable ones by name, and the names that several plugins claim."""

    __slots__ = ("conflicts", "owners", "records")

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}
        self.owners: dict[str, Plugin] = {}
        self.conflicts: dict[str, list[Plugin]] = {}


def collect(plugins: Sequence[Plugin]) -> dict[str, Table]:
    """Return a table for each kind; plugins that claim the same name become CONFLICTING and the name is not used."""
    tables = {}
    for kind in KINDS:
        table = tables[kind.word] = Table()
        claims: dict[str, list[tuple[Plugin, object]]] = {}
        for plugin in plugins:
            for record in plugin.records.get(kind.word, ()):
                claims.setdefault(getattr(record, kind.key), []).append((plugin, record))
        for name, claimed in claims.items():
            if len(claimed) == 1:
                table.owners[name], table.records[name] = claimed[0]
                continue
            rivals = table.conflicts[name] = [plugin for plugin, _ in claimed]
            for plugin in rivals:
                if kind.optional:
                    plugin.notes.append(conflict(kind, name, rivals))
                else:
                    plugin.state, plugin.cause = PluginState.CONFLICTING, conflict(kind, name, rivals)
    _drop_contested_claims(tables[STEP.word])
    _drop_rival_defaults(tables[TRANSPORT.word])
    _drop_rival_schemes(tables[STORE.word])
    _drop_rival_keys(tables[NOTIFIER.word])
    return tables


def conflict(kind: RecordKind, name: str, rivals: Sequence[Plugin]) -> str:
    """Return the message about a name that several plugins provide."""
    who = " and ".join(map(_version, rivals))
    all_, none, others = ("both", "neither", "one") if len(rivals) < 3 else ("all", "none", "all but one")
    return f"{who} {all_} provide {kind.label} {name!r}, so {none} is used; uninstall or block {others} of them"


def _drop_contested_claims(table: Table) -> None:
    """Remove every claim to a field that several step types claim, and make their plugins CONFLICTING."""
    for path, names in contested(table.records).items():
        rivals = [table.owners[name] for name in names]
        words = " and ".join(f"{name!r} of {_version(table.owners[name])}" for name in names)
        for name, plugin in zip(names, rivals, strict=True):
            table.records[name] = replace(table.records[name], claims="")
            plugin.state = PluginState.CONFLICTING
            plugin.cause = (
                f"the step types {words} claim the field {path!r} of other steps, so none gets it; "
                "uninstall or block all but one of them"
            )


def _drop_rival_defaults(table: Table) -> None:
    """Let no transport be the default when several want to be, and make their plugins CONFLICTING."""
    names = sorted(name for name, record in table.records.items() if record.default)
    if len(names) < 2:
        return
    words = " and ".join(f"{name!r} of {_version(table.owners[name])}" for name in names)
    for name in names:
        plugin = table.owners[name]
        table.records[name] = replace(table.records[name], default=False)
        plugin.state = PluginState.CONFLICTING
        plugin.cause = (
            f"the transports {words} are each the default for tools that name none, so none is; "
            "uninstall or block all but one of them"
        )


def _drop_rival_schemes(table: Table) -> None:
    """Let no store have a scheme that several want, and make their plugins CONFLICTING."""
    wanted: dict[str, list[str]] = {}
    for name, record in table.records.items():
        for scheme in record.schemes:
            wanted.setdefault(scheme, []).append(name)
    for scheme, names in wanted.items():
        if len(names) < 2:
            continue
        rivals = [table.owners[name] for name in names]
        for name, plugin in zip(names, rivals, strict=True):
            table.records.pop(name, None)
            plugin.state, plugin.cause = PluginState.CONFLICTING, conflict(STORE, f"{scheme}:", rivals)


def _drop_rival_keys(table: Table) -> None:
    """Leave out notifiers that want the same field of a rule; a run does not depend on them."""
    wanted: dict[str, list[str]] = {}
    for name, record in table.records.items():
        for key in record.keys:
            wanted.setdefault(key, []).append(name)
    for key, names in wanted.items():
        if len(names) < 2:
            continue
        rivals = [table.owners[name] for name in names]
        for name, plugin in zip(names, rivals, strict=True):
            table.records.pop(name, None)
            plugin.notes.append(conflict(NOTIFIER, f"{key}:", rivals))


def _version(plugin: Plugin) -> str:
    return f"{plugin.candidate.distribution} {plugin.candidate.version}"


__all__ = ["Table", "collect", "conflict"]
