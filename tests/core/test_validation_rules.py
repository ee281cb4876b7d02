"""Every rule: the example that breaks it is reported at its exact place, the mended one is not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from gert_core import hookimpl
from gert_core.api import Severity
from gert_core.host import validate
from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file
from gert_core.validation.rules import RULES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "rules.md"
TOOLS = ROOT / "tests" / "data" / "rules" / "tools"

# Line and column in the page's first example of the rule.
PLACES = {
    "action-unknown": (2, 41),
    "api-version": (1, 13),
    "approval-impossible": (6, 93),
    "assert-empty": (3, 13),
    "assert-type": (4, 16),
    "branch-empty": (3, 15),
    "branch-not-exhaustive": (4, 7),
    "connect-credentials": (3, 47),
    "condition-not-expression": (4, 11),
    "constant-shadowed": (5, 10),
    "contract-relaxed": (5, 24),
    "dag-cycle": (4, 36),
    "dag-unknown-node": (5, 35),
    "duplicate-key": (3, 3),
    "duplicate-step-id": (3, 10),
    "duration-syntax": (4, 14),
    "end-in-finally": (5, 15),
    "end-unreachable": (8, 13),
    "evidence-shape": (5, 9),
    "export-collision": (6, 82),
    "export-shadowed": (4, 10),
    "export-undeclared": (2, 82),
    "extension-contract": (2, 5),
    "for-each-shape": (5, 32),
    "governance-action": (5, 30),
    "governance-default": (5, 9),
    "group-unknown": (6, 64),
    "input-missing": (2, 41),
    "input-shadowed": (3, 10),
    "input-type": (2, 69),
    "input-unknown": (2, 50),
    "inputs-from-key": (6, 54),
    "inputs-from-unknown": (6, 54),
    "loop-variable-leak": (10, 24),
    "missing-field": (2, 5),
    "maybe-undefined": (3, 67),
    "name-collision": (6, 10),
    "never-equal": (3, 33),
    "next-backward-unbounded": (2, 69),
    "next-cross-scope": (6, 11),
    "next-unknown": (2, 69),
    "not-acted-on": (4, 17),
    "outcome-category": (3, 25),
    "parallel-conflict": (7, 9),
    "parallel-output-clash": (7, 18),
    "people-invalid": (6, 18),
    "pattern-unsupported": (4, 56),
    "platform-mismatch": (3, 52),
    "program-missing": (6, 16),
    "provider-unknown": (4, 32),
    "repeat-unbounded": (3, 13),
    "reserved-name": (2, 10),
    "retry-container": (3, 5),
    "retry-not-repeatable": (2, 71),
    "runbook-cycle": (2, 41),
    "runbook-not-found": (2, 40),
    "scope-syntax": (4, 12),
    "secret-missing": (4, 13),
    "shadowed-by-loop": (7, 55),
    "store-credentials": (2, 8),
    "side-effects-and-effects": (4, 29),
    "side-effects-deprecated": (4, 16),
    "tag-syntax": (4, 42),
    "template-syntax": (4, 21),
    "timeout-ignored": (3, 50),
    "tool-invalid": (1, 9),
    "tool-not-found": (1, 9),
    "tool-undeclared": (3, 24),
    "transport-missing": (3, 33),
    "unknown-field": (3, 5),
    "unknown-step-type": (2, 11),
    "unreachable-step": (3, 5),
    "unresolved-variable": (9, 24),
    "visibility-glob": (4, 26),
    "wait-look-writes": (5, 9),
    "wait-shape": (2, 5),
    "webhook-literal": (4, 26),
    "wrong-type": (3, 23),
    "yaml-syntax": (3, 4),
}


WITHOUT_EXAMPLES = {"plugin-failed"}
"""Rules that no document can break by itself."""
WITHOUT_HINTS = {"people-invalid"}
"""Its many messages say what is wrong with a key or an address; only who declared it knows the right one."""
EXAMPLES = sorted(set(RULES) - WITHOUT_EXAMPLES)


def sections():
    found = {}
    for part in re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name = part.split("\n", 1)[0].strip()
        found[name] = (part, re.findall(r"^```yaml\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL))
    return found


SECTIONS = sections()


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


def written(directory: Path, example: str) -> Path:
    """Put an example into files, completed without moving any of its lines; the file it is about."""
    shutil.copytree(TOOLS, directory / "tools")
    about = None
    for text in example.split("---\n"):
        if text.startswith(("# tools/", "# gert-project.yaml")):
            about = directory / text.split("\n", 1)[0].removeprefix("# ")
            about.write_text(text, encoding="utf-8")
            continue
        about = directory / "runbook.yaml"
        about.write_text(completed(text), encoding="utf-8")
    assert about is not None
    return about


def findings(file, registry):
    """What is found; a project file is not looked at as that of a project around it."""
    if file.name == "gert-project.yaml":
        return validate_file(file, registry=registry, project=None).diagnostics
    return validate(file, registry=registry).diagnostics


def completed(text: str) -> str:
    keys = set(re.findall(r"^([A-Za-z]+):", text, flags=re.MULTILINE))
    if "steps" not in keys:
        text += "steps:\n"
    if "type: end" not in text:
        text += "  - {id: closing, type: end, outcome: {category: resolved}}\n"
    if "apiVersion" not in keys:
        text += "apiVersion: kernel/v0\n"
    if "meta" not in keys:
        text += "meta: {name: example}\n"
    if "tools" not in keys and "tool:" in text:
        text += "tools: [ping, service]\n"
    return text


def test_the_page_has_a_section_for_every_rule_and_no_other():
    assert set(SECTIONS) == set(RULES)


@pytest.mark.parametrize("name", sorted(RULES))
def test_the_page_says_severity_and_meaning(name):
    part, examples = SECTIONS[name]
    assert f"*{RULES[name].severity}*: {RULES[name].meaning}." in part
    assert len(examples) == (0 if name in WITHOUT_EXAMPLES else 2)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_first_example_breaks_the_rule_at_its_place(name, registry, tmp_path):
    file = written(tmp_path, SECTIONS[name][1][0])
    found = [d for d in findings(file, registry) if d.rule == name]
    assert found, f"{name} is not reported"
    first = found[0]
    assert (first.line, first.column) == PLACES[name]
    assert first.file == str(file)
    assert first.severity is RULES[name].severity
    assert first.message
    assert bool(first.hint) == (name not in WITHOUT_HINTS)
    assert "None" not in first.message


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_second_example_is_valid(name, registry, tmp_path):
    file = written(tmp_path, SECTIONS[name][1][1])
    found = findings(file, registry)
    assert name not in {d.rule for d in found}
    assert [d for d in found if d.severity is Severity.ERROR] == []


def test_a_plugin_that_fails_is_reported_at_the_start_of_the_runbook(tmp_path):
    plugin = ModuleType("faulty")

    @hookimpl
    def gert_diagnostics(runbook):
        raise RuntimeError(f"cannot check {runbook.name}")

    plugin.gert_diagnostics = gert_diagnostics
    file = written(tmp_path, "# a comment\nsteps:\n")
    (found,) = validate(file, registry=Registry.build(extra_plugins=[plugin])).diagnostics
    assert (found.rule, found.severity) == ("plugin-failed", RULES["plugin-failed"].severity)
    assert (found.file, found.line, found.column) == (str(file), 2, 1)
    assert "plugin faulty" in found.message
    assert "cannot check example" in found.message
