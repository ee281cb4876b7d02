"""Includes of step types: a type that is not gert's own runs two documents at once, with fields of other names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import Field

from gert_core import hookimpl
from gert_core.api import Block, Branch, Completed, DocumentError, Flow, Include, StepType
from gert_core.kit.models import StepModel
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance


class PlayStep(StepModel):
    """Runs two playbooks at the same time."""

    left: str = Field(description="One.")
    right: str = Field(description="The other.")
    values: dict[str, Any] = Field(default_factory=dict, description="The inputs of both.")


def includes(step: PlayStep) -> list[Include]:
    both = (("left", step.left), ("right", step.right))
    return [Include(path=path, at=(name,), inputs=step.values, inputs_at=("values",)) for name, path in both]


def run(step: PlayStep, ctx: Any) -> Completed:
    results = ctx.fork([Branch(block=block, key=number) for number, block in enumerate(ctx.blocks)])
    return Completed(fields={"codes": [result.outcome.code for result in results if result.outcome]})


class _Plays:
    """A plugin with the type ``play``."""

    @hookimpl
    def gert_step_types(self) -> list[StepType]:
        return [
            StepType(
                name="play",
                model=PlayStep,
                run=run,
                includes=includes,
                flow=Flow.ALL_OF,
                fields={"codes": "list"},
                summary="Runs two playbooks.",
            )
        ]


PLAYS = _Plays()
CALLER = """
apiVersion: kernel/v0
meta: { name: caller }
steps:
  - id: both
    type: play
    left: a.yaml
    right: a.yaml
    values: { n: 3 }
  - { type: finish }
"""
INNER = """
apiVersion: kernel/v0
meta: { name: inner, inputs: { n: { type: int, max: 5, required: true } } }
steps:
  - { id: deep, type: play, left: sub/b.yaml, right: sub/b.yaml, values: { word: "w{{ .n }}" }, when: "{{ eq .n 3 }}" }
  - { type: finish }
"""
DEEP = """
apiVersion: kernel/v0
meta: { name: deep, inputs: { word: { type: string, pattern: "w[0-9]" } } }
steps: [ { type: finish } ]
"""
FILES = {"a.yaml": INNER, "sub/b.yaml": DEEP}


class TestPlayConformance(StepTypeConformance):
    plugin = PLAYS
    runbook = CALLER
    files = FILES
    kills = 3
    test_the_entry_module_imports_nothing_heavy = None  # its module is a test


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[PLAYS, finish]))


def test_documents_run_as_branches_under_their_own_keys(runner: GertRunner) -> None:
    ran = runner(CALLER, files=FILES)
    ran.assert_outcome("resolved")
    assert {key for key in ran.steps if key.startswith("both/0/deep")} == {
        "both/0/deep",
        "both/0/deep/0/_finish_1",
        "both/0/deep/1/_finish_1",
    }
    assert ran.of("step_complete", "both")[0]["fields"] == {"codes": ["finished", "finished"]}
    assert list(ran.of("run_start")[0]["include_hashes"]) == ["sub/b.yaml", "a.yaml"]


@pytest.mark.parametrize(
    ("before", "after", "rule", "line"),
    [
        ("right: a.yaml", "right: b.yaml", "runbook-not-found", 8),
        ("n: 3", "n: 7", "input-type", 9),
        ("n: 3", "m: 3", "input-unknown", 9),
        ("values: { n: 3 }", "description: x", "input-missing", 5),
    ],
)
def test_findings_are_at_the_fields_that_the_type_names(runner: GertRunner, before, after, rule, line) -> None:
    with pytest.raises(DocumentError) as caught:
        runner(CALLER.replace(before, after), files=FILES)
    assert (rule, line) in {(found.rule, found.line) for found in caught.value.diagnostics}


def test_a_type_cannot_make_a_boundary_itself(runner: GertRunner) -> None:
    def blocks(step: PlayStep) -> list[Block]:
        return [Block(name="x", steps=[], boundary=True)]

    kind = StepType(name="wall", model=PlayStep, run=run, blocks=blocks, flow=Flow.IN_ORDER, summary="x")
    walls = SimpleNamespace(gert_step_types=hookimpl(lambda: [kind]))
    found = GertRunner(directory=runner.directory, registry=Registry.build(scan=(), extra_plugins=[walls, finish]))
    with pytest.raises(Exception, match="it gave a boundary block, which the core makes of what a step includes"):
        found(CALLER.replace("type: play", "type: wall"), files=FILES)
