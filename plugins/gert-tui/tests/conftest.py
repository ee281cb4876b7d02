"""A directory with stand-in programs, in which the tests work."""

from __future__ import annotations

import pytest
from hosting import Lab


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "GERT_ACTOR", "GERT_STORE"):
        monkeypatch.delenv(name, raising=False)
    lab = Lab(tmp_path)
    yield lab
    for name in ("go", "stop"):
        lab.path(name).touch()
    lab.close()
