"""Provider programs as a source of inputs: the tests every source passes."""

from __future__ import annotations

import os
import sys

import gert_input_provider
import pytest
from msgspec.structs import replace

from gert_core.api import ProviderInfo
from gert_core.testing.conformance import InputResolverConformance

PROVIDER = """\
import json, sys

for line in sys.stdin:
    request = json.loads(line)
    found = {b["input"]: "srv1" for b in request["params"]["bindings"] if b["path"] == "server.name"}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": found}), flush=True)
"""


class TestProviderConformance(InputResolverConformance):
    plugin = gert_input_provider
    source = "provider/cmdb.server.name"
    expected = "srv1"
    environ = {"PATH": os.environ["PATH"]}

    @pytest.fixture(autouse=True)
    def program(self, tmp_path):
        (tmp_path / "cmdb.py").write_text(f"#!{sys.executable}\n{PROVIDER}")
        (tmp_path / "cmdb.py").chmod(0o755)

    def services(self, tmp_path):
        services = super().services(tmp_path)
        known = {"cmdb": ProviderInfo(binary=str(tmp_path / "cmdb.py"))}
        return replace(services, project=replace(services.project, providers=known))
