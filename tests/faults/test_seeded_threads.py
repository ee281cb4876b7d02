"""Threads of a fork in every order that a seed decides, by a virtual clock: the run and its trace come out the same."""

from __future__ import annotations

import os
import random
import re
from collections import Counter

import pytest
from lab import Lab, tool
from seeded import START, DeadlockError, seeded

from gert_core.approvals.inbox import entries, respond
from gert_core.documents.load import load_runbook
from gert_core.engine.cancel import Stop
from gert_core.engine.flow import fork
from gert_core.engine.steps.compiled import CompiledRunbook
from gert_core.stores.directory import DirectoryStore
from gert_core.trace.verify import verify

SEEDS = range(1000 if os.environ.get("GERT_FUZZ") else 12)
TOOLS = {**tool("store", writes="store"), **tool("shelf", writes="store")}
STEPS = """
- id: all
  type: parallel
  max_parallel: 3
  branches:
    - steps:
        - { id: a1, type: tool, tool: lab, scope: a1, inputs: { value: 1, pause: 5 } }
        - { id: a2, type: tool, tool: lab, scope: a2, export: [value], inputs: { value: "{{ .a1.value }}" } }
    - steps:
        - { id: b1, type: tool, tool: store, scope: b1, inputs: { value: 2, pause: 3 } }
        - id: b2
          type: parallel
          max_parallel: 2
          branches:
            - steps: [ { id: b3, type: tool, tool: lab, scope: b3, inputs: { value: 3, pause: 1 } } ]
            - steps: [ { id: b4, type: assert, assert: [ { type: equals, value: "{{ .b1.value }}", expected: 2 } ] } ]
    - steps:
        - id: c1
          type: tool
          tool: lab
          scope: c1
          for_each: { over: [ 10, 11, 12, 13, 14 ], as: n, parallel: true, max_parallel: 2, key: "k{{ .n }}" }
          inputs: { value: "{{ .n }}", pause: 0.5 }
    - steps:
        - id: d1
          type: repeat
          repeat: { max: 3, until: "{{ ge .repeat.index 1 }}" }
          steps: [ { id: d2, type: tool, tool: shelf, scope: "d2/{{ .repeat.index }}", inputs: { value: 4, pause: 1 } } ]
"""


@pytest.fixture(scope="module", autouse=True)
def whole(tmp_path_factory):
    """The run with one step at a time; it also imports what would keep the real clock if it were imported later."""
    steps = re.sub(r"max_parallel: \d", "max_parallel: 1", re.sub(r"pause: [\d.]+", "pause: 0", STEPS))
    return Lab(tmp_path_factory.mktemp("whole"))(steps, tools=TOOLS)


def by_key(events):
    """The types of events of each step, in their order."""
    found = {}
    for event in events:
        found.setdefault(event.step_key, []).append(event.type)
    return found


def openings(events):
    """The keys of each list of steps in the order they were started; items of a loop are not a list."""
    found = {}
    for event in events:
        if event.type == "step_start" and not event.step_key.endswith("]"):
            found.setdefault(event.step_key.rpartition("/")[0], []).append(event.step_key)
    return found


def most_at_once(calls):
    """How many calls were under way at the same moment, at most."""
    return max(sum(one.began <= call.began < one.ended for one in calls) for call in calls)


def assert_sound(ran) -> None:
    """One chain without gaps, and every step started and ended once."""
    verdict = verify(ran.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
    assert str(verdict.status) == "unsigned", verdict
    assert [event.seq for event in ran.events] == list(range(1, len(ran.events) + 1))
    once = Counter((e.type, e.step_key) for e in ran.events if e.type in ("step_start", "step_complete"))
    assert set(once.values()) == {1}, once.most_common(3)
    moments = [event.timestamp for event in ran.events]
    assert moments == sorted(moments)


def assert_same(ran, whole) -> None:
    assert (ran.status, ran.result.outcome, ran.steps.keys()) == (
        whole.status,
        whole.result.outcome,
        whole.steps.keys(),
    )
    assert ran.steps == whole.steps
    assert ran.result.outputs == whole.result.outputs
    assert ran.result.variables.names_visible() == whole.result.variables.names_visible()


def test_every_order_of_threads_gives_the_same_run(tmp_path, whole):
    orders = set()
    for seed in SEEDS:
        lab = Lab(tmp_path / str(seed))
        with seeded(seed) as world:
            ran = lab(STEPS, tools=TOOLS)
        told = f"seed {seed}"
        assert_sound(ran)
        assert_same(ran, whole)
        assert {k: v for k, v in by_key(ran.events).items() if k} == {
            k: v for k, v in by_key(whole.events).items() if k
        }, told
        assert openings(ran.events) == openings(whole.events), told
        assert len({call.key for call in lab.calls}) == len(lab.calls), told
        writing = [call for call in lab.calls if call.tool in ("store", "shelf")]
        assert most_at_once(writing) == 1, f"{told}: branches that write the same resource wait for each other"
        assert (
            most_at_once([c for c in lab.calls if str(c.inputs["value"]).startswith("1") and c.inputs["value"] > 9])
            <= 2
        )
        assert world.time - START < 20, told
        orders.add(tuple(event.step_key for event in ran.events))
    assert len(orders) > len(SEEDS) // 2, "the seeds give different orders"


def test_a_seed_gives_the_same_trace_again(tmp_path):
    for seed in SEEDS[:4]:
        traces = []
        for number in range(2):
            lab = Lab(tmp_path / f"{seed}-{number}")
            with seeded(seed):
                ran = lab(STEPS, tools=TOOLS)
            traces.append([(e.type, e.step_key, e.timestamp, e.data.get("duration")) for e in ran.events])
        assert traces[0] == traces[1], seed


def test_a_run_that_was_cut_off_is_resumed_in_any_order(tmp_path, whole):
    for seed in SEEDS:
        lab, chance = Lab(tmp_path / str(seed)), random.Random(seed)
        with seeded(seed):
            ran = lab(STEPS, tools=TOOLS)
        lines = ran.result.trace.read_bytes().splitlines(keepends=True)
        cut = chance.randint(1, len(lines) - 1)
        ran.result.trace.write_bytes(b"".join(lines[:cut]))
        finished = {e.step_key for e in ran.events[:cut] if e.type == "step_complete"}
        keys = {call.key: None for call in lab.calls}
        started = {e.data["idempotency_key"]: e.step_key for e in ran.events if "idempotency_key" in e.data}
        lab.calls.clear()
        with seeded(seed + 1_000_000):
            again = lab.runner.resume(ran.result.run_id)
        told = f"seed {seed} cut after {cut}"
        assert_same(again, whole)
        assert {call.key for call in lab.calls} <= set(keys), told
        assert not finished & {started[call.key] for call in lab.calls}, f"{told}: a finished step ran again"
        verdict = verify(again.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned", told
        once = Counter(e.step_key for e in again.events if e.type == "step_complete")
        assert set(once.values()) == {1}, told


MIXED = """
- id: all
  type: parallel
  branches:
    - steps: [ { id: bad, type: tool, tool: lab, scope: bad, inputs: { exit: 3, pause: 2 } } ]
    - steps: [ { id: asks, type: tool, tool: store, scope: asks, inputs: { value: 1 } } ]
    - steps: [ { id: late, type: tool, tool: lab, scope: late, timeout: 4s, inputs: { value: 2, pause: 9 } } ]
    - steps: [ { id: fine, type: tool, tool: lab, scope: fine, inputs: { value: 3, pause: 1 } } ]
"""
ASKED = "governance: { rules: [ { writes: [store], action: require-approval } ] }"


def test_failures_timeouts_and_approvals_come_out_the_same(tmp_path):
    for seed in SEEDS:
        lab = Lab(tmp_path / str(seed))
        with seeded(seed) as world:
            ran = lab(MIXED, meta=ASKED, tools=TOOLS, approval="inbox")
        told = f"seed {seed}"
        assert (ran.status, world.time - START) == ("approval_pending", 4.0), told
        assert ran.steps == {"all/0/bad": "failed", "all/2/late": "error", "all/3/fine": "success"}, told
        (entry,) = entries(DirectoryStore(ran.runs))
        respond(entry, approved=True, approver="bob", reason=None, environ={}, schemes=lambda _: None)
        lab.calls.clear()
        with seeded(seed + 1):
            ended = lab.runner.resume(ran.result.run_id)
        assert ended.status == "error", told
        assert [call.tool for call in lab.calls] == ["store"], told
        assert [(f.key, f.kind) for f in ended.result.failures] == [
            ("all/2/late", "timeout"),
            ("all/0/bad", "exit_code"),
        ], told
        verdict = verify(ended.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned", told


def test_a_run_that_is_cancelled_at_any_moment_is_sealed_and_goes_on(tmp_path, whole):
    for seed in SEEDS:
        lab, chance = Lab(tmp_path / str(seed)), random.Random(seed)
        with seeded(seed) as world:
            stop = Stop()

            def cancel(world=world, stop=stop, chance=chance) -> None:
                world.sleep(chance.choice([0.0, 0.5, 1.0, 2.5, 3.0, 4.0, 6.0]))
                stop.throw("a test")

            world.start_new_thread(cancel)
            ran = lab(STEPS, tools=TOOLS, stop=stop)
        told = f"seed {seed}"
        assert ran.events[-1].type == "run_complete", told
        assert ran.status in ("cancelled", "completed"), told
        assert_sound_so_far(ran)
        if ran.status == "completed":
            continue
        done = {e.step_key for e in ran.events if e.type == "step_complete"}
        started = {e.data["idempotency_key"]: e.step_key for e in ran.events if "idempotency_key" in e.data}
        lab.calls.clear()
        with seeded(seed + 1):
            again = lab.runner.resume(ran.result.run_id)
        assert_same(again, whole)
        assert not done & {started.get(call.key) for call in lab.calls}, told


def assert_sound_so_far(ran) -> None:
    verdict = verify(ran.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
    assert str(verdict.status) == "unsigned", verdict
    ends = Counter(e.step_key for e in ran.events if e.type == "step_complete")
    assert set(ends.values()) <= {1}, ends


CLASH = """
- id: all
  type: parallel
  branches:
    - steps: [ { id: first, type: tool, tool: lab, inputs: { value: 1, pause: 2 } } ]
    - steps: [ { id: second, type: tool, tool: lab, inputs: { value: 2, pause: 1 } } ]
    - steps: [ { id: third, type: tool, tool: lab, inputs: { value: 3 } } ]
"""


def test_branches_are_merged_in_the_order_they_stand_in(tmp_path):
    """Validation refuses two branches that set one name; should it happen, the last one wins whoever was faster."""
    lab = Lab(tmp_path)
    text = lab.book(CLASH)
    lab.runner.write({"runbook.yaml": text})
    compiled = CompiledRunbook(load_runbook(tmp_path / "runbook.yaml", registry=lab.runner.registry).runbook)
    for seed in SEEDS:
        with seeded(seed):
            ran = lab.runner(text, compiled=compiled)
        assert ran.result.outputs == {"value": 3}, seed


def test_a_deadlock_is_noticed():
    """The scheduler itself: threads that wait for each other are an error and not a test that hangs."""
    with seeded(1) as world:
        one, other = fork.threading.Lock(), fork.threading.Lock()

        def take(first, second) -> None:
            with first:
                world.sleep(1)
                with second:
                    pass

        world.start_new_thread(take, (other, one))
        with pytest.raises(DeadlockError):
            take(one, other)
