"""Values that grow with each step they are composed in: a sentence, before anything is written."""

from __future__ import annotations

import pytest
from gertproc import Gert

HEAD = "apiVersion: kernel/v0\nmeta:\n  name: b\n"
END = "  - {type: end, outcome: {category: resolved, code: done}}\n"
LIMIT = "the value is larger than 10 MiB"


def four(name: str) -> str:
    return "[" + ", ".join(["'{{ ." + name + " }}'"] * 4) + "]"


def constants(lines: list[str]) -> str:
    return f"{HEAD}  constants:\n" + "".join(f"    {line}\n" for line in lines) + f"steps:\n{END}"


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path)


FOURFOLD = ["c0: [1, 2, 3, 4]", *(f"c{i}: {four(f'c{i - 1}')}" for i in range(1, 15))]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (FOURFOLD, f"constant c10: {LIMIT}"),
        ([f"c0: {'x' * 60_000}", "c1: [" + ", ".join(["'{{ .c0 }}'"] * 200) + "]"], f"constant c1: {LIMIT}"),
        ([f"c0: {'x' * 100_000}", *(line.replace("[1", "[9") for line in FOURFOLD[1:9])], LIMIT),
        ([*FOURFOLD[:10], *(f"d{i}: '{{{{ .c9 }}}}'" for i in range(9))], f"the constants together: {LIMIT}"),
        (["c0: [1]", *(f"c{i}: ['{{{{ .c{i - 1} }}}}']" for i in range(1, 400))], "nested deeper than 200 levels"),
        (["c0: [1]", *(f"c{i}: ['{{{{ .c{i - 1} }}}}']" for i in range(399, 0, -1))], "over more than 50 steps"),
    ],
)
@pytest.mark.parametrize("mode", ["real", "dry-run"])
def test_constants_that_grow_are_refused(gert, lines, says, mode):
    gert.write(book=constants(lines))
    said = gert("exec", "book.yaml", "--mode", mode)
    assert said.code in (1, 2), said.all
    assert says in said.err
    assert gert.runs() == []


def test_a_value_that_grows_from_step_to_step_ends_with_a_sentence(gert):
    child = f"{HEAD.replace(' b', ' c')}  inputs: {{v: {{type: list}}}}\nsteps:\n"
    gert.write(child=child + END.replace("code: done", f"code: done, meta: {{v: {four('v')}}}"))
    steps = "".join(
        f"  - {{id: s{i}, type: runbook, runbook: ./child.yaml, inputs: {{v: '{{{{ .v{i} }}}}'}},"
        f" export: {{v{i + 1}: outcome.meta.v}}}}\n"
        for i in range(16)
    )
    gert.write(book=f"{HEAD}  constants: {{v0: [1, 2, 3, 4]}}\nsteps:\n{steps}{END}")
    said = gert("exec", "book.yaml")
    assert said.code == 1, said.all
    assert LIMIT in said.err


def test_what_is_large_and_used_once_is_taken(gert):
    gert.write(book=constants([f"c0: {'x' * 900_000}", "c1: ['{{ .c0 }}']", "c2: {a: '{{ .c1 }}', b: 1}"]))
    said = gert("exec", "book.yaml")
    assert said.code == 0, said.all
