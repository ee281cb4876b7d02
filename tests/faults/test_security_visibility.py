"""What a step may see is found in time that does not depend on how many ``**`` its globs have."""

from __future__ import annotations

import json
import time

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: {{ name: see, inputs: {{ tree: {{ type: any, default: {tree} }} }} }}
tools: [say]
steps:
  - {{ id: say, type: tool, tool: say, visibility: {{ {rule}: ["{glob}"] }} }}
  - {{ type: end, outcome: {{ category: resolved, code: said }} }}
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: say }
contract: { effects: [host], writes: [] }
actions: { run: { argv: [echo, said] } }
"""
DEEP = 60
LONG = 20.0
"""Seconds; the globs took hours."""


def nested(depth):
    return {"a": nested(depth - 1)} if depth else "x"


@pytest.mark.parametrize("rule", ["allow", "deny"])
@pytest.mark.parametrize("glob", [".".join(["**.a"] * 12) + ".zz", ".".join(["**.*"] * 12) + ".zz"])
def test_globs_with_many_stars_over_deep_values_end_at_once(tmp_path, rule, glob):
    gert = Gert(tmp_path)
    gert.write(book=BOOK.format(tree=json.dumps(nested(DEEP)), rule=rule, glob=glob), tool_say=TOOL)
    began = time.monotonic()
    said = gert("exec", "book.yaml", "--json")
    assert said.document["status"] == "completed", said.all
    assert time.monotonic() - began < LONG
