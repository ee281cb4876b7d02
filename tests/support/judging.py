"""Runbooks as text for tests of validation: completed, judged, and compared with what comments in them expect."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from textwrap import dedent

from gert_core.validation import Validated, validate_file

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tests" / "data" / "rules" / "tools"
_EXPECTED = re.compile(r"#! ([a-z-]+)")


def written(directory: Path, text: str, *, tools: dict[str, str] | None = None) -> Path:
    """A runbook file with the tools `ping` and `service` beside it; what the text leaves out is added at its end."""
    shutil.copytree(TOOLS, directory / "tools", dirs_exist_ok=True)
    for name, tool in (tools or {}).items():
        (directory / "tools" / f"{name}.tool.yaml").write_text(dedent(tool), encoding="utf-8")
    text = dedent(text).strip("\n") + "\n"
    keys = set(re.findall(r"^([A-Za-z]+):", text, flags=re.MULTILINE))
    if "steps" not in keys:
        text += "steps:\n  - {id: closing, type: end, outcome: {category: resolved}}\n"
    if "apiVersion" not in keys:
        text += "apiVersion: kernel/v0\n"
    if "meta" not in keys:
        text += "meta: {name: example}\n"
    if "tools" not in keys and re.search(r"\btool:", text):
        text += f"tools: [{', '.join(['ping', 'service', *(tools or {})])}]\n"
    file = directory / "runbook.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def judged(directory: Path, text: str, *, registry, tools: dict[str, str] | None = None, environ=None) -> Validated:
    """The verdict about a runbook given as text."""
    file = written(directory, text, tools=tools)
    return validate_file(file, registry=registry, environ=environ or {})


def expected(text: str) -> list[tuple[int, str]]:
    """The findings that comments like ``#! rule`` at the end of lines announce."""
    lines = dedent(text).lstrip("\n").split("\n")
    return sorted((number, rule) for number, line in enumerate(lines, 1) for rule in _EXPECTED.findall(line))


def compare(directory: Path, text: str, *, registry, tools: dict[str, str] | None = None) -> Validated:
    """Judge the text and assert that exactly the announced findings are there."""
    verdict = judged(directory, text, registry=registry, tools=tools)
    own = str(directory / "runbook.yaml")
    found = sorted((d.line, d.rule) for d in verdict.diagnostics if d.file == own)
    assert found == expected(text), "\n".join(
        f"{d.line}:{d.column} {d.rule}: {d.message} ({d.hint})" for d in verdict.diagnostics
    )
    return verdict
