"""The part that all conformance classes share: the plugin, its records and the services it is given."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pytest

from gert_core.api import ProjectInfo, Services
from gert_core.plugin.registry import Registry
from gert_core.plugin.states import PluginState
from gert_core.stores.directory import DirectoryRun
from gert_core.testing.console import ScriptedConsole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api import Json
    from gert_core.plugin.kinds import RecordKind
    from gert_core.testing.console import Answers

HEAVY: Final = ("pydantic", "jinja2", "typer", "jsonschema", "yaml", "asyncio", "cryptography", "subprocess")


def records(plugin: object, kind: RecordKind) -> list[Any]:
    """Return the records of one kind as gert collects them from a plugin; fail with the cause if it is not usable."""
    registry = Registry.build(scan=(), extra_plugins=[plugin])
    (info,) = registry.plugins
    if info.state is not PluginState.ACTIVE:
        pytest.fail(f"the plugin is {info.state}: {info.cause}")
    found = registry.records(kind)
    if not found:
        said = "; ".join(registry.warnings()) or f"{kind.hook} is missing or returned none"
        pytest.fail(f"the plugin provides no {kind.label}: {said}")
    return list(found.values())


class PluginConformance:
    """The tests every plugin must pass; set ``plugin``, its module or object.

    Where a plugin registers several records of one kind, ``name`` chooses the one to test. ``config`` is the plugin's
    own part of ``plugins.config``, ``environ`` the environment. ``answers`` are the lines a person types in this order,
    or a map from a part of the question to the answer.
    """

    plugin: ClassVar[Any]
    name: ClassVar[str] = ""
    config: ClassVar[Mapping[str, Json]] = {}
    environ: ClassVar[Mapping[str, str]] = {}
    answers: ClassVar[Answers] = ()

    def record(self, kind: RecordKind) -> Any:
        """Return the record to test: the one called ``name``, or the first."""
        found = records(self.plugin, kind)
        named = [record for record in found if self.name in ("", getattr(record, kind.key))]
        if not named:
            pytest.fail(f"the plugin has no {kind.label} {self.name!r}")
        return named[0]

    def services(self, tmp_path: Path) -> Services:
        """Return the services that the core would give to the plugin."""
        project = ProjectInfo(
            root=tmp_path, tools_dir=tmp_path / "tools", runs_dir=tmp_path / "runs", config=dict(self.config)
        )
        return Services(
            console=ScriptedConsole(self.answers),
            run_id="r1",
            run=DirectoryRun(tmp_path),
            run_dir=tmp_path,
            project=project,
            actor="tester",
            environ=dict(self.environ),
            config=dict(self.config),
        )

    def test_the_entry_module_imports_nothing_heavy(self) -> None:
        module = self.plugin.__name__ if inspect.ismodule(self.plugin) else self.plugin.__module__
        code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environ)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "[]", f"{module} imports more than the standard library and gert_core.api"


__all__ = ["PluginConformance", "records"]
