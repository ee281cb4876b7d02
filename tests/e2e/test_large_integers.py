"""An integer of a tool that is too large for a float: whatever a later step computes with it, the run ends properly."""

from __future__ import annotations

import json

import pytest
from hosting import Lab

COUNT = """
apiVersion: tool/v0
meta: { name: count, transport: stdio }
contract: { effects: [network], writes: [], outputs: { found: { type: any } } }
actions:
  do: { argv: [count], extract: { found: { from: json, path: found } } }
"""
BOOK = """
apiVersion: kernel/v0
meta: {{ name: book }}
tools: [count, say]
steps:
  - id: all
    type: block
    steps:
      - {{ id: counts, type: tool, tool: count }}
      - {{ id: acts, type: tool, tool: say, when: '{when}', inputs: {{ text: "acted" }} }}
    finally:
      - {{ id: cleans, type: tool, tool: say, inputs: {{ text: "cleaned" }} }}
  - {{ type: end, outcome: {{ category: resolved, code: fine }} }}
"""


@pytest.mark.parametrize(
    ("when", "status"),
    [
        ("{{ gt (int .counts.found) 5 }}", "success"),
        ("{{ counts.found | round > 5 }}", "error"),
        ('{{ eq (printf "%.1f" .counts.found) "1.0" }}', "error"),
    ],
)
def test_a_condition_about_an_integer_that_is_no_float_leaves_cleanup_and_an_end(tmp_path, when, status):
    lab = Lab(tmp_path)
    lab.program("count", f"""echo '{{"found": {"9" * 400}}}'""")
    lab.write("tools/count.tool.yaml", COUNT)
    lab.write("book.yaml", BOOK.format(when=when))
    said = lab.gert("exec", "book.yaml", "--json", code=None)
    assert "Traceback" not in said.stderr + said.stdout
    (trace,) = tmp_path.glob("runs/*/trace.jsonl")
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    ended = {event["data"]["step_id"]: event["data"]["status"] for event in events if event["type"] == "step_complete"}
    assert ended == {"counts": "success", "acts": status, "cleans": "success", "all": status} | (
        {"_end_1": "success"} if status == "success" else {}
    )
    assert events[-1]["type"] == "run_complete"
    if status == "error":
        assert said.returncode == 1
        assert events[-1]["data"]["failure"]["kind"] == "template"
