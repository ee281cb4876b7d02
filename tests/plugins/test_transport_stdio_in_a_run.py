"""The stdio transport under the whole engine: what a tool step makes of good, failing, slow and flooding programs."""

from __future__ import annotations

import os

import pytest

TOOL = """
apiVersion: tool/v0
meta: { name: probe, transport: stdio, timeout: 5s }
contract:
  inputs: { host: { type: string, required: true }, mode: { type: string } }
  outputs: { code: { type: int }, name: { type: string, required: false } }
  effects: [network]
  writes: []
actions:
  check:
    argv: [sh, -c, 'printf "%s" "$1"; exit ${2:-0}', sh, '{"code": 200, "name": "{{ .host }}"}', "{{ .mode }}"]
    extract:
      code: { from: json, path: code }
      name: { from: json, path: name }
  slow: { argv: [sleep, "60"], timeout: 300ms }
  flood: { argv: [sh, -c, 'yes'] }
"""
RUNBOOK = """
apiVersion: kernel/v0
meta: {{ name: probe }}
tools: [probe]
steps:
  - {{ id: check, type: tool, tool: probe, action: {action}, inputs: {inputs} }}
  - {{ type: end, outcome: {{ category: resolved, code: done }} }}
"""


@pytest.mark.parametrize(
    ("action", "inputs", "status", "kind"),
    [
        ("check", '{ host: "a; rm -rf $HOME" }', "completed", None),
        ("check", '{ host: x, mode: "4" }', "failed", "exit_code"),
        ("check", '{ host: "\\"" }', "error", "extract"),
        ("slow", "{ host: x }", "error", "timeout"),
        ("flood", "{ host: x }", "error", "output_too_large"),
    ],
)
def test_a_program_comes_out_as_its_step_says(gert_run, action, inputs, status, kind):
    gert_run.environ = {"PATH": os.environ["PATH"]}
    ran = gert_run(RUNBOOK.format(action=action, inputs=inputs), files={"tools/probe.tool.yaml": TOOL})
    assert (ran.status, [f.kind for f in ran.result.failures]) == (status, [kind] if kind else [])
    if status == "completed":
        assert ran.of("step_complete", "check")[0]["outputs"] == {"code": 200, "name": "a; rm -rf $HOME"}
