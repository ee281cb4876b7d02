"""Names repeat across packages only for the same thing."""

from __future__ import annotations

import ast

from repository import ROOT, core_modules, member_directories

SAME = {"Deadline": "the protocol that plugins see, and the deadline of the engine"}
"""Classes of one name that are one thing."""


def sources():
    return [*core_modules(), *(f for d in member_directories() for f in sorted((d / "src").rglob("*.py")))]


def test_classes_of_one_name_are_one_thing():
    where = {}
    for file in sources():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where.setdefault(node.name, []).append(file.relative_to(ROOT).as_posix())
    several = {name: files for name, files in where.items() if len(files) > 1}
    assert not {name: files for name, files in several.items() if name not in SAME}
