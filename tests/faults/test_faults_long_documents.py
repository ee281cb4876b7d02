"""A long text in a document is refused or taken at once, whatever its author repeats in it."""

from __future__ import annotations

import time

import pytest
from gertproc import Gert

LONG = 600_000
SECONDS = 10
"""What was quadratic took minutes; what is not takes less than one of these."""
CHECK = "assert: [{type: equals, value: 1, expected: 1}]"
END = "  - {id: done, type: end, outcome: {category: resolved, code: ok}}\n"
HEAD = "apiVersion: kernel/v0\nmeta: {name: x}\nsteps:\n"


@pytest.mark.parametrize(
    ("field", "says"),
    [
        (f"scope: '{'{{a' * (LONG // 3)}'", "the expression is longer than 8 KiB or is not closed"),
        (f"when: '{{{{- a{' ' * LONG}!'", "the expression is longer than 8 KiB or is not closed"),
        (f"description: '{'{{a' * (LONG // 3)}'", "the expression is longer than 8 KiB or is not closed"),
    ],
    ids=["scope", "when", "description"],
)
def test_a_text_of_a_step_that_repeats_the_start_of_a_template(tmp_path, field, says):
    (tmp_path / "book.yaml").write_text(f"{HEAD}  - {{id: a, type: assert, {field}, {CHECK}}}\n{END}")
    began = time.monotonic()
    said = Gert(tmp_path)("validate", "book.yaml")
    assert (said.code, time.monotonic() - began < SECONDS) == (1, True)
    assert says in said.out
