"""Imports, registers and questions plugins one by one, so that a faulty one harms nobody else."""

from __future__ import annotations

import inspect
import re
import traceback
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pluggy

from gert_core import hookspecs
from gert_core.plugin.kinds import KINDS
from gert_core.plugin.lazy import resolve
from gert_core.plugin.states import PluginInfo, PluginState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gert_core.plugin.discovery import Candidate
    from gert_core.plugin.kinds import Kind

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")


class Manager(pluggy.PluginManager):
    """pluggy's manager with one way to find implementations, the same with every version of pluggy.

    Properties and ``__getattr__`` are not evaluated: only functions a module or class really holds are hooks.
    """

    def __init__(self) -> None:
        super().__init__("gert")
        self.add_hookspecs(hookspecs)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        held = inspect.getattr_static(plugin, name, None)
        function = getattr(held, "__func__", held)
        if not inspect.isfunction(function):
            return None
        options = getattr(function, "gert_impl", None) or getattr(held, "gert_impl", None)
        return options if isinstance(options, dict) else None


@dataclass(slots=True, kw_only=True, eq=False)
class Plugin:
    """A candidate on its way: what became of it and the records it gave."""

    candidate: Candidate
    state: PluginState = PluginState.ACTIVE
    cause: str = ""
    records: dict[str, list[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Parts of it that were left out although the plugin is active."""

    @property
    def info(self) -> PluginInfo:
        """The facts for display."""
        return PluginInfo(
            name=self.candidate.name,
            distribution=self.candidate.distribution,
            version=self.candidate.version,
            entry_point=f"{self.candidate.group}: {self.candidate.name} = {self.candidate.target}",
            state=self.state,
            cause=self.cause,
        )

    def fail(self, cause: str) -> None:
        """Make it BROKEN and drop what it gave."""
        self.state, self.cause = PluginState.BROKEN, cause
        self.records.clear()


class Fault(Exception):  # noqa: N818 - a sentence on its way to ``Plugin.cause``
    """What is wrong with a plugin, said in words (no position is needed)."""


def load(manager: Manager, plugin: Plugin, *, loaded: object = None) -> None:
    """Import, register and question one plugin; every fault ends in its state, never in an exception."""
    key = plugin.candidate.key
    try:
        found = loaded if loaded is not None else _import(plugin.candidate.target)
        manager.register(found, name=key)
        _inspect(manager, found)
        for kind in KINDS:
            _collect(manager, plugin, kind)
    except (Exception, SystemExit) as exc:
        plugin.fail(describe(exc, plugin.candidate.target))
        if manager.has_plugin(key):  # pluggy up to 1.6 leaves a half-registered plugin behind
            manager.unregister(name=key)


def call(manager: Manager, plugin: Plugin, hook: str, **arguments: Any) -> list[Any]:
    """What one plugin's implementation of a hook gives; generators are consumed here, inside the caller's guard."""
    given: list[Any] = []
    for function in implementations(manager, plugin, hook):
        parameters = inspect.signature(function).parameters
        answer = function(**{name: value for name, value in arguments.items() if name in parameters})
        if answer is None:
            continue
        if isinstance(answer, str | bytes) or not hasattr(answer, "__iter__"):
            raise Fault(f"{hook} returned {_kind_of(answer)} instead of a list of records")
        given.extend(answer)
    return given


def implementations(manager: Manager, plugin: Plugin, hook: str) -> list[Any]:
    """The functions with which a plugin implements a hook (none or one)."""
    caller = getattr(manager.hook, hook)
    return [impl.function for impl in caller.get_hookimpls() if impl.plugin_name == plugin.candidate.key]


def describe(exc: BaseException, target: str) -> str:
    """One line: what happened and the last place inside the plugin where it happened."""
    if isinstance(exc, Fault):
        return str(exc)
    said = " ".join(str(exc).split())
    text = f"{type(exc).__name__}: {said}" if said else type(exc).__name__
    if isinstance(exc, SyntaxError) and exc.filename:
        return f"{type(exc).__name__}: {exc.msg} at {exc.filename}:{exc.lineno}"
    package = target.partition(":")[0].partition(".")[0]
    place = ""
    for frame, line in traceback.walk_tb(exc.__traceback__):
        if frame.f_globals.get("__name__", "").partition(".")[0] == package:
            place = f" at {frame.f_code.co_filename}:{line}"
    return text + place


def _import(target: str) -> object:
    module, _, attribute = target.partition(":")
    found: object = import_module(module)
    for part in attribute.split(".") if attribute else ():
        found = getattr(found, part)
    return found


def _inspect(manager: Manager, found: object) -> None:
    """Refuse what pluggy would accept silently: unknown hooks, wrappers, a plugin without any hook."""
    callers = manager.get_hookcallers(found) or []
    known = [name for name in vars(hookspecs) if name.startswith("gert_")]
    for caller in callers:
        mine = [impl for impl in caller.get_hookimpls() if impl.plugin is found]
        if not caller.has_spec() and not all(impl.optionalhook for impl in mine):
            close = get_close_matches(caller.name, known, n=1)
            raise Fault(f"implements unknown hook {caller.name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
        if any(impl.wrapper or impl.hookwrapper for impl in mine):
            raise Fault(f"{caller.name} is a wrapper; gert has no wrappers, return records instead")
    if not callers:
        raise Fault("implements no hook; mark its functions with @gert_core.hookimpl")


def _collect(manager: Manager, plugin: Plugin, kind: Kind) -> None:
    if not implementations(manager, plugin, kind.hook):
        return
    try:
        records = call(manager, plugin, kind.hook)
        _check(records, kind)
    except Exception as exc:
        if not kind.optional:
            raise
        plugin.notes.append(f"its {kind.label}s are left out: {describe(exc, plugin.candidate.target)}")
        return
    plugin.records[kind.word] = records


def _check(records: Sequence[Any], kind: Kind) -> None:
    record_class = resolve(kind.record)
    names: set[str] = set()
    for record in records:
        if not isinstance(record, record_class):
            raise Fault(f"{kind.hook} gave {_kind_of(record)} instead of {record_class.__name__}")
        name = getattr(record, kind.key)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise Fault(f"{kind.hook} gave the {kind.key} {name!r}; use lower-case letters, digits, '-' and '_'")
        if name in names:
            raise Fault(f"{kind.hook} gave {kind.label} {name!r} twice")
        names.add(name)


def _kind_of(value: object) -> str:
    return f"a {type(value).__name__}"


__all__ = ["Fault", "Manager", "Plugin", "call", "describe", "implementations", "load"]
