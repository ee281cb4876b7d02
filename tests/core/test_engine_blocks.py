"""Blocks: the handles a step type is given, equal blocks it builds anew, and the runbook compiled once."""

from __future__ import annotations

from copy import deepcopy
from importlib import import_module

import pytest
from lab import PLUGINS, Lab, _Plugin, tool
from pydantic import Field
from scenario_books import trial_of, write_book, write_scenario

from gert_core import hookimpl
from gert_core.api import PURE, Block, Branch, Completed, Failed, Flow, RunError, StepType
from gert_core.documents.load import load_runbook
from gert_core.engine.steps.compiled import CompiledRunbook, CompiledStep
from gert_core.kit.models import StepModel, Steps
from gert_core.plugin.registry import Registry
from gert_core.scenarios import candidates_of


class Pair(StepModel):
    """A step with two blocks under test."""

    labels: list[str] = Field(default=["first", "second"], description="The names of the blocks.")
    first: Steps = Field(default=[], description="A block.")
    second: Steps = Field(default=[], description="Another.")


def listed(step):
    """The blocks as the model has them: the same lists each time."""
    return [Block(name=name, steps=steps) for name, steps in zip(step.labels, (step.first, step.second), strict=True)]


def anew(step):
    """The same blocks with lists of their own: equal, and nothing but equal."""
    return [Block(name=block.name, steps=deepcopy(list(block.steps))) for block in listed(step)]


def generated(step):
    """Blocks that stand nowhere in the document."""
    return [
        Block(name=label, steps=[{"id": f"made_{n}", "type": "tool", "tool": ("lab", "other")[n]}])
        for n, label in enumerate(step.labels)
    ]


@pytest.fixture
def pair(tmp_path):
    """Runs a pair step whose type has the given ``run`` and ``blocks``."""
    lab = Lab(tmp_path)

    def go(text, run, *, blocks=listed, **options):
        class Types:
            @hookimpl
            def gert_step_types(self):
                yield StepType(name="pair", model=Pair, run=run, blocks=blocks, contract=PURE, flow=Flow.IN_ORDER)

        plugins = [*(import_module(name) for name in PLUGINS), _Plugin(lab), Types()]
        lab.runner.registry = Registry.build(scan=(), extra_plugins=plugins)
        return lab(text, **options)

    go.lab = lab
    return go


TWO = """
- id: a
  type: pair
  first: [ { id: one, type: tool, tool: lab, inputs: { value: 1 } } ]
  second: [ { id: two, type: tool, tool: lab, inputs: { value: 2 } } ]
"""
EQUAL = """
- id: a
  type: pair
  labels: [%s]
  first: [ { type: tool, tool: lab } ]
  second: [ { type: tool, tool: lab } ]
"""
SAME, DIFFERENT = EQUAL % "twin, twin", EQUAL % "left, right"


def run_second(step, ctx):
    ctx.run_block(ctx.blocks[1])
    return Completed()


def test_the_blocks_of_the_context_are_those_of_the_type_in_its_order(pair):
    seen = []

    def run(step, ctx):
        seen.extend(block.name for block in ctx.blocks)
        for number, block in enumerate(ctx.blocks):
            ctx.run_block(block, key=number)
        return Completed()

    ran = pair(TWO, run)
    assert seen == ["first", "second"]
    assert list(ran.steps) == ["a/0/one", "a/1/two", "a", "done"]
    assert pair.lab.values() == [1, 2]


def test_the_blocks_of_the_context_are_rendered(pair):
    seen = []

    def run(step, ctx):
        seen.extend(block.name for block in ctx.blocks)
        ctx.run_block(ctx.blocks[1])
        return Completed()

    text = TWO + '  labels: ["{{ .name }}", "not {{ .name }}"]\n'
    ran = pair(text, run, meta="inputs: { name: { type: string, default: blue } }")
    assert seen == ["blue", "not blue"]
    assert list(ran.steps) == ["a/two", "a", "done"]


@pytest.mark.parametrize("build", [listed, anew])
def test_a_type_may_build_equal_blocks_anew(pair, build):
    conflicting = []

    def run(step, ctx):
        conflicting.extend(ctx.conflicts(build(step)))
        ctx.run_block(build(step)[1], key=7)
        ctx.fork([Branch(block=block, key=number) for number, block in enumerate(build(step))], limit=1)
        return Completed()

    ran = pair(
        TWO.replace("tool: lab, inputs: { value: 1 }", "tool: writer, inputs: { value: 1 }"),
        run,
        blocks=anew,
        tools=tool("writer", writes="disk"),
    )
    assert ran.status == "completed"
    assert list(ran.steps) == ["a/7/two", "a/0/one", "a/1/two", "a", "done"]
    assert conflicting == []


def test_blocks_that_conflict_are_found_however_they_are_named(pair):
    found = []

    def run(step, ctx):
        found.append(ctx.conflicts(ctx.blocks))
        found.append(ctx.conflicts(anew(step)))
        found.append(ctx.conflicts(list(reversed(ctx.blocks))))
        return Completed()

    pair(TWO.replace("tool: lab", "tool: writer"), run, tools=tool("writer", writes="disk"))
    assert found == [[(0, 1)], [(0, 1)], [(0, 1)]]


def test_of_two_equal_blocks_the_handle_is_run_that_was_given(pair):
    assert list(pair(SAME, run_second).steps) == ["a/_tool_2", "a", "done"]


def test_of_two_equal_blocks_the_handle_is_run_that_was_given_also_when_every_list_is_new(pair):
    text = EQUAL % '"{{ .name }}", "{{ .name }}"'
    ran = pair(text, run_second, blocks=anew, meta="inputs: { name: { type: string, default: twin } }")
    assert list(ran.steps) == ["a/_tool_2", "a", "done"]


def test_of_two_equal_blocks_the_handle_is_run_that_was_given_also_when_they_are_one_list(pair):
    text = """
        - id: a
          type: pair
          labels: [twin, twin]
          first: &same [ { type: tool, tool: lab } ]
          second: *same
    """
    assert list(pair(text, run_second).steps) == ["a/_tool_2", "a", "done"]


def test_of_two_equal_blocks_built_anew_the_name_decides(pair):
    def run(step, ctx):
        ctx.run_block(anew(step)[1])
        return Completed()

    assert list(pair(DIFFERENT, run, blocks=anew).steps) == ["a/_tool_2", "a", "done"]


def test_equal_blocks_built_anew_are_forked_in_their_order(pair):
    def run(step, ctx):
        ctx.fork([Branch(block=block, key=number) for number, block in enumerate(anew(step))], limit=1)
        return Completed()

    assert list(pair(SAME, run, blocks=anew).steps) == ["a/0/_tool_1", "a/1/_tool_2", "a", "done"]


def test_a_block_built_anew_that_equals_several_is_refused(pair):
    def run(step, ctx):
        ctx.run_block(anew(step)[1])
        return Completed()

    ran = pair(SAME, run, blocks=anew)
    ran.assert_failed("plugin_failed", status="error")
    assert "'twin' equals several of this step's blocks: take it from ctx.blocks" in ran.result.failures[0].message
    assert pair.lab.calls == []


def test_a_block_of_no_step_is_refused(pair):
    def run(step, ctx):
        ctx.run_block(Block(name="foreign", steps=[{"type": "tool", "tool": "lab"}, {}]))
        return Completed()

    ran = pair(TWO, run)
    ran.assert_failed("plugin_failed", status="error")
    assert "'foreign' is not one of this step's blocks: take it from ctx.blocks" in ran.result.failures[0].message
    assert pair.lab.calls == []


def test_a_type_may_list_its_blocks_in_another_order_than_the_document(pair):
    def run(step, ctx):
        for number, block in enumerate(ctx.blocks):
            ctx.run_block(block, key=number)
        return Completed()

    ran = pair(TWO, run, blocks=lambda step: list(reversed(listed(step))))
    assert list(ran.steps) == ["a/0/two", "a/1/one", "a", "done"]


def test_blocks_that_a_type_generates_are_told_apart(pair):
    def run(step, ctx):
        found.append(ctx.conflicts(ctx.blocks))
        ctx.fork([Branch(block=block, key=number) for number, block in enumerate(ctx.blocks)])
        return Completed()

    found = []
    ran = pair("- { id: a, type: pair }", run, blocks=generated, tools=tool("other", writes="disk"))
    assert ran.steps == {"a/0/made_0": "success", "a/1/made_1": "success", "a": "success", "done": "success"}
    assert {call.tool for call in pair.lab.calls} == {"lab", "other"}
    writing = {
        event.data["step_id"]: event.data["writing"] for event in ran.events if event.type == "contract_evaluated"
    }
    assert writing == {"made_0": False, "made_1": True, "done": False}
    assert found == [[]]


# -- compiled once ----------------------------------------------------------------------------------------------------


def test_no_two_steps_or_blocks_have_the_same_path(pair, tmp_path):
    pair("- { id: a, type: pair }", lambda s, c: Completed(), blocks=generated, tools=tool("other"))
    book = load_runbook(tmp_path / "runbook.yaml", registry=pair.lab.runner.registry).runbook
    paths = [node.path for node in book.walk()] + [b.path for node in book.walk() for b in node.blocks]
    assert len(paths) == len(set(paths)) == 6


def test_what_is_compiled_is_kept_beside_the_tree_and_shared_between_runs(pair, tmp_path, monkeypatch):
    text = pair.lab.book(TWO)
    pair(TWO, run_second)
    compiled = CompiledRunbook(load_runbook(tmp_path / "runbook.yaml", registry=pair.lab.runner.registry).runbook)
    made = []
    real = CompiledStep.__init__
    monkeypatch.setattr(
        CompiledStep, "__init__", lambda self, node, *rest: made.append(node.id) or real(self, node, *rest)
    )
    for _ in range(3):
        assert pair.lab.runner(text, compiled=compiled).status == "completed"
    assert made == ["a", "two", "done"]  # what no run came to was not compiled either
    node = compiled.runbook.by_id["two"]
    assert compiled.step(node) is compiled.step(node)
    assert CompiledRunbook(compiled.runbook).step(node) is not compiled.step(node)


def test_the_scenarios_of_a_runbook_share_what_is_compiled(tmp_path, monkeypatch):
    made = []
    real = CompiledStep.__init__
    monkeypatch.setattr(
        CompiledStep, "__init__", lambda self, node, *rest: made.append(node.id) or real(self, node, *rest)
    )
    book = write_book(tmp_path, "- {id: look, type: tool, tool: box, action: read, inputs: {item: a}}")
    for name in ("one", "two", "three"):
        answer = {"tool_responses": {"box": [{"outputs": {"word": name}}]}}
        write_scenario(book, name, answer, {"expected_outputs": {"look.word": name}})
    trial = trial_of(book)
    results = [trial.run(candidate) for candidate in candidates_of(book)]
    assert [str(result.status) for result in results] == ["passed"] * 3
    assert sorted(made) == sorted(set(made))


@pytest.mark.parametrize("forked", [False, True])
def test_an_error_of_the_run_inside_a_block_is_no_result_of_its_step(pair, forked):
    """A resumed run that leaves its trace stops there, whatever the types around the place catch."""
    count = iter(range(10))

    def run(step, ctx):
        if ctx.step_id == "inner":
            ctx.emit("pair_note", {"number": next(count)})
        try:
            if forked:
                ctx.fork([Branch(block=ctx.blocks[0], key=0)], catch=True)
            else:
                ctx.run_block(ctx.blocks[0], key=0, catch=True)
        except Exception as error:
            return Failed(kind="caught", message=str(error))
        return Completed()

    ran = pair(
        """
        - id: outer
          type: pair
          first: [ { id: inner, type: pair, first: [ { id: act, type: tool, tool: lab } ] } ]
        """,
        run,
    )
    trace = ran.result.trace
    lines = trace.read_bytes().splitlines(keepends=True)
    kept = next(n for n, event in enumerate(ran.events, 1) if event.step_key == "outer/0/inner/0/act")
    trace.write_bytes(b"".join(lines[:kept]))
    with pytest.raises(RunError, match="pair_note of step outer/0/inner would differ") as caught:
        pair.lab.runner.resume(ran.result.run_id)
    assert caught.value.kind == "resume_diverged"
    assert b"caught" not in trace.read_bytes()
    assert b'"step_complete"' not in trace.read_bytes()
    assert len(pair.lab.calls) == 1
