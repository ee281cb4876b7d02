"""file keeps to what every input resolver promises."""

from __future__ import annotations

import gert_input_file
import pytest

from gert_core.testing.conformance import InputResolverConformance


class TestFileConformance(InputResolverConformance):
    plugin = gert_input_file
    source = "file/host.txt"
    expected = "srv1"

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path):
        (tmp_path / "host.txt").write_text("srv1\n")
