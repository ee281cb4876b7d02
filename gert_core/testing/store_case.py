"""What the conformance tests of run stores share: the store, opened twice, and the lease of a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, Final

import pytest

from gert_core.api import StoreServices
from gert_core.plugin.kinds import STORE
from gert_core.plugin.lazy import load_target
from gert_core.testing.cases import PluginConformance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api import Lease, RunStore, StoredRun

TTL: Final = 30.0
"""The seconds for which tests acquire a lease."""
META: Final = {"meta.json": b'{"run_id": "r1"}\n'}
"""The first blob of a run."""


class StoreCase(PluginConformance):
    """What the tests of a store share: set ``plugin``, and return an address from ``url``."""

    expires: ClassVar[bool] = True
    """Whether a lease ends by time; that of a store which locks files ends with its process."""

    def url(self, tmp_path: Path) -> str:
        """Return the address of an empty store for one test."""
        raise NotImplementedError

    def opener(self) -> str:
        """Return the function that opens the store, as ``module:name``; other processes call it too."""
        found = self.record(STORE).open
        assert isinstance(found, str), "give open as 'module:function'"
        return found

    def open_store(self, tmp_path: Path) -> RunStore:
        """Open the store of a test; every call is as if another process opened it."""
        services = StoreServices(root=tmp_path, environ=dict(os.environ), config=dict(self.config))
        found: RunStore = load_target(self.opener())(self.url(tmp_path), services)
        return found

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[RunStore]:
        """Return the store of a test, which is closed behind it."""
        found = self.open_store(tmp_path)
        yield found
        found.close()

    @pytest.fixture
    def other(self, tmp_path: Path) -> Iterator[RunStore]:
        """Return the same store opened a second time."""
        found = self.open_store(tmp_path)
        yield found
        found.close()

    def held(self, run: StoredRun, worker: str = "w1", ttl: float = TTL) -> Lease:
        """Return the lease of a run that is free."""
        lease = run.acquire(worker, ttl)
        assert lease is not None
        return lease


__all__ = ["META", "TTL", "StoreCase"]
