"""Included runbooks that are stopped: with tools, secrets, loops and cleanup inside, at every event."""

from __future__ import annotations

import gert_step_block
import gert_step_end
import gert_step_runbook
import gert_step_tool
import gert_transport_stdio

from gert_core.testing.conformance import StepTypeConformance

CALLER = """
apiVersion: kernel/v0
meta: { name: caller, constants: { word: a-secret-word } }
tools: [say]
steps:
  - { id: first, type: tool, tool: say, inputs: { text: one } }
  - id: call
    type: runbook
    runbook: ./child.yaml
    for_each: { as: item, over: [x, y], key: "{{ .item }}" }
    timeout: 1m
    continue_on_fail: true
    inputs: { word: "{{ .word }}-{{ .item }}" }
  - { id: last, type: tool, tool: say, inputs: { text: "{{ .word }}-x" } }
  - { type: end, outcome: { category: resolved, meta: { last: "{{ .last.text }}", was: "{{ .step.call.status }}" } } }
"""
CHILD = """
apiVersion: kernel/v0
meta: { name: child, inputs: { word: { secret: true } } }
tools: [say]
steps:
  - id: parts
    type: block
    steps:
      - { id: inner, type: tool, tool: say, inputs: { text: "{{ .word }}" } }
      - type: end
        when: '{{ eq .inner.text "a-secret-word-x" }}'
        outcome: { category: resolved, meta: { text: "{{ .inner.text }}" } }
      - { id: gone, type: tool, tool: say, inputs: { text: "" } }
    finally:
      - { id: tidy, type: tool, tool: say, inputs: { text: "tidy {{ .word }}" } }
  - { type: end, outcome: { category: escalated } }
on_failure:
  - { id: sorry, type: tool, tool: say, inputs: { text: "sorry {{ .failure.step }}" } }
"""
TOOL = """
apiVersion: tool/v0
meta: { name: say, transport: stdio, binary: sh }
contract:
  effects: [network]
  writes: []
  idempotent: true
  inputs: { text: { type: string } }
  outputs: { text: { type: string } }
actions:
  say:
    argv: [sh, -c, 'test -n "$1" && printf %s "$1"', sh, "{{ .text }}"]
    extract: { text: { from: stdout } }
"""


class TestStoppedInside(StepTypeConformance):
    plugin = gert_step_runbook
    helpers = (gert_step_tool, gert_step_block, gert_step_end, gert_transport_stdio)
    runbook = CALLER
    files = {"child.yaml": CHILD, "tools/say.tool.yaml": TOOL}
    scenario = {
        "tool_responses": {
            "say": [
                {"stdout": "one"},
                {"stdout": "a-secret-word-x"},
                {"stdout": "tidy"},
                {"stdout": "a-secret-word-y"},
                {"exit_code": 1},
                {"stdout": "tidy"},
                {"stdout": "sorry"},
                {"stdout": "last"},
            ]
        }
    }
    kills = 3

    def test_what_happened_is_known(self, runner) -> None:
        ran = self._real(runner)
        keys = list(ran.steps)
        assert "call[y]/0/@on_failure/sorry" in keys
        assert "call[x]/0/parts/2/tidy" in keys
        assert "call[x]/0/@on_failure/sorry" not in keys
        assert "a-secret-word-x" not in ran.result.trace.read_text()
        assert ran.result.outcome.meta["was"] == "failed"
