"""A project that is served."""

from __future__ import annotations

import pytest
from webs import WebLab


@pytest.fixture
def lab(tmp_path):
    made = WebLab(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One server for tests that change nothing of it: a lab, a ticket of olga's that waits, and a browser of alice's."""
    made = WebLab(tmp_path_factory.mktemp("served"))
    made.gated()
    ticket = made.pending()
    with made.web() as server:
        yield made, ticket, server, server.browser()
    made.close()
