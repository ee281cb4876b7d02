"""Steps that run out of a time that is not their own, of a block or its cleanup, say which limit ended them."""

from __future__ import annotations

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: sh }
contract: { effects: [host], writes: [], inputs: { do: { type: string, required: true } } }
actions: { run: { argv: [sh, -c, "{{ .do }}"] } }
"""
BOOK = """\
apiVersion: kernel/v0
meta: { name: book }
tools: [sh]
steps:
  - id: ship
    type: block
    cleanup_timeout: %s
    steps: [{ id: push, type: tool, tool: sh, inputs: { do: exit 1 } }]
    on_failure: [%s]
  - { id: done, type: end, outcome: { category: resolved } }
"""
UP = "the time of the cleanup of step ship is up: all of it may take 300ms (`cleanup_timeout`)"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_sh=TOOL)
    return made


@pytest.mark.parametrize(
    "steps",
    [
        "{ id: undo, type: tool, tool: sh, inputs: { do: sleep 20 } }",
        "{ id: undo, type: wait, for: 20s }",
        (
            "{ id: one, type: tool, tool: sh, continue_on_fail: true, inputs: { do: sleep 20 } },"
            " { id: undo, type: tool, tool: sh, inputs: { do: 'true' } }"
        ),
    ],
    ids=["a tool", "a wait", "a step behind"],
)
def test_the_step_that_is_ended_names_the_limit(gert, steps):
    gert.write(book=BOOK % ("300ms", steps))
    said = gert("exec", "book.yaml", "--json")
    assert said.code == 1, said.all
    told = " ".join(failure["message"] for failure in said.document["failures"])
    assert UP in told, told


def test_a_step_that_is_ended_by_its_own_timeout_does_not(gert):
    gert.write(book=BOOK % ("20s", "{ id: undo, type: tool, tool: sh, inputs: { do: sleep 20 }, timeout: 300ms }"))
    said = gert("exec", "book.yaml", "--json")
    assert (said.code, "cleanup" in said.out) == (1, False), said.out


@pytest.mark.parametrize(
    "step",
    [
        "{ id: push, type: tool, tool: sh, inputs: { do: sleep 20 } }",
        "{ id: push, type: tool, tool: sh, inputs: { do: test -e x && exec sleep 20; touch x; exit 1 }, retry: { max: 2, delay: 10ms } }",
        "{ id: in, type: block, timeout: 9s, steps: [{ id: push, type: wait, for: 20s }] }",
    ],
    ids=["a tool", "an attempt", "deeper"],
)
def test_a_step_that_the_time_of_its_block_ends_names_the_block(gert, step):
    cut = BOOK.replace("cleanup_timeout: %s", "timeout: 600ms").replace("    on_failure: [%s]\n", "")
    gert.write(book=cut.replace("{ id: push, type: tool, tool: sh, inputs: { do: exit 1 } }", step))
    said = gert("exec", "book.yaml", "--json")
    assert said.code == 1, said.all
    told = " ".join(failure["message"] for failure in said.document["failures"])
    up = "the time of step ship is up: all of it may take 600ms (`timeout`)"
    assert told.count(up) == 1, told
