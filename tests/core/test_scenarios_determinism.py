"""The same scenario gives the same trace every time, but for times, run ids and what is derived from them."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest
from pydantic import Field
from scenario_books import write_book, write_scenario

from gert_core import hookimpl
from gert_core.api import PURE, Completed, StepType
from gert_core.documents.scenario import load_scenario
from gert_core.engine.prepare import prepare
from gert_core.engine.request import Request
from gert_core.host import SilentConsole
from gert_core.kit.models import StepModel
from gert_core.plugin.registry import Registry

META = """
inputs: {hosts: {type: list, required: true}}
governance: {rules: [{risk: critical, action: require-approval, min_approvers: 2}, {default: allow}]}
"""
STEPS = """
- {id: dice, type: dice, sides: 1000000}
- id: both
  type: parallel
  branches:
    - label: left
      steps:
        - {id: l1, type: tool, tool: box, action: read, inputs: {item: a}, scope: left}
        - {id: luck, type: dice, sides: 99, scope: luck}
    - label: right
      steps:
        - {id: r1, type: tool, tool: box, action: read, inputs: {item: b}, scope: right}
- id: each
  type: tool
  tool: box
  action: write
  inputs: {item: "{{ .host }}"}
  for_each: {as: host, over: "{{ .hosts }}", parallel: true, key: "{{ .host }}"}
- {id: again, type: tool, tool: box, action: read, inputs: {item: c}, next: {step: again, max: 2}}
- id: round
  type: repeat
  repeat: {max: 2}
  steps:
    - {id: try, type: tool, tool: box, action: read, inputs: {item: "{{ .repeat.index }}"}}
- id: person
  type: manual
  instructions: look
  required_evidence: [{kind: text, name: notes}]
- id: way
  type: branch
  branches:
    - condition: '{{ eq .person.notes "fine" }}'
      label: fine
      steps:
        - {type: end, outcome: {category: resolved, code: done, meta: {dice: "{{ .dice.thrown }}"}}}
    - condition: default
      label: other
      steps:
        - {type: end, outcome: {category: escalated, code: other}}
"""
YES = [{"approved": True, "approver_id": name} for name in ("alice", "alice", "bob")]
SCENARIO = {
    "inputs": {"hosts": ["x", "y"]},
    "tool_responses": {
        "box:read": [{"stdout": f"word={number}"} for number in range(7)],
        "box:write": [{"outputs": {}}, {"exit_code": 0}],
    },
    "evidence": {"person": {"notes": "fine"}},
    "approvals": {"each[x]": YES},
}


class Dice(StepModel):
    sides: int = Field(description="How many sides.")


def throw(step, ctx):
    before = ctx.now()
    ctx.sleep(3600)
    thrown = ctx.random.randint(1, step.sides)
    return Completed(outputs={"thrown": thrown, "at": before.isoformat(), "took": str(ctx.now() - before)})


class DicePlugin:
    @staticmethod
    @hookimpl
    def gert_step_types():
        kinds = {"thrown": "int", "at": "string", "took": "string"}
        return [StepType(name="dice", model=Dice, run=throw, contract=PURE, outputs=lambda step: kinds)]


@pytest.fixture(scope="module")
def registry():
    return Registry.build(extra_plugins=[DicePlugin()])


def replayed(book, registry, trace):
    scenario = load_scenario(book.parent / "scenarios" / "book" / "one")
    request = Request(
        runbook=book,
        registry=registry,
        console=SilentConsole(),
        mode="replay",
        scenario=scenario.model,
        trace=trace,
        keep=False,
        environ={},
        actor="somebody",
    )
    with ExitStack() as stack:
        run = prepare(request, stack)
        result = run.execute()
    return result, [json.loads(line) for line in trace.read_text().splitlines()]


DERIVED = {"timestamp", "run_id", "prev_hash", "chain_hash", "idempotency_key", "ticket_id", "tickets", "request_hash"}


def timeless(value):
    if isinstance(value, dict):
        return {name: timeless(item) for name, item in value.items() if name not in DERIVED}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def test_the_same_scenario_twice_gives_the_same_trace(tmp_path, registry):
    book = write_book(tmp_path, STEPS, meta=META)
    write_scenario(book, "one", SCENARIO)
    result, first = replayed(book, registry, tmp_path / "1.jsonl")
    assert (str(result.status), result.failures) == ("completed", ())
    for number in range(2, 6):
        assert timeless(replayed(book, registry, tmp_path / f"{number}.jsonl")[1]) == timeless(first)
    types = {event["type"] for event in first}
    assert {"approval_submitted", "approval_response", "approval_resolved", "parallel_fork", "for_each_item"} <= types


def test_a_replay_traces_answers_as_a_real_run_does(tmp_path, registry):
    book = write_book(tmp_path, STEPS, meta=META)
    write_scenario(book, "one", SCENARIO)
    _, events = replayed(book, registry, tmp_path / "1.jsonl")

    def of(key, kind):
        return [event["data"] for event in events if event.get("step_key") == key and event["type"] == kind]

    assert [(a["approver_id"], a["result"]) for a in of("each[x]", "approval_response")] == [
        ("alice", "counted"),
        ("alice", "set_aside"),
        ("bob", "counted"),
    ]
    (resolved,) = of("each[x]", "approval_resolved")
    assert (resolved["approved"], resolved["approvers"], resolved["method"]) == (True, ["alice", "bob"], "scenario")
    (unasked,) = of("each[y]", "approval_resolved")
    assert (unasked["approved"], unasked["approver_id"]) == (True, "replay")
    outputs = [event["data"].get("outputs", {}) for event in events if event["type"] == "step_complete"]
    assert [found["word"] for found in outputs if "word" in found] == [str(number) for number in range(7)]
    assert all(e["data"]["duration"] == "0.000s" for e in events if "duration" in e["data"])
