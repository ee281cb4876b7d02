"""Conformance tests of the checks that plugins add to ``gert doctor``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from gert_core.api.checks import CHECK_SECONDS, CheckResult, CheckServices
from gert_core.engine.cancel import Deadline, Stop
from gert_core.plugin.lazy import load_target
from gert_core.plugin.registry import Registry
from gert_core.testing.cases import PluginConformance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gert_core.api import Check, RunStore


class CheckConformance(PluginConformance):
    """The tests of the checks of a plugin; set ``plugin``, and ``applies``, the names of those that apply.

    ``store`` returns the store of runs that they are given; override it for checks of a store.
    """

    applies: ClassVar[Sequence[str]] = ()

    def store(self, tmp_path: Path) -> RunStore | None:
        """Return the store of runs."""
        return None

    def checks(self) -> list[Check]:
        """Return the checks that the plugin gives outside of a project."""
        ((_, found, fault),) = Registry.build(scan=(), extra_plugins=[self.plugin]).checks(None)
        assert not fault, f"gert_checks: {fault}"
        return list(found)

    def run(self, check: Check, tmp_path: Path, *, bare: bool = False) -> CheckResult | None:
        """Run a check as gert does; ``bare``: without a project and a store."""
        services = self.services(tmp_path)
        given = CheckServices(
            deadline=Deadline(Stop(), CHECK_SECONDS),
            project=None if bare else services.project,
            config={} if bare else services.config,
            environ=services.environ,
            store=None if bare else self.store(tmp_path),
        )
        began = time.monotonic()
        found: CheckResult | None = load_target(check.run)(given)
        assert time.monotonic() - began < CHECK_SECONDS, f"{check.name} takes too long"
        assert found is None or isinstance(found, CheckResult), f"{check.name} gave {found!r}"
        return found

    def test_every_check_says_what_it_found(self, tmp_path: Path) -> None:
        found = {check.name: self.run(check, tmp_path) for check in self.checks()}
        assert set(self.applies) <= set(found), f"the plugin gives {', '.join(found) or 'no checks'}"
        for name, result in found.items():
            assert result is not None or name not in self.applies, f"{name} found nothing to check"
            if result is not None:
                assert result.status in ("ok", "warn", "fail"), f"{name}: {result.status!r}"
                assert result.message.strip(), f"{name}: say what was found"
                assert result.status == "ok" or result.hint.strip(), f"{name}: say what to do about it"

    def test_without_a_project_or_a_store_no_check_raises(self, tmp_path: Path) -> None:
        for check in self.checks():
            self.run(check, tmp_path, bare=True)


__all__ = ["CheckConformance"]
