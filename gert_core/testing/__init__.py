"""The kit for plugin authors: ``pytest_plugins = ["gert_core.testing"]`` gives its fixtures."""

from __future__ import annotations

from gert_core.engine.cancel import Deadline, Stop
from gert_core.testing.clock import FakeClock
from gert_core.testing.console import ScriptedConsole
from gert_core.testing.fake_dist import FakeDist
from gert_core.testing.findings import assert_valid
from gert_core.testing.fixtures import fake_dist, gert_registry, gert_run
from gert_core.testing.running import GertRunner, Ran

__all__ = [
    "Deadline",
    "FakeClock",
    "FakeDist",
    "GertRunner",
    "Ran",
    "ScriptedConsole",
    "Stop",
    "assert_valid",
    "fake_dist",
    "gert_registry",
    "gert_run",
]
