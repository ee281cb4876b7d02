"""Recorded results are read from the trace when they are needed, and only if it is still as it was checked."""

from __future__ import annotations

import pytest
from lab import Lab

from gert_core.api import StepProblem, TraceError

STEPS = """
- id: each
  type: tool
  tool: lab
  for_each: { over: [ 1, 2, 3 ], as: n, parallel: true, max_parallel: 1 }
  inputs: { value: "{{ .n }}" }
"""


@pytest.fixture
def lab(tmp_path) -> Lab:
    """A place where the first item of a loop fails; the others run all the same."""
    made = Lab(tmp_path)

    def fail(call) -> None:
        if call.inputs["value"] == 1:
            raise StepProblem("down", "not now")

    made.on_call = fail
    return made


def test_results_are_recalled_after_another_step_ran(lab):
    ran = lab(STEPS)
    assert ran.status == "error"
    lab.on_call = None
    lab.calls.clear()
    again = lab.runner.resume(ran.result.run_id, retry_failed=True)
    again.assert_outcome("resolved")
    assert [item["value"] for item in again.result.variables.resolve(("each",))] == [1, 2, 3]
    assert lab.values() == [1]


def test_a_line_that_changes_while_the_run_is_resumed_is_refused(lab):
    ran = lab(STEPS)
    trace = ran.result.trace

    def alter(call) -> None:
        data = trace.read_bytes()
        line = next(line for line in data.splitlines() if b'"step_complete"' in line and b'"each[2]"' in line)
        with trace.open("r+b") as file:
            file.seek(data.index(line))
            file.write(line.replace(b'"value":3', b'"value":7'))

    lab.on_call = alter
    lab.calls.clear()
    with pytest.raises(TraceError, match="changed while the run was being resumed") as caught:
        lab.runner.resume(ran.result.run_id, retry_failed=True)
    assert caught.value.kind == "trace_altered"
    assert lab.values() == [1]
