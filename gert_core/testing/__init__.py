"""The kit for plugin authors: ``pytest_plugins = ["gert_core.testing"]`` gives its fixtures."""

from __future__ import annotations

from gert_core.testing.fake_dist import FakeDist
from gert_core.testing.fixtures import fake_dist, gert_registry

__all__ = ["FakeDist", "fake_dist", "gert_registry"]
