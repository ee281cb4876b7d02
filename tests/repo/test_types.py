"""Types say what is known: `Any` stays rare, and hooks have none of it and no class of the core's own."""

from __future__ import annotations

import ast
import inspect
import re

from repository import core_modules, member_directories

from gert_core import api, hookspecs

CEILING = 10.0
"""Uses of `Any` per 1,000 lines of the core and the members: every word `Any` outside of import statements counts."""


def sources():
    return [*core_modules(), *(f for d in member_directories() for f in sorted((d / "src").rglob("*.py")))]


def uses_of_any(text):
    """The number of times a module says `Any`, and its lines."""
    lines = text.splitlines()
    imported = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, node.end_lineno + 1)
    }
    found = sum(len(re.findall(r"\bAny\b", line)) for n, line in enumerate(lines, 1) if n not in imported)
    return found, len(lines)


def test_the_count_leaves_out_imports_alone():
    text = "from typing import (\n    Any,\n    Final,\n)\n\nx: Any = 1  # Any\ny: dict[str, Any] = {}\nz: AnyStr\n"
    assert uses_of_any(text) == (3, 8)


def test_any_stays_rare():
    counted = [uses_of_any(file.read_text(encoding="utf-8")) for file in sources()]
    uses, lines = (sum(column) for column in zip(*counted, strict=True))
    assert lines > 20_000
    assert uses / lines * 1000 <= CEILING, f"{uses} uses in {lines} lines; name the type, or say `object`"


def test_hooks_name_only_public_types():
    known = {*api.__all__, "Iterable", "None", "str"}
    for name, hook in vars(hookspecs).items():
        if name.startswith("gert_"):
            signature = inspect.signature(hook)
            texts = [signature.return_annotation, *(p.annotation for p in signature.parameters.values())]
            assert set(re.findall(r"\w+", " ".join(texts))) <= known, name
