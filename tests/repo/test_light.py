"""Start-up stays cheap: checked by what a fresh interpreter has imported, not by time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from gert_core.plugin.discovery import GROUP, scan

HEAVY = {"typer", "pydantic", "jinja2", "jsonschema", "asyncio", "yaml", "rich", "click", "importlib_metadata"}

RECORDS = {"msgspec", "typing_extensions"}
"""What the records of the API are made with."""


def modules_after(code: str) -> set[str]:
    """The modules a fresh interpreter has after running ``code`` that a bare one has not."""
    script = (
        f"import sys; before = set(sys.modules)\n{code}\ngot = sorted(set(sys.modules) - before)\n"
        "import json; print(json.dumps(got))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_version_imports_next_to_nothing():
    got = modules_after("from gert_core.cli import main; main(['--version'])")
    assert {m for m in got if m.startswith("gert")} == {"gert_core", "gert_core.cli"}
    assert got - {"gert_core", "gert_core.cli"} <= {"__future__"}


def test_the_api_is_loaded_record_by_record():
    got = modules_after("from gert_core.api import PluginError")
    assert {m for m in got if m.startswith("gert_core.api.")} == {
        "gert_core.api.error_kinds",
        "gert_core.api.errors",
    }


def test_the_api_gives_every_name_it_promises():
    import gert_core.api as api

    for name in api.__all__:
        assert getattr(api, name) is not None
    assert set(api.__all__) == set(api._MODULE_OF)
    assert set(api.__all__) <= set(dir(api))


def test_a_registry_needs_no_documents():
    got = modules_after("from gert_core.plugin.registry import Registry; Registry.build(scan=()).plugins")
    assert not got & HEAVY
    assert not {m for m in got if m.startswith("gert_core.documents")}


@pytest.mark.parametrize("candidate", [c for c in scan() if c.group == GROUP], ids=lambda c: c.name)
def test_an_entry_module_imports_the_standard_library_and_the_api_only(candidate):
    module = candidate.target.partition(":")[0]
    got = modules_after(f"import {module}")
    package = module.partition(".")[0]
    foreign = {
        m
        for m in got
        if m.partition(".")[0] not in {*sys.stdlib_module_names, *RECORDS, "pluggy", "gert_core", package}
    }
    assert not foreign
    core = {m for m in got if m.startswith("gert_core")}
    assert {m for m in core if m not in {"gert_core", "gert_core.api"} and not m.startswith("gert_core.api.")} == set()
    assert not got & {"asyncio", "subprocess", "socket", "ssl", "http", "http.client"}
