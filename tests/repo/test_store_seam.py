"""What belongs to a run is read and written through its store: no other module of the core makes a path below one."""

from __future__ import annotations

import ast

import pytest
from repository import core_modules, module_name

# Modules that may make a path below a run's directory; every entry has its reason.
ALLOWED = {
    "gert_core.engine.place": "names the trace of a new run for its result",
    "gert_core.engine.children_file": "the list of programs that run is of this machine, and not of the run",
    "gert_core.engine.resume.answers": "hands an uploaded file to the step that takes it, by its path",
    "gert_core.hosting.site": "decides which files may be attachments: those among the uploads of the run",
}
RUNS = {"run", "stored", "directory", "entry"}
FILES = {"trace.jsonl", "state.json", "trace.torn", "lock"}


def below_a_run(tree):
    """Lines where something is joined to the path of a run."""
    found = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
            continue
        left = node.left
        if isinstance(left, ast.Attribute) and left.attr in ("path", "run_dir"):
            owner = left.value
            name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
            if name in RUNS or left.attr == "run_dir":
                found.add(node.lineno)
        if isinstance(node.right, ast.Constant) and node.right.value in FILES:
            found.add(node.lineno)
    return sorted(found)


def looked_at():
    return [
        file
        for file in core_modules()
        if not module_name(file).startswith(("gert_core.stores", "gert_core.testing", "gert_core.api.stores"))
    ]


@pytest.mark.parametrize("file", looked_at(), ids=module_name)
def test_no_other_module_makes_a_path_below_a_run(file):
    lines = below_a_run(ast.parse(file.read_text(encoding="utf-8")))
    assert not lines or module_name(file) in ALLOWED, f"{file}:{lines}: read and write it through the stored run"


@pytest.mark.parametrize("name", ALLOWED)
def test_the_exceptions_are_needed(name):
    (file,) = [file for file in core_modules() if module_name(file) == name]
    assert below_a_run(ast.parse(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "text", ['open(run.path / "x")', 'stored.path / NAME / "y"', 'root / "state.json"', 'services.run_dir / "tickets"']
)
def test_the_test_finds_them(text):
    assert below_a_run(ast.parse(text)) == [1]
