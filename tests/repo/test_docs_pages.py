"""Every command and every document in README and docs works: pages are played from top to bottom."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import jsonschema
import pytest
from pages import Session, blocks
from repository import ROOT

from gert_core.cli.commands.completion import entries
from gert_core.documents import yaml
from gert_core.documents.kinds import DocumentKind
from gert_core.documents.schema import json_schema
from gert_core.plugin.registry import Registry
from gert_core.template import compile_value
from gert_core.validation import validate_file

if TYPE_CHECKING:
    from pathlib import Path

# The examples of these are run by tests of their own (rules) or by the hooks' tests.
ELSEWHERE = {"docs/reference/rules.md", "docs/reference/hooks.md"}
PAGES = sorted(
    path
    for pattern in ("README.md", "docs/**/*.md", "plugins/*/README.md")
    for path in ROOT.glob(pattern)
    if path.relative_to(ROOT).as_posix() not in ELSEWHERE
)
COMMANDS = {entry.path: {name for name, _ in entry.options} for entry in entries()}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


@pytest.fixture(scope="module")
def checkers(registry):
    found = {}
    for kind in DocumentKind:
        schema = json_schema(str(kind), registry.step_types())
        found[kind] = jsonschema.Draft202012Validator(schema)
    return found


COMPLETED = {
    DocumentKind.RUNBOOK: {
        "apiVersion": "kernel/v0",
        "meta": {"name": "x"},
        "steps": [{"type": "end", "outcome": {"category": "resolved"}}],
    },
    DocumentKind.TOOL: {"apiVersion": "tool/v0", "meta": {"name": "x"}, "actions": {"a": {"argv": ["true"]}}},
    DocumentKind.POLICY: {"apiVersion": "policy/v0", "meta": {"name": "x"}, "rules": []},
    DocumentKind.PROJECT: {},
    DocumentKind.SCENARIO: {},
    DocumentKind.TEST: {},
}


def is_part_of_a_document(value, checkers) -> list[str]:
    """Why a fragment fits into no kind of document; nothing if it fits into one."""
    if isinstance(value, list):
        value = {"steps": value}
    why = []
    for kind, whole in COMPLETED.items():
        document = {**whole, **value}
        if kind in (DocumentKind.RUNBOOK, DocumentKind.TOOL) and isinstance(value.get("meta"), dict):
            document["meta"] = {"name": "x", **value["meta"]}
        problems = [error.message for error in checkers[kind].iter_errors(document)]
        if not problems:
            return []
        why.append(f"{kind}: {problems[0][:200]}")
    return why


@pages
def test_the_page_does_what_it_says(page, tmp_path):
    found = blocks(page)
    if not any(block.file or block.language == "console" for block in found):
        return
    session = Session(tmp_path)
    documents: list[Path] = []
    for block in found:
        if block.file:
            file = session.write(block)
            if file.suffix in (".yaml", ".yml") and ".github" not in file.parts:
                documents.append(file)
        elif block.language == "console":
            session.play(block)
    if documents:
        said = session.run_command(shlex.join(["gert", "validate", *map(str, documents)]))
        assert session.status == 0, f"{page}: {said}"


@pages
def test_blocks_that_are_no_files_are_right_too(page, tmp_path, registry, checkers):
    for block in blocks(page):
        where = f"{page}:{block.line}"
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "jsonl":
            [json.loads(line) for line in block.text.splitlines()]
        elif block.language == "python":
            compile(block.text, where, "exec")
        elif block.language == "yaml" and block.file is None:
            document = yaml.loads(block.text.encode(), name=where)
            assert not document.diagnostics, where
            if isinstance(document.value, dict) and "apiVersion" in document.value:
                file = tmp_path / "untitled.yaml"
                file.write_text(block.text)
                result = validate_file(file, registry=registry)
                assert result.valid, f"{where}: {[d.message for d in result.diagnostics]}"
            else:
                why = is_part_of_a_document(document.value, checkers)
                assert not why, f"{where} fits into no document: {why}"
                compile_value(document.value)


@pages
def test_commands_that_are_not_run_exist(page):
    for block in blocks(page):
        if block.language != "sh":
            continue
        for line in block.text.splitlines():
            for command in re.findall(r"(?:^|&& |\.venv/bin/)gert ([^&|>#]*)", line):
                words = shlex.split(command)
                path = next(p for p in (" ".join(words[:2]), words[0], "") if p in COMMANDS)
                options = {word for word in words if word.startswith("--")}
                assert options <= COMMANDS[path], f"{page}:{block.line}: {line}"
                assert path or options, f"{page}:{block.line}: {line}"


@pages
def test_there_is_no_machine_in_the_page(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"/tmp/|/work/|/root/|/home/(?!me\b)", text), page


def test_links_between_files_lead_somewhere():
    """mkdocs checks docs/ itself; this is for what is read on its own."""
    for page in sorted((ROOT / "README.md", *ROOT.glob("*/*/README.md"), *ROOT.glob("examples/**/*.md"))):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "docs" / "mkdocs" / "mkdocs.yml").read_text()))
    assert listed == {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
