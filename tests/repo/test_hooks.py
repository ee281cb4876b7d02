"""Every hook has a test named after it and a page in the reference with its exact signature."""

from __future__ import annotations

import ast
import importlib.util

import pytest
from repository import ROOT

from gert_core import hookspecs

HOOKS = [name for name in vars(hookspecs) if name.startswith("gert_")]
ARCHITECTURE = [
    "gert_step_types",
    "gert_transports",
    "gert_approval_providers",
    "gert_input_resolvers",
    "gert_signature_schemes",
    "gert_policies",
    "gert_tool_packs",
    "gert_stores",
    "gert_notifiers",
    "gert_diagnostics",
    "gert_trace_event",
    "gert_commands",
    "gert_checks",
]


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_thirteen_hooks():
    assert HOOKS == ARCHITECTURE


def test_every_hook_has_a_test_named_after_it():
    tree = ast.parse((ROOT / "tests" / "core" / "test_plugin_hooks.py").read_text(encoding="utf-8"))
    tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {f"test_{hook}" for hook in HOOKS} <= tests


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_heading_with_its_signature(generator, hook):
    page = (ROOT / "docs" / "reference" / "hooks.md").read_text(encoding="utf-8")
    assert f"\n## `{generator.signature(getattr(hookspecs, hook))}`\n" in page


def test_the_generated_pages_are_fresh(generator):
    assert generator.main(["--check"]) == 0, "run `python docs/generate.py`"
