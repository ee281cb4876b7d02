"""Policies of a resumed run: of what was decided and today's answers of the packs the stricter holds."""

from __future__ import annotations

from importlib import import_module

import pytest
from lab import PLUGINS, Lab, _Plugin, tool

from gert_core import hookimpl
from gert_core.api import PolicyPack, RunError, StepProblem
from gert_core.approvals.inbox import entries, respond
from gert_core.hosting.drifted import changed_documents
from gert_core.plugin.registry import Registry
from gert_core.runs.cache import load_state
from gert_core.stores.directory import DirectoryStore

STEPS = """
- { id: a, type: tool, tool: lab, inputs: { value: 1 } }
- { id: b, type: tool, tool: lab, inputs: { value: 2 } }
- { id: c, type: tool, tool: lab, inputs: { value: 3 } }
"""
DENY = [{"effects": ["network"], "action": "deny"}]
ASK = [{"effects": ["network"], "action": "require-approval"}]


class Clock:
    """A policy plugin whose rules depend on the time: ``rules`` are today's, none of them means no pack at all."""

    def __init__(self):
        self.rules: list[dict] = []
        self.file = None

    @hookimpl
    def gert_policies(self):
        if self.file is not None:
            yield PolicyPack(name="file", file=self.file)
        if self.rules:
            yield PolicyPack(name="freeze", document={"apiVersion": "policy/v0", "rules": self.rules})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lab(tmp_path, clock) -> Lab:
    made = Lab(tmp_path)
    made.runner.registry = registry(made, clock)
    return made


def registry(lab: Lab, *more: object) -> Registry:
    return Registry.build(scan=(), extra_plugins=[*(import_module(name) for name in PLUGINS), _Plugin(lab), *more])


def cut(lab: Lab, ran, *, type="step_start", key="b"):  # noqa: A002 - the event's field name
    """Lose everything behind an event, and what the tools were called with."""
    at = next(n for n, e in enumerate(ran.events, 1) if (e.type, e.step_key) == (type, key))
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    ran.result.trace.write_bytes(b"".join(lines[:at]))
    lab.calls.clear()
    return ran.result.run_id


def test_a_pack_that_depends_on_the_clock_is_no_drift(lab, clock):
    run_id = cut(lab, lab(STEPS))
    clock.rules = DENY
    ran = lab.runner.resume(run_id)
    ran.assert_failed("governance_denied")
    assert lab.values() == [], "b was allowed before the freeze, and would be executed in it"
    assert ran.steps["b"] == "skipped"
    assert [data["decision"] for data in ran.of("governance_decision", "a")] == ["allow"]
    assert [data["decision"] for data in ran.of("governance_decision", "b")] == ["allow", "deny"]


def test_a_pack_that_has_nothing_to_say_any_more_is_no_drift(lab, clock):
    clock.rules = [{"writes": ["production"], "action": "deny"}]
    run_id = cut(lab, lab(STEPS))
    clock.rules = []
    lab.runner.resume(run_id).assert_outcome("resolved")
    assert lab.values() == [2, 3]


def test_a_step_that_waits_for_approval_still_needs_it(lab, clock):
    clock.rules = [{**ASK[0], "min_approvers": 2, "exclude_actor": True}]
    waiting = lab(STEPS, approval="inbox", actor="olga")
    assert waiting.status == "approval_pending"
    clock.rules = []
    again = lab.runner.resume(waiting.result.run_id)
    assert (again.status, lab.calls) == ("approval_pending", [])
    for approver in ("bob", "carl"):
        for entry in entries(DirectoryStore(lab.directory / "runs")):
            respond(entry, approved=True, approver=approver, reason=None, environ={}, schemes=lambda _: None)
    lab.runner.resume(waiting.result.run_id).assert_outcome("resolved")
    assert lab.values() == [1, 2, 3]


def test_branches_stay_serialised_as_they_were(lab, clock):
    clock.rules = [{"effects": ["network"], "serialize": True}]
    steps = """
        - id: both
          type: parallel
          branches:
            - steps: [ { id: left, type: tool, tool: lab, scope: left, inputs: { value: 1 } } ]
            - steps: [ { id: right, type: tool, tool: lab, scope: right, inputs: { value: 2 } } ]
    """
    run_id = cut(lab, lab(steps), key="both/0/left")
    clock.rules = []
    lab.runner.resume(run_id).assert_outcome("resolved")
    run_id = cut(lab, lab(steps), key="both/0/left")
    clock.rules = [{"effects": ["network"], "serialize": True}]
    lab.runner.resume(run_id).assert_outcome("resolved")


def test_a_plugin_with_policies_that_is_gone_is_drift(lab, clock):
    run_id = cut(lab, lab(STEPS))
    lab.runner.registry = registry(lab)
    with pytest.raises(RunError, match=r"policy plugin .*Clock.* changed since the run started") as caught:
        lab.runner.resume(run_id)
    assert (caught.value.kind, lab.calls) == ("drift", [])


def test_a_file_of_a_pack_that_changed_is_drift(lab, clock, tmp_path):
    clock.file = tmp_path / "floor.yaml"
    text = "apiVersion: policy/v0\nmeta: { name: floor, version: '1' }\nrules: [ { writes: [what], action: deny } ]\n"
    clock.file.write_text(text)
    run_id = cut(lab, lab(STEPS))
    clock.file.write_text(text.replace("what", "production"))
    with pytest.raises(RunError, match=r"policy .*file changed since the run started") as caught:
        lab.runner.resume(run_id)
    assert (caught.value.kind, lab.calls) == ("drift", [])
    with DirectoryStore(lab.directory / "runs").open(run_id) as run:
        (named,) = changed_documents(load_state(run))
        assert caught.value.message.startswith(f"{named} changed since"), "what is advised names it too"
        clock.file.write_text(f"# a remark\n{text}")
        assert changed_documents(load_state(run)) == []


@pytest.mark.parametrize(("before", "after"), [("require-approval", "allow"), ("allow", "require-approval")])
def test_drift_that_is_allowed_never_relaxes_a_decision(lab, tmp_path, before, after):
    policy = tmp_path / "floor.yaml"
    text = "apiVersion: policy/v0\nmeta: {{ name: floor }}\nrules: [ {{ effects: [network], action: {} }} ]\n"
    policy.write_text(text.format(before))
    started = lab(STEPS, policies=[policy], approval="inbox")
    run_id = started.result.run_id if before != "allow" else cut(lab, started)
    policy.write_text(text.format(after))
    ran = lab.runner.resume(run_id, allow_drift=True)
    assert (ran.status, lab.calls) == ("approval_pending", [])


def test_the_answers_of_packs_are_recorded(lab, clock):
    clock.rules = [{"writes": ["production"], "action": "deny"}]
    (start,) = lab(STEPS, tools=tool("other")).of("run_start")
    (entry,) = start["policies"]
    assert entry["name"].endswith("freeze")
    assert entry["answer"]["rules"] == clock.rules
    assert len(start["policy_plugins"]) == 1


def answer(lab: Lab, *people: str) -> None:
    """Approve the ticket that is open, by each of these people."""
    for person in people:
        for entry in entries(DirectoryStore(lab.directory / "runs")):
            if entry.resolved is None:
                respond(entry, approved=True, approver=person, reason=None, environ={}, schemes=lambda _: None)


@pytest.mark.parametrize("left", [[], [{"writes": ["what"], "action": "deny"}], ASK], ids=["gone", "other", "asks"])
def test_a_pack_that_answers_milder_does_not_run_what_it_denied(lab, clock, left):
    clock.rules = DENY
    ran = lab(STEPS, approval="inbox", preflight=False)
    ran.assert_failed("governance_denied")
    clock.rules = left
    again = lab.runner.resume(ran.result.run_id, retry_failed=True)
    again.assert_failed("governance_denied")
    assert lab.calls == []


@pytest.mark.parametrize("left", [[], ASK], ids=["gone", "one person"])
def test_a_pack_that_answers_milder_does_not_run_again_what_needed_an_approval(lab, clock, left):
    def fail(call) -> None:
        raise StepProblem("down", "not now")

    clock.rules = [{**ASK[0], "min_approvers": 2}]
    lab.on_call = fail
    run_id = lab(STEPS, approval="inbox", actor="olga").result.run_id
    answer(lab, "bob", "carl")
    assert (lab.runner.resume(run_id).status, lab.values()) == ("error", [1])
    lab.on_call = None
    clock.rules = left
    assert lab.runner.resume(run_id, retry_failed=True).status == "approval_pending"
    answer(lab, "bob")
    assert lab.runner.resume(run_id).status == "approval_pending"
    assert lab.values() == [1], "one person is not enough where two were asked for"
    answer(lab, "carl")
    lab.runner.resume(run_id)
    assert lab.values()[:2] == [1, 1]


def test_a_pack_that_answers_milder_does_not_have_an_interrupted_step_done_again(lab, clock):
    clock.rules = ASK
    waiting = lab(STEPS, approval="inbox", actor="olga", tools=tool("lab", writes="disk", idempotent="false"))
    answer(lab, "bob")
    run_id = cut(lab, lab.runner.resume(waiting.result.run_id), key="a")
    clock.rules = []
    again = lab.runner.resume(run_id, reconcile={"a": "redo"})
    assert (again.status, lab.calls) == ("approval_pending", [])
