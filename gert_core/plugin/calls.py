"""Call the hooks that take an argument: policies, diagnostics, checks and trace observers, plugin by plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from gert_core.api.diagnostics import Diagnostic
from gert_core.api.errors import PluginError
from gert_core.plugin.advice import ways_out
from gert_core.plugin.config import project_info
from gert_core.plugin.ctrl_c import pass_on
from gert_core.plugin.kinds import CHECKS_HOOK, DIAGNOSTICS_HOOK, OBSERVER_HOOK, POLICIES_HOOK
from gert_core.plugin.loader import Fault, call, check_name, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pluggy import HookImpl

    from gert_core.api.checks import Check
    from gert_core.api.events import TraceEvent
    from gert_core.api.views import RunbookView
    from gert_core.plugin.config import ConfiguredProject
    from gert_core.plugin.loader import Plugin
    from gert_core.plugin.states import PluginInfo

    Given = tuple[PluginInfo, tuple[Check, ...], str]

_Record = TypeVar("_Record")


def policy_packs(plugin: Plugin, project: ConfiguredProject | None, record: type[_Record]) -> list[_Record]:
    """Return one plugin's policy packs; raise ``PluginError`` for any error, because guards fail closed."""
    try:
        return _checked(call(plugin, POLICIES_HOOK, project=project_info(plugin.info, project)), record, POLICIES_HOOK)
    except BaseException as exc:  # also SystemExit: a guard that exits must not end the command as if it were done
        pass_on(exc)
        cause = describe(exc, plugin.candidate.target)
        raise PluginError(
            f"plugin {plugin.info.label} cannot provide its policies: {cause}", hint=ways_out([plugin.info])
        ) from exc


def diagnostics(plugins: Sequence[Plugin], runbook: RunbookView, project: ConfiguredProject | None) -> list[Diagnostic]:
    """Return every plugin's findings; one that raises is reported as rule ``plugin-failed``."""
    found: list[Diagnostic] = []
    for plugin in plugins:
        try:
            given = call(plugin, DIAGNOSTICS_HOOK, runbook=runbook, project=project_info(plugin.info, project))
            found += _checked(given, Diagnostic, DIAGNOSTICS_HOOK)
        except BaseException as exc:
            pass_on(exc)
            cause = describe(exc, plugin.candidate.target)
            found.append(
                Diagnostic(
                    rule="plugin-failed",
                    message=f"plugin {plugin.info.label} could not check the runbook: {cause}",
                    hint=ways_out([plugin.info]),
                )
            )
    return sorted(found, key=lambda d: (d.file or "", d.line or 0, d.column or 0, d.rule, d.path, d.message))


def checks(plugins: Sequence[Plugin], project: ConfiguredProject | None) -> list[Given]:
    """Return by plugin the checks it gives, and what is wrong with how it gives them."""
    return [_given_checks(plugin, project) for plugin in plugins if CHECKS_HOOK in plugin.hooks]


def _given_checks(plugin: Plugin, project: ConfiguredProject | None) -> Given:
    from gert_core.api.checks import Check

    try:
        given = _checked(call(plugin, CHECKS_HOOK, project=project_info(plugin.info, project)), Check, CHECKS_HOOK)
        names = [check.name for check in given]
        for name in names:
            check_name(name, CHECKS_HOOK, "name")
            if names.count(name) > 1:
                raise Fault(f"{CHECKS_HOOK} gave check {name!r} twice")
    except BaseException as exc:  # also SystemExit: what it would have found is not known
        pass_on(exc)
        return plugin.info, (), describe(exc, plugin.candidate.target)
    return plugin.info, tuple(given), ""


def observers(plugins: Sequence[Plugin], mode: str) -> list[tuple[str, Callable[[TraceEvent], None]]]:
    """Return the trace observers of a run in this mode by plugin; the writer calls them and drops one that raises."""
    return [
        (plugin.info.label, _observer(plugin.hooks[OBSERVER_HOOK], mode))
        for plugin in plugins
        if OBSERVER_HOOK in plugin.hooks
    ]


def _observer(impl: HookImpl, mode: str) -> Callable[[TraceEvent], None]:
    """Return a function that gives an implementation the arguments it takes."""
    taken = (*impl.argnames, *impl.kwargnames)
    fixed = {"mode": mode} if "mode" in taken else {}
    if "event" in taken:
        return lambda event: cast("None", impl.function(event=event, **fixed))
    return lambda event: cast("None", impl.function(**fixed))


def _checked(given: list[object], record: type[_Record], hook: str) -> list[_Record]:
    for item in given:
        if not isinstance(item, record):
            raise Fault(f"{hook} gave a {type(item).__name__} instead of {record.__name__}")
    return cast("list[_Record]", given)


__all__ = ["checks", "diagnostics", "observers", "policy_packs"]
