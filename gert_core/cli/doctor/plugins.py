"""Run the checks that plugins add; one that fails, hangs, exits or gives something else is a failure of its own."""

from __future__ import annotations

import threading
import time
from copy import deepcopy
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api.checks import CHECK_SECONDS, CheckResult, CheckServices
from gert_core.cli.doctor import Checked, fail
from gert_core.engine.cancel import Deadline, Stop
from gert_core.plugin.advice import ways_out
from gert_core.plugin.config import project_info
from gert_core.plugin.functions import Unusable, a_kind_of, cause
from gert_core.plugin.kinds import APPROVAL
from gert_core.plugin.lazy import load_target
from gert_core.plugin.printing import aside
from gert_core.secrets.collect import withheld
from gert_core.secrets.environ import own_secrets
from gert_core.secrets.masker import Masker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Check, RunStore
    from gert_core.documents.project import Project
    from gert_core.plugin.registry import Registry
    from gert_core.plugin.states import PluginInfo

_STATUSES: Final = ("ok", "warn", "fail")
_GRACE: Final = 1.0
"""Seconds in which a check that keeps to its deadline can still say what it found."""


class _Running:
    """One check in a thread of its own, so that no other waits for one that hangs."""

    def __init__(self, plugin: PluginInfo, check: Check, services: CheckServices) -> None:
        self.plugin, self.check = plugin, check
        self._services = services
        self._found: CheckResult | None = None
        self._fault = ""
        self._thread = threading.Thread(target=self._run, name=f"gert-check-{check.name}", daemon=True)
        try:
            self._thread.start()
        except (RuntimeError, MemoryError) as error:
            self._fault = f"no thread can be started for it: {error}"

    def result(self, until: float) -> CheckResult | None:
        """Wait for the result until then; raise ``Unusable`` with what became of the check instead."""
        if not self._fault:
            self._thread.join(max(until - time.monotonic(), 0))
            if self._thread.is_alive():
                raise Unusable(f"it did not end within {CHECK_SECONDS:g} seconds")
        if self._fault:
            raise Unusable(self._fault)
        return self._found

    def _run(self) -> None:
        try:
            with aside():
                self._found = _usable(load_target(self.check.run)(self._services))
        except BaseException as error:  # also SystemExit: a check that exits has not said that all is well
            self._fault = cause([self.plugin], error)


def check_by_plugins(
    registry: Registry | None, project: Project | None, environ: Mapping[str, str], store: RunStore | None
) -> list[Checked]:
    """Return what the checks of all plugins found, by plugin and name; all of them together have ten seconds."""
    given = [] if registry is None else registry.checks(project)
    if not given:
        return []
    mask = _masker(project, environ, store).mask_text
    stop, until = Stop(), time.monotonic() + CHECK_SECONDS + _GRACE
    wanted = "" if project is None else project.model.approvals.provider or ""
    owners = () if registry is None else registry.providers(APPROVAL, wanted)
    running: list[_Running | Checked] = []
    for plugin, checks, fault in given:
        info = project_info(plugin, project)
        services = CheckServices(
            deadline=Deadline(stop, CHECK_SECONDS),
            project=info,
            config={} if info is None else info.config,
            environ=environ,
            store=store,
            approvals=wanted,
        )
        if project is not None and plugin in owners:
            services = replace(services, config={**services.config, **deepcopy(dict(project.approval_config))})
        running += [_Running(plugin, check, services) for check in checks]
        if fault:
            running.append(_failed(plugin, plugin.name, f"cannot give its checks: {fault}"))
    found = [one if isinstance(one, Checked) else _ended(one, until) for one in running]
    stop.throw("the checks are over")
    return [
        Checked(check=mask(one.check), status=one.status, message=mask(one.message), hint=mask(one.hint))
        for one in found
        if one is not None
    ]


def _ended(running: _Running, until: float) -> Checked | None:
    name = f"{running.plugin.name}/{running.check.name}"
    try:
        found = running.result(until)
    except Unusable as fault:
        return _failed(running.plugin, name, f"failed in this check: {fault}")
    if found is None:
        return None
    return Checked(check=name, status=found.status, message=found.message, hint=found.hint)


def _failed(plugin: PluginInfo, name: str, what: str) -> Checked:
    return fail(name, f"plugin {plugin.label} {what}", ways_out([plugin]))


def _usable(given: object) -> CheckResult | None:
    """Return what a check gave; raise ``Unusable`` for what is not a result."""
    if given is None:
        return None
    if not isinstance(given, CheckResult):
        raise Unusable(f"it gave {a_kind_of(given)} instead of CheckResult")
    if given.status not in _STATUSES:
        raise Unusable(f"its status is {given.status!r}, not one of {', '.join(_STATUSES)}")
    if not isinstance(given.message, str) or not isinstance(given.hint, str) or not given.message.strip():
        raise Unusable("its message is not a sentence")
    return given


def _masker(project: Project | None, environ: Mapping[str, str], store: RunStore | None) -> Masker:
    """Return what hides secrets in the words of plugins: gert's keys, the store's password and tokens of providers."""
    hidden = own_secrets(environ, () if store is None else store.secrets)
    hidden |= {name: environ[name] for name in withheld(project) if environ.get(name)}
    return Masker({}, always=hidden)


__all__ = ["check_by_plugins"]
