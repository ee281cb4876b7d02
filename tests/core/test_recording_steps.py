"""Recordings of steps that no single response of a tool stands for: several calls, and values made of the run itself."""

from __future__ import annotations

from importlib import import_module

import pytest
from lab import PLUGINS, Lab, _Plugin

from gert_core import hookimpl
from gert_core.api import PURE, Completed, Contract, StepType
from gert_core.documents.scenario import load_scenario
from gert_core.host import SilentConsole
from gert_core.kit.models import InputsModel
from gert_core.plugin.registry import Registry
from gert_core.scenarios.recording.record import record
from gert_core.scenarios.run import ScenarioRunner
from gert_core.stores.directory import DirectoryStore


class Leaf(InputsModel):
    """A leaf under test."""


def twice(step, ctx):
    """Call a tool two times."""
    first = ctx.call_tool("lab", None, {"outputs": {"value": 1}})
    second = ctx.call_tool("lab", None, {"outputs": {"value": 2}})
    return Completed(fields={"seen": [first.outputs, second.outputs]})


def thrown(step, ctx):
    """Throw a die, which is another one in every run."""
    return Completed(fields={"seen": ctx.random.randrange(10**9)})


class Types:
    """Registers the two types."""

    @hookimpl
    def gert_step_types(self):
        acts = Contract(effects=("network",), idempotent=True)
        return [
            StepType(name="twice", model=Leaf, run=twice, contract=acts, fields={"seen": "any"}),
            StepType(name="thrown", model=Leaf, run=thrown, contract=PURE, fields={"seen": "any"}),
        ]


@pytest.mark.parametrize("kind", ["twice", "thrown"])
def test_the_whole_result_is_recorded_by_step_key(tmp_path, kind):
    lab = Lab(tmp_path)
    plugins = [import_module(name) for name in PLUGINS]
    registry = lab.runner.registry = Registry.build(scan=(), extra_plugins=[*plugins, _Plugin(lab), Types()])
    ran = lab(
        f"- {{ id: a, type: {kind} }}\n- {{ type: end, outcome: {{ category: resolved, code: 'saw {{{{ .a.seen }}}}' }} }}"
    )
    assert ran.status == "completed", ran.result.failures
    called = len(lab.calls)
    runner = ScenarioRunner(runbook=tmp_path / "runbook.yaml", registry=registry, console=SilentConsole())
    with DirectoryStore(tmp_path / "runs").open(ran.result.run_id) as stored:
        done = record(stored, tmp_path / "recorded", runner)
    assert (done.written, done.warnings) == (True, ())
    scenario = load_scenario(tmp_path / "recorded").model
    assert list(scenario.steps) == ["a"]
    assert scenario.tool_responses == {}
    assert runner.observe(scenario).outcome == ran.result.outcome
    assert len(lab.calls) == called
