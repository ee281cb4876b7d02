"""Patterns that gert itself searches texts for: whatever a text is made of, that takes time in proportion to it.

Python's engine holds all other threads up while it searches, so that no signal would end gert meanwhile.
"""

from __future__ import annotations

import json
import time

import pytest
from shell import Shell

SECONDS = 15
"""What a command may take; where the time is quadratic it takes minutes or hours."""


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(tmp_path)


def at_once(shell: Shell, *args: str, **options):
    began = time.monotonic()
    said = shell.gert(*args, **options)
    assert time.monotonic() - began < SECONDS
    return said


def test_what_is_almost_a_number_is_none_at_once(shell):
    shell.program("digits", "head -c 1000000 /dev/zero | tr '\\0' 1; echo x\n")
    contract = "{ effects: [], reads: [x], outputs: { size: { type: float } } }"
    shell.tool("digits", "[digits]", contract=contract, more="extract: { size: { from: stdout } }")
    shell.book("- { id: count, type: tool, tool: digits }", tools="digits", meta="inputs: { limit: { type: float } }")
    said = at_once(shell, "exec", "book.yaml", code=1)
    assert "is not a number" in said.stderr
    shell.write("in.json", json.dumps({"limit": "1" * 1_000_000 + "x"}))
    said = at_once(shell, "exec", "book.yaml", "--input", "in.json", code=2)
    assert "is not a number" in said.stderr
