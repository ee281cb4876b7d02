"""Tests that need a browser run only in the nox session ``browser``, which says so in the environment."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("GERT_BROWSER") else ["test_*.py"]
