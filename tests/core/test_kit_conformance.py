"""The conformance tests of step types notice faulty types: each fault fails the test that is about it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from pydantic import Field

from gert_core import hookimpl
from gert_core.api import PURE, Block, Completed, Contract, Failed, Flow, GertError, StepType
from gert_core.kit.models import StepModel, Steps
from gert_core.testing import step_stops
from gert_core.testing.conformance import StepTypeConformance

BOOK = """
    apiVersion: kernel/v0
    meta: {name: faulty}
    steps:
      - {id: it, type: faulty%s}
      - {type: finish}
"""
PARENT = os.getpid()


class Plain(StepModel):
    seconds: float = Field(default=0, description="How long it takes.")


class Arms(StepModel):
    left: Steps = Field(description="One list.")
    right: Steps = Field(description="Another list.")


def case(run, *, book=BOOK % "", slow=BOOK % ", seconds: 3", model=Plain, **fields):
    """A conformance class for a type with this function, made an instance."""
    record = StepType(name="faulty", model=model, run=run, summary="Has a fault.", **{"contract": PURE, **fields})
    plugin = SimpleNamespace(gert_step_types=hookimpl(lambda: [record]))
    return type("Case", (StepTypeConformance,), {"plugin": plugin, "runbook": book, "slow": slow})()


@pytest.fixture
def runner_of(tmp_path):
    """The runner of a conformance class; ``runner`` is a fixture of it and not called in tests."""

    def make(found):
        return StepTypeConformance.runner.__wrapped__(found, tmp_path)

    return make


def patient(step, ctx):
    ctx.sleep(step.seconds)
    return Completed()


TESTS = [name for name in dir(StepTypeConformance) if name.startswith("test_") and "entry_module" not in name]


@pytest.mark.parametrize("test", TESTS)
def test_a_sound_type_passes(runner_of, monkeypatch, test):
    found = case(patient)
    wanted = {"runner": lambda: runner_of(found), "monkeypatch": lambda: monkeypatch}
    function = getattr(found, test)
    given = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    function(**{name: wanted[name]() for name in given})


def test_a_type_that_works_once_fails_in_a_loop(runner_of):
    seen = set()

    def once(step, ctx):
        run = ctx.idempotency_key, ctx.key
        seen.add(run)
        return Failed(kind="again", message="it ran before") if ctx.key.endswith("[1]") else Completed()

    found = case(once)
    with pytest.raises(AssertionError, match="it ran before"):
        found.test_a_loop_runs_it_once_per_item(runner_of(found))


def test_outputs_that_differ_in_a_loop_are_noticed(runner_of):
    found = case(
        lambda step, ctx: Completed(outputs={"more": 1} if "[" in ctx.key else {}),
        outputs=lambda step: {"more": "int"},
        contract=Contract(effects=("network",), outputs={}),
    )
    with pytest.raises(AssertionError, match="named as those of a step alone"):
        found.test_a_loop_runs_it_once_per_item(runner_of(found))


def test_a_type_that_needs_the_main_thread_fails_in_a_fork_and_a_parallel_loop(runner_of):
    def main_only(step, ctx):
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("signals work in the main thread only")
        return Completed()

    found = case(main_only)
    runner = runner_of(found)
    found.test_a_loop_runs_it_once_per_item(runner)
    with pytest.raises(AssertionError, match="main thread only"):
        found.test_a_parallel_loop_runs_its_items_at_the_same_time(runner)
    with pytest.raises(AssertionError, match="main thread only"):
        found.test_it_runs_in_a_thread_beside_other_steps(runner)


def program(step, ctx):
    subprocess.run([sys.executable, "-c", ""], check=True)
    return Completed()


@pytest.mark.parametrize(
    "test",
    [
        "test_a_dry_run_touches_nothing",
        "test_a_probe_executes_only_what_changes_nothing",
        "test_a_dry_run_of_loops_and_forks_touches_nothing",
    ],
)
def test_a_type_that_starts_programs_and_calls_itself_pure_is_noticed(runner_of, monkeypatch, test):
    found = case(program)
    with pytest.raises(AssertionError, match="the step bypassed its context"):
        getattr(found, test)(runner_of(found), monkeypatch)


@pytest.mark.parametrize("test", ["test_a_slow_step_is_cancelled_at_once", "test_a_slow_step_ends_at_its_time_limit"])
def test_a_type_that_sleeps_by_itself_is_noticed(runner_of, monkeypatch, test):
    monkeypatch.setattr(step_stops, "_SOON", 1.5)

    def deaf(step, ctx):
        time.sleep(step.seconds)
        return Completed()

    found = case(deaf)
    with pytest.raises(AssertionError, match="is honoured"):
        getattr(found, test)(runner_of(found))


def test_without_a_slow_runbook_these_tests_say_what_is_missing(runner_of):
    found = case(patient, slow="")
    with pytest.raises(pytest.skip.Exception, match="set `slow`"):
        found.test_a_slow_step_is_cancelled_at_once(runner_of(found))


ARMS = BOOK % (
    ", left: [{id: l1, type: kit_pause, seconds: 0.05}, {id: l2, type: kit_pause, seconds: 0.2}]"
    ", right: [{id: r1, type: kit_pause, seconds: 0.05}, {id: r2, type: kit_pause, seconds: 0.2}]"
)


def test_a_type_that_decides_by_its_process_is_noticed_when_that_is_killed(runner_of):
    def by_process(step, ctx):
        ctx.run_block(ctx.blocks[os.getpid() == PARENT], key=0)
        return Completed()

    def blocks(step):
        yield Block(name="left", steps=step.left)
        yield Block(name="right", steps=step.right)

    found = case(by_process, book=ARMS, model=Arms, flow=Flow.ONE_OF, blocks=blocks)
    runner = found.with_helpers(runner_of(found))
    found.test_a_crash_after_any_event_changes_nothing(runner)
    with pytest.raises((AssertionError, GertError)):
        found.test_a_kill_at_a_random_moment_changes_nothing(runner)


def test_the_settings_and_the_environment_reach_the_step(runner_of):
    seen = []

    def look(step, ctx):
        seen.append(dict(ctx.config))
        return Completed()

    found = case(look)
    type(found).config = {"greeting": "hello"}
    found.test_a_real_run_comes_out_as_promised(runner_of(found))
    assert seen == [{"greeting": "hello"}]
