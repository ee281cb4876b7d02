"""The hand-written reference is complete: error kinds, variables, exit codes, template functions, events."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re

import pytest
from pages import blocks
from repository import ROOT, core_modules, member_directories

from gert_core.api import ErrorKind, EventType, errors
from gert_core.template import MappingVariables, compile_value
from gert_core.template.filters import FILTERS
from gert_core.template.functions import FUNCTIONS

REFERENCE = ROOT / "docs" / "reference"
SOURCES = [*core_modules(), *(f for d in member_directories() for f in sorted((d / "src").rglob("*.py")))]

# Calls whose `kind` is something else than a kind of error.
OTHER = {
    "Notice",
    "Question",
    "Principal",
    "Evidence",
    "_file",
    "_parse",
    "parse",
    "Source",
    "Entry",
    "validate_document",
    "Candidate",
}


# Words with another meaning that are assigned to something called `kind`.
NO_ERRORS = {"empty", "list", "object", "system", "text"}


def texts(node):
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def words(node):
    """The constants an expression can come to: ``"a" if x else "b"``, ``y or "b"``."""
    if isinstance(node, ast.IfExp):
        return words(node.body) | words(node.orelse)
    if isinstance(node, ast.BoolOp):
        return set().union(*map(words, node.values))
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def error_kinds():
    """Every word that becomes the ``kind`` of a problem, with the files it is written in."""
    found = {}
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            here = set()
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in OTHER:
                    continue
                for keyword in node.keywords:
                    if keyword.arg == "kind":
                        here |= words(keyword.value)
                if name in ("StepProblem", "UnverifiedError") and node.args:
                    here |= words(node.args[0])
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = {getattr(t, "id", getattr(t, "attr", "")) for t in targets}
                if names & {"default_kind", "kind"}:
                    here |= words(node.value)
            elif isinstance(node, ast.ClassDef) and node.name == "PeerFault":
                here |= texts(node)
            elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and node.value.elts:
                here |= {word for word in words(node.value.elts[0]) if word.startswith("approval_")}
            for word in here:
                if re.fullmatch(r"[a-z][a-z_]+", word) and word not in NO_ERRORS:
                    found.setdefault(word, set()).add(file.relative_to(ROOT).as_posix())
    return found


def documented(page):
    text = (REFERENCE / page).read_text(encoding="utf-8")
    return set(re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE))


def test_every_error_kind_is_documented_and_nothing_else():
    assert documented("errors.md") == {str(kind) for kind in ErrorKind}


def test_every_error_kind_is_used():
    text = "\n".join(file.read_text(encoding="utf-8") for file in SOURCES)
    assert not [kind for kind in ErrorKind if not re.search(rf"\bErrorKind\.{kind.name}\b", text)]


def test_error_kinds_are_named_not_spelled():
    """The core and its plugins use the members of ``ErrorKind``; only plugins elsewhere have words of their own."""
    assert not {kind: sorted(files) for kind, files in error_kinds().items()}


def test_events_are_named_not_spelled():
    names = {str(event) for event in EventType}
    spelled = {
        f"{file.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for file in SOURCES
        if file.relative_to(ROOT).as_posix() not in ("gert_core/api/events.py", "gert_core/api/error_kinds.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert not spelled


def test_every_error_class_is_documented_with_its_exit_code():
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    for name in errors.__all__:
        found = getattr(errors, name)
        assert f"| `{name}` | `{found.default_kind}` | {found.exit_code} |" in page


def test_every_variable_is_documented():
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    used = {name for f in SOURCES for name in re.findall(r"\bGERT_[A-Z_]*[A-Z]\b", f.read_text(encoding="utf-8"))}
    assert used
    said = set(re.findall(r"`(GERT_[A-Z_]*[A-Z])", page))
    assert used - {"GERT_FUZZ"} <= said, used - said
    assert said <= used | {"GERT_TRACE_SIGNING_ALG", "GERT_TRACE_SIGNING_KEY_ID"}, said - used


def test_every_exit_code_is_documented():
    page = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    codes = {getattr(errors, name).exit_code for name in errors.__all__} | {0, 4, 129, 130, 141, 143}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == codes


# -- templates --------------------------------------------------------------------------------------------------

TEMPLATES = REFERENCE / "templates.md"


def template_rows():
    rows = re.findall(r"^\| `` ?(.+?) ?`` \| `` ?(.+?) ?`` \|", TEMPLATES.read_text(encoding="utf-8"), re.MULTILINE)
    return [(source.replace("\\|", "|"), shown) for source, shown in rows]


@pytest.fixture(scope="module")
def variables():
    (data,) = [json.loads(block.text) for block in blocks(TEMPLATES) if block.language == "json"]
    return MappingVariables(data)


@pytest.mark.parametrize(("source", "shown"), template_rows(), ids=lambda text: text[:40])
def test_the_template_gives_what_the_page_says(variables, source, shown):
    assert json.dumps(compile_value(source).render(variables), ensure_ascii=False) == shown


def test_every_function_and_filter_is_named():
    page = TEMPLATES.read_text(encoding="utf-8")
    assert template_rows()
    for name in [*FUNCTIONS, *FILTERS]:
        assert re.search(rf"\b{re.escape(name)}\b", page), name


def modules_of(package):
    """The modules of a public package that promise names by ``__all__``."""
    found = importlib.import_module(package)
    names = [module.name for module in pkgutil.iter_modules(found.__path__, f"{package}.")]
    return [name for name in (package, *names) if hasattr(importlib.import_module(name), "__all__")]


# Parts that another module hands on under its own name.
BEHIND = {
    "gert_core.testing.books",
    "gert_core.testing.cases",
    "gert_core.testing.clock",
    "gert_core.testing.console",
    "gert_core.testing.effects",
    "gert_core.testing.fake_dist",
    "gert_core.testing.findings",
    "gert_core.testing.guards",
    "gert_core.testing.fixtures",
    "gert_core.testing.peers",
    "gert_core.testing.running",
    "gert_core.testing.step_cases",
    "gert_core.testing.store_case",
    "gert_core.testing.store_copies",
    "gert_core.testing.checks",
    "gert_core.testing.hosts",
    "gert_core.testing.store_ledgers",
    "gert_core.testing.store_lines",
    "gert_core.testing.store_lists",
    "gert_core.testing.store_traces",
    "gert_core.testing.stores",
    "gert_core.testing.step_loops",
    "gert_core.testing.step_stops",
}


@pytest.mark.parametrize(
    ("page", "package"),
    [("records.md", "gert_core.api"), ("kit.md", "gert_core.kit"), ("testing.md", "gert_core.testing")],
)
def test_generated_pages_name_everything_public(page, package):
    text = (REFERENCE / page).read_text(encoding="utf-8")
    modules = [package] if package == "gert_core.api" else [m for m in modules_of(package) if m not in BEHIND]
    assert modules
    for module in modules:
        names = importlib.import_module(module).__all__
        assert not [name for name in names if f"\n### `{name}`" not in text], module
        section = text.partition(f"\n## `{module}`\n")[2] if package != "gert_core.api" else text
        assert section, f"{module} has no section"


def test_every_public_name_is_described():
    for page in ("records.md", "kit.md", "testing.md", "hosting.md"):
        text = (REFERENCE / page).read_text(encoding="utf-8")
        empty = re.findall(r"^### `(\w+)`[^\n]*\n\n(?=#|`[^`]*`\n+(?:#|\Z)|\Z)", text, re.MULTILINE)
        assert not empty, f"{page}: nothing is said about {empty}"


# -- names for programs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["gert_core", "gert_core.hosting"])
def test_every_name_for_hosts_has_its_entry(package):
    pages = "".join((REFERENCE / page).read_text(encoding="utf-8") for page in ("hosting.md", "records.md"))
    missing = [name for name in importlib.import_module(package)._LAZY if f"### `{name}`" not in pages]
    assert not missing


def test_no_name_has_two_entries_in_the_reference_of_records():
    names = re.findall(r"^### `(\w+)`", (REFERENCE / "records.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(names) == len(set(names))
