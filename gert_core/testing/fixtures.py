"""The fixtures of the kit, isolated from installed plugins unless requested otherwise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from gert_core.plugin.registry import Registry
from gert_core.testing.fake_dist import FakeDist
from gert_core.testing.running import GertRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def gert_registry() -> Callable[..., Registry]:
    """Return a function that builds isolated registries: ``gert_registry(my_plugin_module)`` has that plugin alone.

    Keyword arguments go to ``Registry.build``; ``scan=None`` adds the installed plugins.
    """

    def build(*plugins: object, **options: Any) -> Registry:
        options.setdefault("scan", ())
        return Registry.build(extra_plugins=plugins, **options)

    return build


@pytest.fixture
def fake_dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDist]:
    """Provide an empty directory on ``sys.path`` for fake distributions; their modules are removed afterwards."""
    directory = tmp_path / "site"
    directory.mkdir()
    monkeypatch.syspath_prepend(str(directory))
    before = set(sys.modules)
    yield FakeDist(directory=directory)
    for name in set(sys.modules) - before:
        origin = getattr(sys.modules[name], "__file__", None) or ""
        if origin.startswith(str(directory)):
            del sys.modules[name]


@pytest.fixture
def gert_run(tmp_path: Path) -> GertRunner:
    """Return a runner with the installed plugins in a temporary directory: ``gert_run(text, inputs={...})``."""
    return GertRunner(directory=tmp_path, registry=Registry.build())


__all__ = ["fake_dist", "gert_registry", "gert_run"]
