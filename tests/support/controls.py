"""A runbook with every step type that only steers others, cleanup and retry, with tools that leave a mark at each execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crash import Bench
from everything import TOOL

if TYPE_CHECKING:
    from pathlib import Path

MARK = """#!/bin/sh
# The mark is the effect: it is there, or it is not.
echo "$GERT_IDEMPOTENCY_KEY" >> "effects/$1"
case $1 in
  broken) exit 1 ;;
  shaky) [ "$(grep -c "$GERT_IDEMPOTENCY_KEY" effects/shaky)" -ge 3 ] || exit 1 ;;
  look) [ "$(sort -u effects/look | wc -l)" -ge 3 ] || { echo "look again"; exit 0; } ;;
esac
echo "$1 $2"
"""
RUNBOOK = """
apiVersion: kernel/v0
meta: { name: controls, inputs: { host: { type: string, required: true } } }
tools: [push, look, shaky, broken]
steps:
  - id: risky
    type: block
    steps:
      - { id: change, type: tool, tool: push, scope: change, inputs: { what: change } }
      - { id: fails, type: tool, tool: broken, inputs: { what: fails } }
      - { id: not_run, type: tool, tool: push, inputs: { what: never } }
    on_failure:
      - { id: undo, type: tool, tool: push, scope: undo, inputs: { what: "undo {{ .failure.step }}" } }
    finally:
      - { id: unlock, type: tool, tool: push, scope: unlock, inputs: { what: unlock } }
  - { id: tried, type: tool, tool: shaky, retry: { max: 9, delay: 10ms, backoff: 1 }, inputs: { what: tried } }
  - { id: short, type: wait, for: 10ms }
  - id: ready
    type: wait
    until: '{{ eq .ask.looked "look yes" }}'
    every: 10ms
    timeout: 5m
    steps: [ { id: ask, type: tool, tool: look, inputs: { what: "yes" } } ]
  - id: rounds
    type: repeat
    repeat: { max: 3, until: "{{ ge .repeat.index 1 }}" }
    steps: [ { id: turn, type: tool, tool: push, inputs: { what: "turn {{ .repeat.index }}" }, export: { last: pushed } } ]
  - { id: gate, type: approval, message: "Go on with {{ .last }}?" }
  - id: hosts
    type: block
    for_each: { as: name, over: [a, b, c, d], key: "{{ .name }}", until: '{{ eq .hosts.status "success" }}' }
    continue_on_fail: true
    steps:
      - { id: on_host, type: tool, tool: push, inputs: { what: "{{ .name }}" } }
      - { id: host_fails, type: tool, tool: broken, when: '{{ ne .name "b" }}', inputs: { what: "{{ .name }}" } }
    finally:
      - { id: host_done, type: tool, tool: push, scope: done, inputs: { what: "done {{ .name }}" } }
  - id: child
    type: runbook
    runbook: ./child.yaml
    inputs: { host: "{{ .host }}" }
    export: { moved: outcome.meta.moved }
  - id: graph
    type: dag
    max_parallel: 2
    nodes:
      - { name: build, steps: [ { id: build, type: tool, tool: push, scope: build, inputs: { what: build } } ] }
      - { name: docs, steps: [ { id: docs, type: tool, tool: look, scope: docs, inputs: { what: docs } } ] }
      - { name: sign, depends_on: [build], steps: [ { id: sign, type: approval, message: "Publish {{ .build.pushed }}?" } ] }
      - name: publish
        depends_on: [sign, docs]
        steps: [ { id: publish, type: tool, tool: push, scope: publish, inputs: { what: "{{ .build.pushed }}" } } ]
  - id: done
    type: end
    outcome:
      category: resolved
      code: steered
      meta:
        handled: "{{ .risky.handled }}"
        rounds: "{{ .ready.rounds }} {{ .rounds.iterations }}"
        moved: "{{ .moved }}"
        hosts: "{{ .step.hosts.failed }}"
        nodes: "{{ .graph.summary }}"
finally:
  - { id: tidy, type: tool, tool: push, scope: tidy, inputs: { what: "tidy {{ .run.status }}" } }
"""
CHILD = """
apiVersion: kernel/v0
meta: { name: child, inputs: { host: { type: string, required: true } } }
tools: [push]
steps:
  - { id: move, type: tool, tool: push, inputs: { what: "move {{ .host }}" } }
  - { type: end, outcome: { category: resolved, code: moved, meta: { moved: "{{ .move.pushed }}" } } }
"""
OUTPUTS = {"push": "pushed", "look": "looked", "shaky": "held", "broken": "never"}
ONCE = ("push",)
"""The tool that writes and is not idempotent: each key must be there once."""


def told(step_id: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """What a person finds out about a step that took effect before gert could write it down."""
    return {"pushed": f"push {inputs['what']}"}


def bench(root: Path) -> Bench:
    """The directory of one run."""
    reading = {"effects": "network", "writes": "", "idempotent": "false"}
    contracts = dict.fromkeys(OUTPUTS, reading) | {
        "push": {"effects": "pushes", "writes": "registry", "idempotent": "false"},
        "shaky": {"effects": "tags", "writes": "tags", "idempotent": "true"},
    }
    tools = {
        f"tools/{name}.tool.yaml": TOOL.format(name=name, output=OUTPUTS[name], **facts)
        for name, facts in contracts.items()
    }
    made = Bench(root, told=told)
    made.write({"runbook.yaml": RUNBOOK, "child.yaml": CHILD, "bin/mark": MARK, **tools})
    return made
