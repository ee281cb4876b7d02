"""The security page names tests; they exist, and every test of the security suites is on it or needs no place there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
SUITES = sorted(Path(__file__).parent.glob("test_security_*.py"))


def names_of(*files: Path) -> set[str]:
    return {
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_test_the_page_names_exists():
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    places = [ROOT / "tests", ROOT / "plugins", ROOT / "tool_packs", ROOT / "gert_core" / "testing"]
    known = names_of(*(file for place in places for file in place.rglob("*.py")))
    assert len(named) > 40
    assert named <= known, sorted(named - known)


def test_every_row_of_threats_has_a_guarantee_and_a_test():
    table = PAGE.partition("## Threats")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(rows) > 30
    for row in rows:
        threat, guarantee, test = (cell.strip() for cell in row.strip("|").split(" | "))
        assert threat, row
        assert guarantee, row
        assert "`test_" in test, row


def test_the_numbers_of_the_limits_are_those_of_the_code():
    from gert_core.approvals.decide import MAX_SET_ASIDE
    from gert_core.documents import compose, yaml
    from gert_core.engine.modes.real import DEFAULT_TOOL_TIMEOUT
    from gert_core.engine.steps.exports import DETAIL_LIMIT
    from gert_core.kit import processes, tickets
    from gert_core.template import data, parse, scan
    from gert_core.trace import writer

    mebi = 1024 * 1024
    assert (4 * mebi, 100, 500_000) == (yaml.MAX_BYTES, compose.MAX_DEPTH, compose.MAX_VALUES)
    assert 4 * mebi == compose.MAX_EXPANSION
    assert (8 * 1024, 50, mebi) == (scan.MAX_EXPRESSION, parse.MAX_DEPTH, data.MAX_RESULT)
    assert (10 * mebi, 16 * mebi, 8 * mebi) == (processes.OUTPUT_LIMIT, tickets._LIMIT, writer._VALVE)
    assert (DETAIL_LIMIT, DEFAULT_TOOL_TIMEOUT, MAX_SET_ASIDE) == (16 * 1024, 60.0, 100)
