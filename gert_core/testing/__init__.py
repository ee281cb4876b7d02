"""The kit for plugin authors: ``pytest_plugins = ["gert_core.testing"]`` gives its fixtures."""

from __future__ import annotations

from gert_core.testing.fake_dist import FakeDist
from gert_core.testing.fixtures import fake_dist, gert_registry, gert_run
from gert_core.testing.running import GertRunner, Ran, ScriptedConsole

__all__ = ["FakeDist", "GertRunner", "Ran", "ScriptedConsole", "fake_dist", "gert_registry", "gert_run"]
