"""Resuming runs with cleanup: retries after it, crashes in it, and runs that are only ended."""

from __future__ import annotations

import threading

import gert_step_wait
import pytest
from lab import Lab, tool

from gert_core.api import RunError
from gert_core.engine.cancel import Stop
from gert_core.engine.resume.plan import RunFinished
from gert_core.trace.verify import verify

ONCE = tool("once", effects="pushes", writes="registry", idempotent="false")


class SickLab(Lab):
    """A laboratory whose tools fail for the values in ``sick``, and cancel the run at ``stop_at``."""

    sick: frozenset[str] = frozenset()
    stop_at: str = ""
    stop: Stop | None = None

    def hear(self, call) -> None:
        value = call.inputs.get("value")
        if value in self.sick:
            call.inputs["exit"] = 3
        if value == self.stop_at and self.stop is not None:
            self.stop.throw("SIGINT")


@pytest.fixture
def lab(tmp_path) -> SickLab:
    made = SickLab(tmp_path)
    made.on_call = made.hear
    return made


def step(name: str, tool_name: str = "lab") -> str:
    return f"{{ id: {name}, type: tool, tool: {tool_name}, inputs: {{ value: {name} }} }}"


def book(lab, *steps: str, top: str = "") -> str:
    return lab.book("\n".join(f"- {one}" for one in steps), tools=ONCE) + top


def block(name: str, steps: str, *, on_failure: str = "", last: str = "") -> str:
    lists = [f"steps: [ {steps} ]"]
    lists += [f"on_failure: [ {on_failure} ]"] if on_failure else []
    lists += [f"finally: [ {last} ]"] if last else []
    return f"{{ id: {name}, type: block, {', '.join(lists)} }}"


def play(lab, text: str, *, sick=(), **options):
    lab.sick = frozenset(sick)
    return lab.runner(text, files=ONCE, **options)


def again(lab, ran, *, sick=(), **options):
    lab.calls.clear()
    lab.sick = frozenset(sick)
    resumed = lab.runner.resume(ran.result.run_id, **options)
    trace = verify(resumed.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
    assert str(trace.status) == "unsigned"
    return resumed


# -- retry -----------------------------------------------------------------------------------------------------------


def test_a_retry_after_cleanup_runs_everything_below_the_block_again(lab):
    text = book(lab, step("before"), block("b", f"{step('one')}, {step('two')}", last=step("last")))
    ran = play(lab, text, sick={"two"})
    assert lab.values() == ["before", "one", "two", "last"]
    done = again(lab, ran, retry_failed=True)
    assert done.status == "completed"
    assert lab.values() == ["one", "two", "last"], "`finally` may have undone what `one` did"
    assert sorted(done.of("run_resumed")[-1]["void"]) == ["b", "b/0/one", "b/0/two", "b/2/last"]


def test_also_if_only_finally_failed(lab):
    ran = play(lab, book(lab, block("b", step("one"), last=step("last"))), sick={"last"})
    assert again(lab, ran, retry_failed=True).status == "completed"
    assert lab.values() == ["one", "last"]


def test_it_is_the_outermost_block_whose_cleanup_ran(lab):
    inner = block("i", f"{step('one')}, {step('two')}", on_failure=step("undo"))
    text = book(lab, block("o", f"{step('first')}, {inner}", last=step("last")))
    ran = play(lab, text, sick={"two", "undo"})
    assert lab.values() == ["first", "one", "two", "undo", "last"]
    assert again(lab, ran, retry_failed=True).status == "completed"
    assert lab.values() == ["first", "one", "two", "last"]


def test_without_cleanup_only_the_failed_step_runs_again(lab):
    inner = block("i", f"{step('one')}, {step('two')}")
    ran = play(lab, book(lab, block("o", f"{step('first')}, {inner}")), sick={"two"})
    assert again(lab, ran, retry_failed=True).status == "completed"
    assert lab.values() == ["two"]


def test_a_handled_block_beside_the_failure_is_left_alone(lab):
    text = book(lab, block("b", step("one"), on_failure=step("undo")), step("late"))
    ran = play(lab, text, sick={"one", "late"})
    assert again(lab, ran, retry_failed=True).status == "completed"
    assert lab.values() == ["late"]


def test_cleanup_of_the_run_voids_all_of_it(lab):
    text = book(lab, step("one"), step("two"), top=f"finally: [ {step('last')} ]\n")
    ran = play(lab, text, sick={"two"})
    done = again(lab, ran, retry_failed=True)
    assert done.status == "completed"
    assert lab.values() == ["one", "two", "last"]


def test_an_item_of_a_loop_is_retried_alone(lab):
    each = block("b", "{ id: try, type: tool, tool: lab, inputs: { value: '{{ .host }}' } }", last=step("last"))
    text = book(lab, each.replace("type: block,", "type: block, for_each: { as: host, over: [a, b] },"))
    ran = play(lab, text, sick={"b"})
    assert lab.values() == ["a", "last", "b", "last"]
    assert again(lab, ran, retry_failed=True).status == "completed"
    assert lab.values() == ["b", "last"]


def test_what_took_effect_is_listed_and_repeated_with_yes(lab):
    text = book(lab, block("b", f"{step('push', 'once')}, {step('two')}", last=step("free", "once")))
    ran = play(lab, text, sick={"two"})
    with pytest.raises(RunError) as refused:
        again(lab, ran, retry_failed=True)
    assert refused.value.kind == "unknown_outcome"
    assert "b/0/push, b/2/free would run again: they write, are not idempotent and succeeded" in refused.value.message
    assert (
        "cleanup ran since, or the step around failed by itself, so everything in it would run again"
        in refused.value.message
    )
    assert f"gert resume --run {ran.result.run_id} --retry-failed --yes" in refused.value.hint
    assert lab.calls == []
    done = again(lab, ran, retry_failed=True, yes=True)
    assert done.status == "completed"
    assert lab.values() == ["push", "two", "free"]
    assert done.of("run_resumed")[-1]["reconciled"] == {"b/0/push": "redo", "b/2/free": "redo"}


def test_yes_says_nothing_about_steps_that_no_cleanup_followed(lab):
    ran = play(lab, book(lab, step("push", "once")), sick={"push"})
    with pytest.raises(RunError, match="push took effect") as refused:
        again(lab, ran, retry_failed=True, yes=True)
    assert "--yes" not in refused.value.hint


# -- abort -----------------------------------------------------------------------------------------------------------

WORK = f"{step('one')}, {step('push', 'once')}, {step('never')}"


def interrupted(lab, text: str, *, at: str):
    """A run that is cancelled while the tool is called with a value."""
    lab.stop, lab.stop_at = Stop(), at
    ran = play(lab, text, stop=lab.stop)
    assert ran.status == "cancelled"
    lab.stop_at = ""
    return ran


def test_an_aborted_run_runs_open_cleanup_only_and_is_cancelled(lab):
    seen = "{ id: undo, type: tool, tool: lab, inputs: { value: 'undo {{ .failure.kind }} {{ .failure.step }}' } }"
    text = book(lab, block("b", WORK, on_failure=seen, last=step("free")), step("after"))
    ran = interrupted(lab, text, at="push")
    done = again(lab, ran, abort=True)
    assert lab.values() == ["undo cancelled push", "free"]
    end = done.of("run_complete")[-1]
    assert (end["status"], end["reason"]) == ("cancelled", "aborted")
    assert "failing" not in end
    assert done.of("run_resumed")[-1]["abort"] is True
    assert done.result.outcome is None


def test_no_block_handles_an_abort_and_no_list_goes_on(lab):
    text = book(
        lab,
        block("b", block("i", WORK, on_failure=step("inner")), on_failure=step("outer")).replace(
            "type: block,", "type: block, continue_on_fail: true,", 1
        ),
        step("after"),
        top=f"on_failure: [ {step('told')} ]\nfinally: [ {step('last')} ]\n",
    )
    ran = interrupted(lab, text, at="push")
    assert again(lab, ran, abort=True).status == "cancelled"
    assert lab.values() == ["inner", "outer", "told", "last"]


def test_cleanup_of_steps_that_had_not_begun_does_not_run(lab):
    text = book(lab, step("push", "once"), block("b", step("one"), last=step("free")))
    ran = interrupted(lab, text, at="push")
    assert again(lab, ran, abort=True).status == "cancelled"
    assert lab.values() == []


def test_cleanup_that_had_begun_is_finished(lab):
    text = book(
        lab, block("b", step("one"), on_failure=f"{step('undo')}, {step('more')}", last=step("free")), step("on")
    )
    lab.stop, lab.stop_at = Stop(), "undo"
    ran = play(lab, text, sick={"one"}, stop=lab.stop)
    assert ran.status == "cancelled"
    lab.stop_at = ""
    assert again(lab, ran, abort=True).status == "cancelled"
    assert lab.values()[-2:] == ["more", "free"]
    assert "on" not in lab.values()


def test_a_failure_in_the_cleanup_of_an_aborted_run_is_named(lab):
    ran = interrupted(lab, book(lab, block("b", WORK, last=step("free"))), at="push")
    done = again(lab, ran, sick={"free"}, abort=True)
    assert done.status == "cancelled"
    assert done.of("run_complete")[-1]["failing"] == ["b/2/free"]


@pytest.mark.parametrize("at", ["push", "side"])
def test_loops_and_branches_stop_at_what_has_no_result(lab, at):
    each = "{ id: each, type: tool, tool: once, for_each: { as: host, over: [a, push, c] }, inputs: { value: '{{ .host }}' } }"
    fork = "{ id: p, type: parallel, branches: [ { steps: [ SIDE ] }, { steps: [ OTHER ] } ] }"
    fork = fork.replace("SIDE", step("side")).replace(
        "OTHER", step("other").replace("tool: lab,", "tool: lab, scope: o,")
    )
    text = book(lab, block("b", f"{each}, {fork}", last=step("free")))
    ran = interrupted(lab, text, at=at)
    done = again(lab, ran, abort=True)
    assert done.status == "cancelled"
    assert lab.values() == ["free"]
    assert bool(done.of("for_each_item", "b/0/each[2]")) is (at == "side")


def test_a_run_that_waits_for_an_approval_is_aborted(lab):
    gated = tool("gated", effects="asked")
    text = lab.book(
        f"- {block('b', '{ id: ask, type: tool, tool: gated }', last=step('free'))}",
        meta="governance: { rules: [ { effects: [asked], action: require-approval } ] }",
        tools=gated,
    )
    ran = lab.runner(text, files=gated, approval="inbox")
    assert ran.status == "approval_pending"
    assert again(lab, ran, abort=True).status == "cancelled"
    assert lab.values() == ["free"]


def test_an_abort_is_final(lab):
    ran = interrupted(lab, book(lab, block("b", WORK, last=step("free"))), at="push")
    done = again(lab, ran, abort=True)
    for options in ({}, {"abort": True}, {"retry_failed": True}):
        with pytest.raises(RunFinished) as over:
            again(lab, done, **options)
        assert over.value.result.status == "cancelled"
        assert lab.calls == []
    assert done.result.state.resume_point is None


def test_a_killed_abort_goes_on_as_an_abort(lab):
    text = book(lab, block("b", WORK, on_failure=step("undo"), last=f"{step('free')}, {step('tell')}"), step("after"))
    ran = interrupted(lab, text, at="push")
    before = len(ran.events)
    done = again(lab, ran, abort=True)
    lines = done.result.trace.read_bytes().splitlines(keepends=True)
    for count in range(before + 1, len(lines)):
        done.result.trace.write_bytes(b"".join(lines[:count]))
        (done.result.trace.parent / "state.json").unlink(missing_ok=True)
        resumed = again(lab, ran)
        assert (resumed.status, resumed.steps) == (done.status, done.steps), count
        assert not {"one", "push", "never", "after"} & set(lab.values()), count


def test_an_unknown_outcome_in_cleanup_is_still_asked_about(lab):
    text = book(lab, block("b", WORK, last=step("free", "once")))
    ran = interrupted(lab, text, at="push")
    lab.stop, lab.stop_at = Stop(), "free"
    stopped = again(lab, ran, abort=True, stop=lab.stop)
    assert stopped.status == "cancelled"
    lab.stop_at = ""
    with pytest.raises(RunError, match="cannot determine whether b/2/free took effect"):
        again(lab, ran)
    done = again(lab, ran, reconcile={"b/2/free": "done"})
    assert done.result.state.aborted
    assert lab.calls == []


WAITS = {
    "for": "{ id: w, type: wait, for: 300s }",
    "look": "{ id: w, type: wait, until: '{{ eq .look.value 1 }}', every: 300s, timeout: 900s, steps: [ LOOK ] }",
}


@pytest.mark.parametrize("kind", WAITS)
def test_an_aborted_run_waits_no_longer(lab, kind):
    lab.runner.registry = lab.registry_with(gert_step_wait)
    seen = "{ id: free, type: tool, tool: lab, inputs: { value: 'free {{ .failure.step }}' } }"
    past = "{ id: past, type: wait, for: 50ms }"
    text = book(lab, block("b", f"{past}, {WAITS[kind].replace('LOOK', step('look'))}", last=seen))
    stop = Stop()
    timer = threading.Timer(1.5, stop.throw, ["SIGINT"])
    timer.start()
    ran = play(lab, text, stop=stop)
    timer.join()
    assert ran.status == "cancelled"
    before = len(ran.events)
    done = again(lab, ran, abort=True)
    assert lab.values() == ["free w"]
    assert done.steps["b/0/past"] == "success"
    lines = done.result.trace.read_bytes().splitlines(keepends=True)
    for count in range(before + 1, len(lines)):
        done.result.trace.write_bytes(b"".join(lines[:count]))
        (done.result.trace.parent / "state.json").unlink(missing_ok=True)
        assert again(lab, ran).steps == done.steps, count
