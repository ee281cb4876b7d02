"""The architecture page and the glossary are true: packages, layers, places and the events of one step."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys

import pytest
from repository import CORE, ROOT
from shell import Shell

EXPLANATION = ROOT / "docs" / "explanation"
PAGES = [EXPLANATION / "architecture.md", EXPLANATION / "glossary.md", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
WORDS = (
    "run, step, step key, attempt, block, arm, branch, step context, backend, compiled runbook, signal, recorded result, "
    "approval request, ticket, answer, decision, dry-run, probe, replay, finding, trace status, scenario result, resolve, "
    "escape, mask, quote"
)


@pytest.fixture(scope="module")
def diagrams():
    spec = importlib.util.spec_from_file_location("diagrams", ROOT / "docs" / "generator" / "diagrams.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checked_layers():
    """The layers that tests/repo/test_layers.py checks imports with, from the lowest on."""
    tree = ast.parse((ROOT / "tests" / "repo" / "test_layers.py").read_text(encoding="utf-8"))
    (value,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "LAYERS")
    return [layer - {"__init__", "__main__"} for layer in ast.literal_eval(value)]


def test_the_picture_of_the_packages_shows_the_layers_that_are_checked(diagrams):
    assert [set(names) for _, names in reversed(diagrams.LAYERS)] == checked_layers()
    units = {
        f.stem if f.is_file() else f.name for f in CORE.iterdir() if f.suffix == ".py" or (f / "__init__.py").exists()
    }
    assert {name for _, names in diagrams.LAYERS for name in names} == units - {"__init__", "__main__"}


def test_the_parts_of_the_engine_and_the_command_line_are_those_there_are(diagrams):
    for package, parts in diagrams.PARTS.items():
        assert set(parts) == {f.parent.name for f in (CORE / package).glob("*/__init__.py")}, package


def test_the_picture_of_a_step_shows_the_events_of_a_real_one(diagrams, tmp_path):
    shell = Shell(tmp_path)
    shell.program("mend", "echo mended")
    outputs = "{ said: { type: string }, never: { type: string } }"
    shell.tool(
        "mend",
        "[mend]",
        contract=f"{{ writes: [disk], outputs: {outputs} }}",
        more="extract: { said: { from: stdout } }",
    )
    rules = "governance: { rules: [ { default: require-approval } ] }"
    shell.book("- { id: repair, type: tool, tool: mend, action: do }", tools="mend", meta=rules)
    shell.gert("exec", "book.yaml", stdin="y alice: do it\n", code=None)
    written = [e["type"] for e in shell.events() if e.get("step_key") == "repair"]
    shown = [name.removesuffix("?") for phase in diagrams.PHASES for name in phase[4]]
    assert [name for name in written if name in shown] == shown
    assert written[-1] == "step_complete"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_places_that_are_named_exist(page):
    named = re.findall(
        r"`((?:gert_core|plugins|tool_packs|docs|tests|examples)/[\w./-]*)`", page.read_text(encoding="utf-8")
    )
    assert named or page.name == "glossary.md"
    assert not [name for name in named if not any(ROOT.glob(name.rstrip("/").replace("NAME", "*")))]


def test_the_page_has_every_package_and_part(diagrams):
    text = (EXPLANATION / "architecture.md").read_text(encoding="utf-8")
    names = {name for _, names in diagrams.LAYERS for name in names}
    assert not [name for name in names if not re.search(rf"`gert_core/{name}(\.py)?`", text)]


def test_the_glossary_has_every_word_once():
    text = (EXPLANATION / "glossary.md").read_text(encoding="utf-8")
    entries = [word for entry in re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE) for word in entry.split(", ")]
    assert len(set(entries)) == len(entries)
    assert set(WORDS.split(", ")) <= set(entries)


FOLLOW = """
import json, sys
from gert_core import cli

entered = {}

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and code.co_name != "<lambda>" and frame.f_back is not None:
        importing = frame.f_back.f_code.co_name == "<module>"  # what a module does when it is imported is not on the way
        if not importing:
            entered.setdefault(code.co_filename, len(entered))

sys.setprofile(note)
code = cli.main(["exec", "book.yaml"])
sys.setprofile(None)
print(json.dumps(sorted(entered, key=entered.get)), file=sys.stderr)
sys.exit(code)
"""


def test_a_run_goes_through_the_rooms_of_the_walk_in_their_order(tmp_path):
    text = (EXPLANATION / "architecture.md").read_text(encoding="utf-8")
    walk = re.findall(
        r"`(gert_core/[\w/]+\.py)`", text.partition("## A walk through the code")[2].partition("\n\nEvery")[0]
    )
    assert len(walk) > 20
    shell = Shell(tmp_path)
    shell.program("look", "echo fine")
    shell.tool("look", "[look]", contract="{ effects: [] }")
    shell.book(
        "- { id: look, type: tool, tool: look, action: do }\n- { type: end, outcome: { category: resolved, code: ok } }",
        tools="look",
    )
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW], cwd=tmp_path, env=shell.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    entered = [file.removeprefix(f"{ROOT}/") for file in json.loads(done.stderr.splitlines()[-1])]
    assert [file for file in entered if file in walk] == walk
