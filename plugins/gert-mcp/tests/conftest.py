"""A project that is served."""

from __future__ import annotations

import pytest
from agents import Project


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    yield made
    made.close()
