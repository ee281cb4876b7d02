"""Import plugins, register them and call their hooks one by one, so that an error in one does not affect others."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from itertools import islice
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import pluggy
from msgspec import Struct, field

from gert_core import hookspecs
from gert_core.kit.excerpts import shorten
from gert_core.kit.log import debug
from gert_core.plugin.claims import faulty_claim, faulty_keys, faulty_schemes, faulty_words
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.kinds import KINDS, NOTIFIER, OBSERVER_HOOK, STEP, STORE
from gert_core.plugin.lazy import load_target
from gert_core.plugin.printing import aside
from gert_core.plugin.states import PluginInfo, PluginState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.plugin.discovery import Candidate
    from gert_core.plugin.kinds import RecordKind

MOST: Final = 100_000
"""The most records that one hook of a plugin gives: an iterator that never ends would take all memory."""
LONGEST: Final = 2000
"""How much is shown of what an exception of a plugin says."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")


class Manager(pluggy.PluginManager):
    """pluggy's manager with one way to find implementations, the same with every version of pluggy.

    Properties and ``__getattr__`` are not evaluated: only functions that a module or class really has are hooks.
    """

    def __init__(self) -> None:
        super().__init__("gert")
        self.add_hookspecs(hookspecs)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        # Asked about every attribute of every plugin, so without the functions of ``inspect`` where it is a module.
        is_module = isinstance(plugin, ModuleType)
        held = vars(plugin).get(name) if is_module else inspect.getattr_static(plugin, name, None)
        function = getattr(held, "__func__", held)
        if not isinstance(function, FunctionType):
            return None
        options = getattr(function, "gert_impl", None) or getattr(held, "gert_impl", None)
        return options if isinstance(options, dict) else None

    def implementations(self, plugin: object) -> dict[str, pluggy.HookImpl]:
        """Return what a registered plugin implements, by hook name."""
        found = {}
        for attribute in dir(plugin):
            options = None if attribute.startswith("__") else self.parse_hookimpl_opts(plugin, attribute)
            if options is not None:
                hook = options.get("specname") or attribute
                # The newest implementation is the last, so this ends at once however many plugins there are.
                registered = reversed(getattr(self.hook, hook).get_hookimpls())
                found[hook] = next(impl for impl in registered if impl.plugin is plugin)
        return found


class Plugin(Struct, kw_only=True, eq=False):
    """A candidate while it is loaded: its state and its records."""

    candidate: Candidate
    state: PluginState = PluginState.ACTIVE
    cause: str = ""
    hooks: dict[str, pluggy.HookImpl] = field(default_factory=dict)
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
        """Make it BROKEN and drop its records."""
        self.state, self.cause = PluginState.BROKEN, cause
        self.hooks.clear()
        self.records.clear()


class Fault(Exception):  # noqa: N818 - a sentence on its way to ``Plugin.cause``
    """An error of a plugin as a sentence, without a position."""


def load(manager: Manager, plugin: Plugin, *, loaded: object = None) -> None:
    """Import and register one plugin and collect its records; errors become its state, never an exception."""
    key = plugin.candidate.key
    try:
        with aside():
            found = loaded if loaded is not None else _import(plugin.candidate.target)
            manager.register(found, name=key)
            plugin.hooks = manager.implementations(found)
            _inspect(plugin.hooks)
            for kind in KINDS:
                if kind.hook in plugin.hooks:
                    _collect(plugin, kind)
        debug("plugin", "loaded plugin %s: %s", plugin.candidate.name, ", ".join(plugin.hooks))
    except BaseException as exc:
        pass_on(exc)
        plugin.fail(describe(exc, plugin.candidate.target))
        debug("plugin", "plugin %s is broken: %s", plugin.candidate.name, plugin.cause)
        if manager.has_plugin(key):  # pluggy up to 1.6 leaves a half-registered plugin behind
            manager.unregister(name=key)


def call(plugin: Plugin, hook: str, **arguments: object) -> list[object]:
    """Return the records of one plugin's implementation of a hook; generators are consumed here."""
    impl = plugin.hooks.get(hook)
    if impl is None:
        return []
    wanted = (*impl.argnames, *impl.kwargnames)
    with aside():
        answer = impl.function(**{name: value for name, value in arguments.items() if name in wanted})
        if answer is None:
            return []
        if isinstance(answer, str | bytes) or not hasattr(answer, "__iter__"):
            raise Fault(f"{hook} returned {_kind_of(answer)} instead of a list of records")
        records = list(islice(answer, MOST + 1))
    if len(records) > MOST:
        raise Fault(f"{hook} gave more than {MOST:,} records")
    return records


def describe(exc: BaseException, target: str) -> str:
    """Return one line: what happened, and the last place inside the plugin where it happened."""
    if isinstance(exc, Fault):
        return str(exc)
    text = saying(exc)
    if isinstance(exc, SyntaxError) and exc.filename:
        return f"{type(exc).__name__}: {exc.msg} at {exc.filename}:{exc.lineno}"
    package = target.partition(":")[0].partition(".")[0]
    place = ""
    at = exc.__traceback__
    while at is not None:
        if at.tb_frame.f_globals.get("__name__", "").partition(".")[0] == package:
            place = f" at {at.tb_frame.f_code.co_filename}:{at.tb_lineno}"
        at = at.tb_next
    return text + place


def saying(exc: BaseException) -> str:
    """Return name and text of an exception in one line; that of a plugin may fail, or exit, when it is asked for."""
    try:
        said = shorten(" ".join(str(exc).split()), LONGEST)
    except BaseException as error:
        pass_on(error)
        said = ""
    return f"{type(exc).__name__}: {said}" if said else type(exc).__name__


def _import(target: str) -> object:
    module, _, attribute = target.partition(":")
    found: object = import_module(module)
    for part in attribute.split(".") if attribute else ():
        found = getattr(found, part)
    return found


def _inspect(hooks: Mapping[str, pluggy.HookImpl]) -> None:
    """Raise for what pluggy would accept silently: unknown hooks, wrappers, a plugin without any hook."""
    for name, impl in hooks.items():
        if not hasattr(hookspecs, name) and not impl.optionalhook:
            from gert_core.kit.nearest import nearest  # only mistakes need it

            near = nearest(name, [known for known in vars(hookspecs) if known.startswith("gert_")])
            raise Fault(f"implements unknown hook {name!r}" + (f"; did you mean {near!r}?" if near else ""))
        if impl.wrapper or impl.hookwrapper:
            raise Fault(f"{name} is a wrapper; gert has no wrappers, return records instead")
        if inspect.iscoroutinefunction(impl.function) or inspect.isasyncgenfunction(impl.function):
            raise Fault(f"{name} is an async function; hooks are plain functions that return or yield")
        if name == OBSERVER_HOOK and inspect.isgeneratorfunction(impl.function):
            raise Fault(f"{name} is a generator function, so its body would never run; it returns nothing")
    if not hooks:
        raise Fault("implements no hook; mark its functions with @gert_core.hookimpl")


def _collect(plugin: Plugin, kind: RecordKind) -> None:
    try:
        records = call(plugin, kind.hook)
        _check(records, kind)
    except BaseException as exc:
        pass_on(exc)
        if not kind.optional:
            raise
        plugin.notes.append(f"its {kind.label}s are left out: {describe(exc, plugin.candidate.target)}")
        return
    plugin.records[kind.word] = records


def check_name(name: object, hook: str, key: str) -> None:
    """Raise ``Fault`` for a name that could not be told apart from other words where it is shown."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Fault(f"{hook} gave the {key} {name!r}; use lower-case letters, digits, '-' and '_'")


def _check(records: Sequence[Any], kind: RecordKind) -> None:
    record_class = load_target(kind.record)
    names: set[str] = set()
    for given in records:
        if not isinstance(given, record_class):
            raise Fault(f"{kind.hook} gave {_kind_of(given)} instead of {record_class.__name__}")
        name = getattr(given, kind.key)
        check_name(name, kind.hook, kind.key)
        if name in names:
            raise Fault(f"{kind.hook} gave {kind.label} {name!r} twice")
        names.add(name)
    if kind is STORE and (fault := faulty_schemes(records)) is not None:
        raise Fault(fault)
    if kind is NOTIFIER and (fault := faulty_keys(records)) is not None:
        raise Fault(fault)
    if kind is STEP and (fault := faulty_claim(records) or faulty_words(records)) is not None:
        raise Fault(fault)


def _kind_of(value: object) -> str:
    return f"a {type(value).__name__}"


__all__ = ["Fault", "Manager", "Plugin", "call", "check_name", "describe", "load", "saying"]
