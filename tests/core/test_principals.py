"""Who a step is attributed to: the actor that was given, the agent that an item names, or the kernel."""

from __future__ import annotations

import json

import pytest
from lab import Lab

from gert_core.trace.reader import read
from gert_core.validation import validate_runbook

KERNEL = {"kind": "system", "id": "kernel"}
STEPS = """
- { id: call, type: tool, tool: lab }
- { id: check, type: assert, assert: [ { type: equals, value: 1, expected: 1 } ] }
- { id: own, type: tool, tool: lab, principal: { kind: human, id: "{{ .run.mode }}-bob" } }
"""
AGENTS = """
- id: each
  type: tool
  tool: lab
  %s
  for_each: { as: who, key: "{{ .who.id }}", over: [ { id: ada, role: judge }, { id: bo } ] }
  inputs: { value: "{{ .who.id }}" }
"""


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def principals(ran, event="step_start"):
    """The principal of an event by step key."""
    return {e.step_key: dict(e.principal) for e in read(ran.result.trace) if e.type == event}


@pytest.mark.parametrize(
    ("actor", "environ", "expected"),
    [
        ("ann", {}, {"kind": "human", "id": "ann"}),
        ("agent:bot-7", {}, {"kind": "agent", "id": "bot-7"}),
        (None, {"GERT_ACTOR": "eve"}, {"kind": "human", "id": "eve"}),
        (None, {"USER": "root"}, KERNEL),
    ],
)
def test_tool_steps_are_attributed_to_the_actor_that_was_given(lab, actor, environ, expected):
    lab.runner.environ.update(environ)
    ran = lab(STEPS, actor=actor)
    for kind in ("step_start", "step_complete"):
        found = principals(ran, kind)
        assert found == {
            "call": expected,
            "check": KERNEL,
            "own": {"kind": "human", "id": "real-bob"},
            "done": KERNEL,
        }
    assert set(map(json.dumps, principals(ran, "governance_decision").values())) == {json.dumps(KERNEL)}


def test_steps_of_a_resumed_run_are_attributed_to_whom_resumes_it(lab):
    ran = lab(STEPS, actor="ann")
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if b'"step_key":"own"' in line)
    start = next(n for n, line in enumerate(lines) if b'"step_key":"call"' in line)
    for size, expected in ((start, "zoe"), (cut, "ann")):
        ran.result.trace.write_bytes(b"".join(lines[:size]))
        again = lab.runner.resume(ran.result.run_id, actor="zoe")
        assert principals(again)["call"] == {"kind": "human", "id": expected}


@pytest.mark.parametrize("field", ["visibility: { deny: [x] }", "principal: item"])
def test_items_that_name_an_agent_are_attributed_to_it(lab, field):
    found = principals(lab(AGENTS % field, actor="ann"))
    assert found["each[ada]"] == {"kind": "agent", "id": "ada", "role": "judge"}
    assert found["each[bo]"] == {"kind": "human", "id": "ann"}, "it has no role"


@pytest.mark.parametrize(
    "fields", ["timeout: 5s", "visibility: { deny: [x] }\n  principal: { kind: human, id: ann }"], ids=["none", "own"]
)
def test_other_items_are_not(lab, fields):
    found = principals(lab(AGENTS % fields, actor="ann"))
    assert found["each[ada]"] == {"kind": "human", "id": "ann"}


def findings(lab, steps):
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(steps))
    return [(d.rule, d.hint) for d in validate_runbook(path, registry=lab.runner.registry).diagnostics]


def test_a_principal_of_items_needs_a_keyed_loop(lab):
    text = AGENTS.replace("{ id: bo }", "{ id: bo, role: clerk }") % "principal: item"
    assert findings(lab, text) == []
    (found,) = findings(lab, text.replace('key: "{{ .who.id }}", ', ""))
    assert found == ("for-each-shape", 'add `key: "{{ .who.id }}"` to the `for_each`')
    (found,) = findings(lab, "- { id: a, type: tool, tool: lab, principal: item }")
    assert found[0] == "for-each-shape"


@pytest.mark.parametrize(
    ("over", "severity", "told"),
    [
        ("[ { id: ada, role: judge }, { id: bo } ]", "warning", "item 1 has no `role`"),
        ("[ { id: ada }, { id: bo } ]", "error", "they have no `role`"),
        ("[ { name: ada } ]", "error", "they have no `id` and no `role`"),
        ("[ ada, bo ]", "error", "they have no `id` and no `role`"),
        ("'{{ .agents }}'", "error", "they have no `role`"),
    ],
)
def test_items_that_name_no_agent_are_found(lab, over, severity, told):
    steps = AGENTS % "principal: item"
    steps = steps.replace("[ { id: ada, role: judge }, { id: bo } ]", over).replace(".who.id", ".who")
    path = lab.directory / "book.yaml"
    path.write_text(lab.book(steps, meta="constants: { agents: [ { id: ada }, { id: bo } ] }"))
    (found,) = validate_runbook(path, registry=lab.runner.registry).diagnostics
    assert (found.rule, str(found.severity)) == ("for-each-shape", severity)
    assert found.message == f"`principal: item` needs items that name agents by `id` and `role`, and {told}"
    mended = path.read_text().replace("principal: item", "principal: { kind: agent, id: NAME, role: ROLE }")
    path.write_text(mended)
    assert validate_runbook(path, registry=lab.runner.registry).diagnostics == ()


def test_an_unknown_name_in_a_principal_is_found(lab):
    (found,) = findings(lab, "- { id: a, type: tool, tool: lab, principal: { kind: human, id: '{{ .nope }}' } }")
    assert found[0] == "unresolved-variable"
