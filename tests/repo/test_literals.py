"""The core names no plugin: no step type anywhere, no transport or provider in a comparison."""

from __future__ import annotations

import ast

import pytest
from repository import ROOT, core_modules, module_name

from gert_core.plugin.registry import Registry

# Words that happen to be a step type's name and mean something else here; every entry has its reason.
ANOTHER_MEANING = {
    ("gert_core.cli.commands.keys", "approval"): "what a key is for",
    ("gert_core.cli.commands.new", "approval"): "a kind of plugin",
    ("gert_core.cli.parameters", "approval"): "an option",
    ("gert_core.cli.render.lines", "approval"): "a field of `step_complete`: why a step was not approved",
    ("gert_core.cli.render.timeline", "approval"): "a field of `step_complete`: why a step was not approved",
    ("gert_core.engine.steps.approval", "approval"): "a field of `step_complete`: why a step was not approved",
    ("gert_core.engine.steps.claims", "approval"): "what is claimed",
    ("gert_core.explain.conflicts", "block"): "a field of `conflicts`",
    ("gert_core.explain.steps", "block"): "the word before a list of steps inside another",
    ("gert_core.cli.render.dry", "block"): "the word before a list of steps inside another",
    ("gert_core.explain.example", "tool"): "the field that names a tool",
    ("gert_core.explain.origins", "tool"): "where a contract comes from",
    ("gert_core.graph.mermaid", "end"): "the last line of a subgraph",
    ("gert_core.kit.run_rows", "approval"): "what a run waits for",
    ("gert_core.plugin.kinds", "approval"): "a kind of plugin",
    ("gert_core.runs.choices", "approval"): "a field of `run_start`",
    ("gert_core.runs.fold", "approval"): "a field of `step_complete`: why a step was not approved",
    ("gert_core.runs.state", "approval"): "what a run needs",
    ("gert_core.runs.lifecycle.status", "approval"): "what a run waits for",
    ("gert_core.documents.trace_schema", "tool"): "a field of `tool_call`",
    ("gert_core", "block"): "a function: keep a run from going on",
    ("gert_core.host", "block"): "a function: keep a run from going on",
    ("gert_core.engine.blocking", "block"): "a function: keep a run from going on",
    ("gert_core.cli.commands.blocking", "block"): "a command: keep a run from going on",
    ("gert_core.runs.control", "block"): "a field of a request to a run that is being executed",
    ("gert_core.engine.requested", "block"): "a field of a run's status: who asked to block it",
    ("gert_core.runs.holds", "block"): "the reason of a `run_resumed`: the run was blocked",
    ("gert_core.documents.trace_schema", "block"): "the reason of a `run_resumed`: the run was blocked",
    ("gert_core.template.parse", "block"): "a word of another template language that is refused with an explanation",
    ("gert_core.documents.yaml_errors", "block"): "a word of the YAML parser's own messages",
    ("gert_core.engine.journal", "branch"): "a field of trace events: which of several concurrent lists wrote it",
    ("gert_core.secrets.own", "branch"): "a field of trace events: which of several concurrent lists wrote it",
    ("gert_core.secrets.own", "approval"): "a field of `step_complete`: why a step was not approved",
    ("gert_core.documents.parts", "parallel"): "a field of `for_each`",
    ("gert_core.engine.flow.for_each", "parallel"): "a field of `for_each`, repeated in its event",
    ("gert_core.template.parse", "end"): "a word of the template language that is refused with an explanation",
    ("gert_core.approvals.decide", "wait"): "a method of approval sessions",
    ("gert_core.engine.modes.peers", "wait"): "a method of approval sessions",
    ("gert_core.engine.modes.real", "wait"): "a method of deadlines, exported under its name",
    ("gert_core.testing.store_lists", "approval"): "what a run waits for",
    ("gert_core.testing.books", "parallel"): "a field of `for_each`",
    ("gert_core.api.hosting", "approval"): "a kind of notice",
    ("gert_core.api.hosting", "end"): "a kind of notice",
    ("gert_core.hosting.listener", "approval"): "a kind of notice",
    ("gert_core.hosting.options", "approval"): "an option",
    ("gert_core.hosting.options", "block"): "an argument of hosts: plugins that are not loaded",
    ("gert_core.hosting.listener", "tool"): "a field of a notice: the tool that is called",
    ("gert_core.hosting.notices", "end"): "a kind of notice",
    ("gert_core.validation.symbols", "tool"): "a kind of symbol",
    ("gert_core.documents.tree", "tool"): "the tool itself in a tool's file",
    ("gert_core.documents.tool", "tool"): "a value of `meta.cwd`",
}

EVERYWHERE = {"runbook"}
"""The document that the core runs has the name of a step type too; only the comparisons with it are looked at."""


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


def strings(node):
    """String constants with their lines; ``__slots__`` are attributes and do not count."""
    slots = {
        id(constant)
        for n in ast.walk(node)
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__slots__" for t in n.targets)
        for constant in ast.walk(n.value)
    }
    return {
        (n.value, n.lineno)
        for n in ast.walk(node)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in slots
    }


def compared(tree):
    """String constants that something is compared with: ``==``, ``in``, ``match``, and keys it is looked up by."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                yield from strings(side)
        elif isinstance(node, ast.MatchValue):
            yield from strings(node.value)


def test_the_standard_names_are_known(registry):
    assert {"tool", "manual", "assert", "branch", "parallel", "end", "extension", "repeat"} <= set(
        registry.step_types()
    )
    assert {"stdio", "jsonrpc"} <= set(registry.transports())
    assert {"stdin", "inbox"} <= set(registry.approval_providers())


@pytest.mark.parametrize("file", core_modules(), ids=module_name)
def test_the_core_holds_no_step_types_name(registry, file):
    names = set(registry.step_types()) - EVERYWHERE
    found = {
        f"{file.relative_to(ROOT)}:{line}: {text!r}"
        for text, line in strings(ast.parse(file.read_text()))
        if text in names and (module_name(file), text) not in ANOTHER_MEANING
    }
    assert not found


def test_the_exceptions_are_needed():
    files = {module_name(file): file for file in core_modules()}
    for module, word in ANOTHER_MEANING:
        assert module in files, f"{module} is gone"
        assert word in {text for text, _ in strings(ast.parse(files[module].read_text()))}, (module, word)


@pytest.mark.parametrize("file", core_modules(), ids=module_name)
def test_the_core_compares_nothing_with_a_transports_or_providers_name(registry, file):
    names = {*registry.transports(), *registry.approval_providers(), *registry.signature_schemes()}
    tree = ast.parse(file.read_text())
    found = {f"{file.relative_to(ROOT)}:{line}: {text!r}" for text, line in compared(tree) if text in names}
    assert not found


@pytest.mark.parametrize("file", core_modules(), ids=module_name)
def test_the_core_compares_no_type_with_a_word_that_it_uses_everywhere(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Compare) and EVERYWHERE & {text for text, _ in strings(node)}:
            names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
            assert "type" not in names, f"{file.relative_to(ROOT)}:{node.lineno}"
