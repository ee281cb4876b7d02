"""Loading and validating a runbook of 1,000 steps, as ratios to PyYAML's CSafeLoader on the same bytes."""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import yaml as pyyaml

from gert_core.documents import yaml
from gert_core.plugin.registry import Registry
from gert_core.template import compile as templates
from gert_core.validation import validate_document

TOOLS = Path(__file__).parents[1] / "data" / "rules" / "tools"
HEAD = """\
apiVersion: kernel/v0
meta:
  name: big
  inputs:
    hostname: {type: string, required: true}
  constants: {path: /healthz}
tools: [ping, service]
steps:
"""
GROUP = """\
  - id: check_N
    type: tool
    tool: ping
    action: send
    inputs:
      host: "https://{{ .hostname }}{{ .path }}/N"
      count: 3
  - id: ok_N
    type: assert
    continue_on_fail: true
    assert:
      - type: equals
        value: "{{ .check_N.latency }}"
        expected: "200"
  - id: state_N
    type: tool
    tool: service
    action: state
    when: "{{ gt .latency 10 }}"
    inputs:
      name: web
  - id: triage_N
    type: branch
    branches:
      - condition: "{{ eq .ok_N.passed true }}"
        label: fine
        steps:
          - id: restart_N
            type: tool
            tool: service
            action: restart
            inputs:
              name: "web-N"
      - condition: default
        steps: []
"""
TAIL = """\
  - type: end
    outcome:
      category: resolved
"""


def main(rounds: int) -> None:
    registry = Registry.build()
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(TOOLS, Path(place) / "tools")
        file = Path(place) / "runbook.yaml"
        file.write_text(HEAD + "".join(GROUP.replace("N", str(n)) for n in range(200)) + TAIL)
        data = file.read_bytes()
        document = yaml.load(file)

        def validate() -> None:
            # Templates are compiled once per process; a benchmark must not find them compiled already.
            templates._text.cache_clear()
            templates._tree.cache_clear()
            verdict = validate_document(document, registry=registry, environ={})
            assert verdict.valid, verdict.diagnostics

        contenders = {
            "CSafeLoader": lambda: pyyaml.load(data, Loader=pyyaml.CSafeLoader),
            "load with positions": lambda: yaml.load(file),
            "validate, all phases": validate,
        }
        validate()
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(rounds):
            for name in random.sample(list(contenders), len(contenders)):
                start = time.perf_counter()
                contenders[name]()
                times[name].append(time.perf_counter() - start)
    targets = {"load with positions": "target 1.2, moonshot 0.5", "validate, all phases": "target 1.0, moonshot 0.3"}
    for name, taken in times.items():
        paired = [mine / unit for mine, unit in zip(taken, times["CSafeLoader"], strict=True)]
        print(
            f"{name:22} {statistics.median(taken) * 1000:7.1f} ms {statistics.median(paired):6.2f}x {targets.get(name, '')}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
