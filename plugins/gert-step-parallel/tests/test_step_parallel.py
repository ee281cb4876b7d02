"""The parallel step: every branch finishes, conflicting ones wait, results merge in declaration order."""

from __future__ import annotations

import gert_step_parallel

from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta: { name: forks, inputs: { n: { type: int, default: 2 } } }
steps:
  - id: both
    type: parallel
    max_parallel: "{{ .n }}"
    branches:
      - label: left
        steps:
          - { id: one, type: parallel, branches: [ { steps: [] } ] }
      - steps:
          - { id: two, type: parallel, branches: [ { steps: [] } ] }
  - type: finish
"""


class TestParallelConformance(StepTypeConformance):
    plugin = gert_step_parallel
    runbook = RUNBOOK
    slow = RUNBOOK.replace("{ steps: [] }", "{ steps: [ { id: wait, type: kit_pause, seconds: 60 } ] }", 1)
