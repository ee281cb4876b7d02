"""A runbook with every step type, loop and way of approval, with tools that leave a mark at each execution."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from crash import Bench

if TYPE_CHECKING:
    from pathlib import Path

TOOL = """
apiVersion: tool/v0
meta: {{ name: {name}, binary: mark }}
actions:
  do:
    argv: [mark, {name}, "{{{{ .what }}}}"]
    contract:
      effects: [{effects}]
      writes: [{writes}]
      idempotent: {idempotent}
      inputs: {{ what: {{ type: any }} }}
      outputs: {{ {output}: {{ type: string }} }}
    extract: {{ {output}: {{ from: stdout }} }}
"""
MARK = """#!/bin/sh
# The mark is the effect: it is there, or it is not.
echo "$GERT_IDEMPOTENCY_KEY" >> "effects/$1"
echo "$1 $2"
"""
RUNNER = f"""#!{sys.executable} -IS
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if call["method"] == "execute":
        with open("effects/runner", "a") as file:
            file.write(call["params"]["idempotency_key"] + "\\n")
        result = {{"outputs": {{"size": len(call["params"]["inputs"]["target"])}}, "exit_code": 0}}
    else:
        result = {{"capabilities": {{}}}} if call["method"] == "initialize" else {{}}
    print(json.dumps({{"jsonrpc": "2.0", "id": call["id"], "result": result}}), flush=True)
    if call["method"] == "shutdown":
        break
"""
RUNBOOK = """
apiVersion: kernel/v0
meta:
  name: everything
  inputs: { host: { type: string, required: true } }
  constants: { greeting: "hello {{ .host }}", nodes: [ { id: n-1, size: 1 }, { id: n/2, size: 2 }, { id: "n 3", size: 3 } ] }
  governance:
    rules:
      - { writes: [deployment], action: require-approval }
      - { default: allow }
tools: [probe, tag, push, deploy]
steps:
  - { id: first, type: tool, tool: probe, inputs: { what: "{{ .greeting }}" } }
  - { id: judge, type: assert, assert: [ { type: equals, value: "{{ .first.said }}", expected: "probe hello web" } ] }
  - { id: never, type: tool, tool: push, when: false, inputs: { what: never } }
  - id: ask
    type: manual
    instructions: "Look at {{ .host }}."
    required_evidence: [ { kind: text, name: notes } ]
  - { id: poll, type: tool, tool: probe, inputs: { what: "{{ .poll.retry_count }}" }, next: { step: poll, max: 1 } }
  - id: which
    type: branch
    branches:
      - { condition: "{{ eq .notes \\"bad\\" }}", steps: [ { type: end, outcome: { category: escalated } } ] }
      - condition: default
        steps:
          - { id: chosen, type: tool, tool: push, scope: "arm/{{ .host }}", export: [pushed], inputs: { what: chosen } }
          - { id: soft, type: assert, continue_on_fail: true, assert: [ { type: equals, value: a, expected: b } ] }
  - id: both
    type: parallel
    branches:
      - label: left
        steps:
          - { id: left, type: tool, tool: push, scope: left, inputs: { what: "left {{ .pushed }}" } }
          - id: deep
            type: repeat
            repeat: { max: 3, until: "{{ ge .repeat.index 1 }}" }
            steps:
              - { id: turn, type: tool, tool: tag, scope: "turn/{{ .repeat.index }}", inputs: { what: "{{ .repeat.index }}" } }
      - label: right
        steps:
          - { id: right, type: tool, tool: tag, scope: right, inputs: { what: right } }
          - { id: gate, type: tool, tool: deploy, scope: gate, inputs: { what: gate } }
      - label: third
        steps:
          - { id: third, type: tool, tool: probe, scope: third, inputs: { what: third } }
  - id: each
    type: tool
    tool: tag
    for_each: { as: node, over: "{{ .nodes }}", key: "{{ .node.id }}" }
    when: "{{ ne .node.size 2 }}"
    inputs: { what: "{{ .node.id }}" }
  - id: wide
    type: parallel
    for_each: { as: node, over: "{{ .nodes }}", key: "{{ .node.id }}", parallel: true }
    branches:
      - steps: [ { id: item, type: tool, tool: push, scope: "wide/{{ .node.size }}", inputs: { what: "{{ .node.size }}" } } ]
  - id: ext
    type: extension
    extension: runner
    contract: { effects: [ledger], writes: [ledger], inputs: { target: { type: string } }, outputs: { size: { type: int } } }
    inputs: { target: "{{ .host }}" }
  - { id: ship, type: tool, tool: deploy, for_each: { as: n, over: [1, 2], parallel: true }, inputs: { what: "{{ .n }}" } }
  - id: done
    type: end
    outcome: { category: resolved, code: shipped, meta: { size: "{{ .size }}", notes: "{{ .notes }}", turns: "{{ .deep.iterations }}" } }
"""
ANSWERS = "fine\n"
ONCE = ("push", "deploy", "runner")
"""Tools that write and are not idempotent: each key must be there once."""
OUTPUTS = {"probe": "said", "tag": "said", "push": "pushed", "deploy": "deployed"}


def files() -> dict[str, str]:
    """Everything the run needs."""
    contracts = {
        "probe": {"effects": "network", "writes": "", "idempotent": "false"},
        "tag": {"effects": "tags", "writes": "tags", "idempotent": "true"},
        "push": {"effects": "pushes", "writes": "registry", "idempotent": "false"},
        "deploy": {"effects": "deploys", "writes": "deployment", "idempotent": "false"},
    }
    tools = {
        f"tools/{name}.tool.yaml": TOOL.format(name=name, output=OUTPUTS[name], **facts)
        for name, facts in contracts.items()
    }
    return {"runbook.yaml": RUNBOOK, "bin/mark": MARK, "bin/gert-ext-runner": RUNNER, **tools}


def told(step_id: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """What a person finds out about a step that took effect before gert could write it down."""
    if step_id == "ext":
        return {"size": len(inputs["target"])}
    tool = "deploy" if step_id in ("gate", "ship") else "push"
    return {OUTPUTS[tool]: f"{tool} {inputs['what']}"}


def bench(root: Path) -> Bench:
    """The directory of one run."""
    made = Bench(root, answers=ANSWERS, told=told)
    made.write(files())
    return made
