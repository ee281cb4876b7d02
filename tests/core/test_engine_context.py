"""The step context: what a step type may do, when, from where, and that no type can lose the signals of its blocks."""

from __future__ import annotations

import threading
from importlib import import_module

import pytest
from lab import PLUGINS, Lab, _Plugin, tool
from pydantic import Field

from gert_core import hookimpl
from gert_core.api import PURE, Block, Completed, Contract, Ended, Errored, Flow, Outcome, StepType
from gert_core.kit.models import InputsModel, StepModel, Steps
from gert_core.plugin.registry import Registry


class Leaf(InputsModel):
    """A leaf under test."""


class Box(StepModel):
    """A step with blocks under test."""

    steps: Steps = Field(description="The block.")


def box_blocks(step):
    return [Block(name="inside", steps=step.steps)]


class Types:
    """Registers two types whose ``run`` a test gives."""

    def __init__(self, leaf=None, box=None, contract=PURE):
        self.leaf, self.box, self.contract = leaf, box, contract

    @hookimpl
    def gert_step_types(self):
        return [
            StepType(name="leaf", model=Leaf, run=self.leaf or (lambda s, c: Completed()), contract=self.contract),
            StepType(
                name="box",
                model=Box,
                run=self.box or (lambda s, c: Completed()),
                blocks=box_blocks,
                contract=PURE,
                flow=Flow.IN_ORDER,
                fields={"left": "any"},
            ),
        ]


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def with_types(lab, **options):
    plugins = [import_module(name) for name in PLUGINS]
    lab.runner.registry = Registry.build(scan=(), extra_plugins=[*plugins, _Plugin(lab), Types(**options)])
    return lab


LEAF = "- { id: a, type: leaf }"
BOX = "- { id: a, type: box, steps: [ { id: in, type: tool, tool: lab, inputs: { exit: '{{ .code }}' } } ] }"
CODE = "inputs: { code: { type: int, default: 0 } }"


def test_a_leaf_may_call_only_tools_within_its_contract(lab):
    def run(step, ctx):
        ctx.call_tool("writer", None, {})
        return Completed()

    narrow = Contract(effects=("network",), idempotent=True)
    ran = with_types(lab, leaf=run, contract=narrow)(LEAF, tools=tool("writer", writes="disk"))
    ran.assert_failed("contract_exceeded", status="error")
    assert lab.calls == []


def test_a_tool_that_is_not_listed_cannot_be_called(lab):
    def run(step, ctx):
        ctx.call_tool("other", None, {})

    with_types(lab, leaf=run)(LEAF).assert_failed("tool_undeclared", status="error")


def test_a_step_with_blocks_acts_only_through_its_blocks(lab):
    def run(step, ctx):
        ctx.call_tool("lab", None, {})
        return Completed()

    with_types(lab, box=run)(BOX, meta=CODE).assert_failed("plugin_failed", status="error")
    assert lab.calls == []


def test_a_step_may_not_write_events_of_the_core(lab):
    def run(step, ctx):
        ctx.emit("step_complete", {})

    ran = with_types(lab, leaf=run)(LEAF)
    ran.assert_failed("event_reserved", status="error")
    assert "step_complete" in ran.result.failures[0].message


def test_a_context_does_not_work_in_another_thread_or_after_run(lab):
    kept, said = [], []

    def run(step, ctx):
        kept.append(ctx)

        def elsewhere():
            try:
                ctx.emit("from_a_thread", {})
            except RuntimeError as error:
                said.append(str(error))

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return Completed()

    ran = with_types(lab, leaf=run)(LEAF)
    assert ran.status == "completed"
    assert ran.of("from_a_thread") == []
    assert "thread" in said[0]
    with pytest.raises(RuntimeError):
        kept[0].emit("too_late", {})


def test_a_block_may_not_run_twice_under_the_same_key(lab):
    def run(step, ctx):
        block = box_blocks(step)[0]
        ctx.run_block(block, key=0)
        ctx.run_block(block, key=0)

    with_types(lab, box=run)(BOX, meta=CODE).assert_failed("plugin_failed", status="error")


@pytest.mark.parametrize("way", ["ignore", "swallow", "lie"])
def test_no_type_can_swallow_a_failure_of_its_block(lab, way):
    def run(step, ctx):
        try:
            ctx.run_block(box_blocks(step)[0])
            if way == "swallow":
                ctx.now()
        except Exception:
            return Completed()
        return Completed(fields={"left": "all is well"})

    ran = with_types(lab, box=run)(BOX, meta=CODE, inputs={"code": 1})
    ran.assert_failed("exit_code")
    assert ran.steps == {"a/in": "failed", "a": "failed"}


def test_a_type_that_catches_may_handle_a_failure(lab):
    def run(step, ctx):
        result = ctx.run_block(box_blocks(step)[0], catch=True)
        return Completed(fields={"left": result.kind})

    ran = with_types(lab, box=run)(BOX, meta=CODE, inputs={"code": 1})
    assert ran.status == "completed"
    assert ran.of("step_complete", "a")[0]["fields"] == {"left": "exit_code"}


def test_catch_does_not_cover_a_denial(lab):
    def run(step, ctx):
        ctx.run_block(box_blocks(step)[0], catch=True)
        return Completed()

    ran = with_types(lab, box=run)(BOX, meta=CODE + "\ngovernance: { rules: [ { effects: [network], action: deny } ] }")
    ran.assert_failed("governance_denied")


def test_catch_does_not_cover_an_end(lab):
    def run(step, ctx):
        ctx.run_block(box_blocks(step)[0], catch=True)
        return Errored(kind="no", message="must not be seen")

    text = "- { id: a, type: box, steps: [ { id: in, type: end, outcome: { category: no_action, code: inner } } ] }"
    with_types(lab, box=run)(text).assert_outcome("no_action", "inner")


def test_only_a_terminal_type_may_end_the_run(lab):
    def run(step, ctx):
        return Ended(outcome=Outcome(category="resolved", code="cheat"))

    with_types(lab, leaf=run)(LEAF).assert_failed("plugin_failed", status="error")


@pytest.mark.parametrize("value", [None, 7, {"status": "success"}])
def test_anything_but_a_result_is_an_error(lab, value):
    with_types(lab, leaf=lambda step, ctx: value)(LEAF).assert_failed("plugin_failed", status="error")


def test_random_numbers_are_the_same_for_the_same_run_and_key(lab):
    seen = []

    def run(step, ctx):
        seen.append((ctx.random.random(), ctx.random.random()))
        return Completed()

    with_types(lab, leaf=run)("- { id: a, type: leaf }\n- { id: b, type: leaf }")
    assert seen[0] != seen[1]


def test_what_the_context_hands_out_are_copies(lab):
    def run(step, ctx):
        ctx.vars["data"]["list"].append("spoiled")
        ctx.render("{{ .data }}")["list"].append("spoiled")
        return Completed()

    ran = with_types(lab, leaf=run)(
        LEAF + '\n- { id: b, type: tool, tool: lab, inputs: { value: "{{ .data.list }}" } }',
        meta="constants: { data: { list: [1] } }",
    )
    assert ran.status == "completed"
    assert lab.values() == [[1]]


def test_vars_are_filtered_by_visibility(lab):
    seen = []

    def run(step, ctx):
        seen.append(dict(ctx.vars))
        return Completed()

    with_types(lab, leaf=run)(
        "- { id: a, type: leaf, visibility: { allow: [question] } }", meta="constants: { question: q, hidden: h }"
    )
    assert seen == [{"question": "q"}]


def test_outputs_that_are_no_json_are_an_error_and_others_are_as_a_reader_would_decode_them(lab):
    with_types(lab, leaf=lambda s, c: Completed(fields={"x": object()}))(LEAF).assert_failed(
        "output_type", status="error"
    )


def test_a_sleeping_step_is_woken_by_its_timeout(lab):
    def run(step, ctx):
        ctx.sleep(20)
        return Completed()

    with_types(lab, leaf=run)("- { id: a, type: leaf, timeout: 50ms }").assert_failed("timeout", status="error")


def test_a_result_after_the_deadline_is_a_timeout(lab):
    import time

    def run(step, ctx):
        time.sleep(0.08)
        return Completed()

    with_types(lab, leaf=run)("- { id: a, type: leaf, timeout: 30ms }").assert_failed("timeout", status="error")


def test_nothing_is_started_for_a_block_whose_time_is_up(lab):
    import time

    def run(step, ctx):
        time.sleep(0.08)
        ctx.run_block(box_blocks(step)[0])
        return Completed()

    ran = with_types(lab, box=run)(BOX.replace("type: box,", "type: box, timeout: 30ms,"), meta=CODE)
    ran.assert_failed("timeout", status="error")
    assert lab.calls == []
