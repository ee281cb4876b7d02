"""The tool step: inputs, outputs, failures and the shape of what is traced."""

from __future__ import annotations

import gert_step_tool
import pytest

from gert_core.api import DocumentError
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, echo, finish
from gert_core.testing.conformance import StepTypeConformance

TOOL = """
apiVersion: tool/v0
meta: { name: say, transport: echo, binary: say }
contract:
  inputs:
    text: { type: string, required: true }
    times: { type: int, default: 1 }
    code: { type: string }
    wait: { type: string }
  outputs:
    said: { type: string }
  effects: [network]
  writes: []
actions:
  once:
    argv: [say, "{{ .text }}", "{{ .times }}"]
    env: { EXIT: "{{ .code }}", WAIT: "{{ .wait }}" }
    extract: { said: { from: stdout } }
  write:
    argv: [say, "{{ .text }}"]
    contract: { writes: [service] }
    extract: { said: { from: stdout, pattern: "(h.*)" } }
"""
RUNBOOK = """
apiVersion: kernel/v0
meta: { name: talk, inputs: { word: { type: string, default: hello } } }
tools: [say]
steps:
  - { id: first, type: tool, tool: say, action: once, inputs: { text: "{{ .word }}" } }
  - { id: second, type: tool, tool: say, action: write, inputs: { text: "{{ .said }}" } }
  - { type: finish }
"""
FILES = {"tools/say.tool.yaml": TOOL}


class TestToolConformance(StepTypeConformance):
    plugin = gert_step_tool
    helpers = (echo,)
    runbook = RUNBOOK
    slow = RUNBOOK.replace('text: "{{ .word }}"', 'text: x, wait: "60"')
    files = FILES
    scenario = {
        "tool_responses": {
            "say:once": [{"stdout": "hello 1\n"}],
            "say": [{"outputs": {"said": "hello 1"}}],
        }
    }


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(
        directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_tool, echo, finish])
    )


def test_inputs_get_defaults_and_outputs_are_promoted(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, files=FILES)
    ran.assert_outcome("resolved")
    assert ran.of("step_start", "first")[0]["inputs"] == {"text": "hello", "times": 1}
    assert ran.of("step_complete", "first")[0]["outputs"] == {"said": "hello 1"}
    assert ran.result.outputs == {"said": "hello 1"}
    assert ran.of("step_complete", "first")[0]["detail"]["command"] == ["say", "hello", "1", ""][:3]


def test_a_tool_that_reports_failure_fails_the_step(runner: GertRunner) -> None:
    text = RUNBOOK.replace('text: "{{ .word }}" }', 'text: "{{ .word }}", code: "7" }')
    ran = runner(text, files=FILES)
    ran.assert_failed("exit_code")
    complete = ran.of("step_complete", "first")[0]
    assert complete["detail"]["exit_code"] == 7
    assert complete["outputs"] == {"said": "hello 1"}


def test_an_output_that_cannot_be_extracted_is_an_error(runner: GertRunner) -> None:
    ran = runner(RUNBOOK, files=FILES, inputs={"word": "oops"})
    ran.assert_failed("extract", status="error")


def test_the_action_may_be_left_out_when_there_is_one(runner: GertRunner) -> None:
    alone = TOOL[: TOOL.index("  write:")]
    text = RUNBOOK.replace(", action: once", "").replace(", action: write", "")
    runner(text, files={"tools/say.tool.yaml": alone}).assert_outcome("resolved")
    with pytest.raises(DocumentError) as caught:
        runner(text, files=FILES)
    assert {d.rule for d in caught.value.diagnostics} == {"action-unknown"}
