"""The wait step: a time, rounds of looks, a condition, its own timeout, and what stays readable."""

from __future__ import annotations

import gert_step_wait
import pytest
from gert_step_wait.step import WaitStep, check

from gert_core.api import DocumentError, Severity
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance

RUNBOOK = """
apiVersion: kernel/v0
meta: { name: waits }
steps:
  - { id: settle, type: wait, for: 20ms }
  - id: ready
    type: wait
    until: '{{ eq .second.status "success" }}'
    every: 10ms
    timeout: 1s
    steps:
      - { id: second, type: wait, for: 1ms, when: "{{ ge (.first.waited | default 0) 0.001 }}" }
      - { id: first, type: wait, for: 1ms }
  - type: finish
"""


class TestWaitConformance(StepTypeConformance):
    plugin = gert_step_wait
    runbook = RUNBOOK
    slow = RUNBOOK.replace("for: 20ms", "for: 60s")


@pytest.fixture
def runner(tmp_path) -> GertRunner:
    return GertRunner(directory=tmp_path, registry=Registry.build(scan=(), extra_plugins=[gert_step_wait, finish]))


def fields(ran, key):
    return ran.of("step_complete", key)[0]["fields"]


def test_it_looks_until_the_condition_is_true(runner: GertRunner) -> None:
    ran = runner(RUNBOOK)
    ran.assert_outcome("resolved")
    assert [e["result"] for e in ran.of("wait_round", "ready")] == [False, True]
    assert fields(ran, "ready")["rounds"] == 2
    assert 0.01 <= fields(ran, "ready")["waited"] < 1
    assert fields(ran, "settle") == {"rounds": 0, "waited": 0.02}


def test_when_the_time_is_up_it_has_failed_and_looked_once_more(runner: GertRunner) -> None:
    never = RUNBOOK.replace('"success"', '"never"').replace("timeout: 1s", "timeout: 25ms")
    ran = runner(never)
    (complete,) = ran.of("step_complete", "ready")
    assert complete["status"] == "failed"
    assert complete["failure"]["kind"] == "wait_timeout"
    rounds = complete["fields"]["rounds"]
    assert complete["failure"]["message"] == f'not true after {rounds} rounds: {{{{ eq .second.status "never" }}}}'
    assert complete["fields"]["waited"] >= 0.025


SLOW_LOOK = """
apiVersion: kernel/v0
meta: { name: slow-look }
steps:
  - id: ready
    type: wait
    timeout: 50ms
    every: 10ms
    continue_on_fail: true
    until: "{{ false }}"
    steps: [ { id: look, type: wait, for: 150ms } ]
  - type: finish
"""


def test_no_look_begins_when_the_last_one_outlived_the_time(runner: GertRunner) -> None:
    ran = runner(SLOW_LOOK)
    assert ran.of("step_complete", "ready")[0]["failure"]["kind"] == "wait_timeout"
    assert fields(ran, "ready")["rounds"] == 1


def test_a_run_that_was_interrupted_looks_once_more_wherever_that_was(runner: GertRunner) -> None:
    ran = runner(SLOW_LOOK)
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    times = [n for n, event in enumerate(ran.events) if event.type == "time_read" and event.step_key == "ready"]
    looked = [n for n, event in enumerate(ran.events) if event.type == "step_complete" and "look" in event.step_key]
    assert len(looked) == 1
    for count in range(times[0] + 1, times[1] + 1):  # behind the second time the wait has decided
        ran.result.trace.write_bytes(b"".join(lines[:count]))
        resumed = runner.resume(ran.result.run_id)
        assert resumed.status == "completed", count
        rounds = fields(resumed, "ready")["rounds"]
        assert rounds == 2, count
        again = resumed.result.trace.read_bytes().splitlines(keepends=True)
        for later in range(len(lines[:count]) + 1, len(again), 3):
            resumed.result.trace.write_bytes(b"".join(again[:later]))
            assert runner.resume(ran.result.run_id).status == "completed", (count, later)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{ id: a, type: wait }", "a wait needs `for` or `steps`"),
        ("{ id: a, type: wait, until: '{{ true }}', timeout: 1s }", "`until` needs `steps` that look"),
        ("{ id: a, type: wait, for: 1s, until: '{{ true }}', steps: [] }", "remove `until` and `steps`"),
        ("{ id: a, type: wait, steps: [] }", "needs a `timeout`, such as `timeout: 10m`"),
    ],
)
def test_other_shapes_are_refused(runner: GertRunner, step, message) -> None:
    with pytest.raises(DocumentError) as caught:
        runner(f"apiVersion: kernel/v0\nmeta: {{ name: shapes }}\nsteps:\n  - {step}\n  - type: finish\n")
    (finding,) = caught.value.diagnostics
    assert (finding.rule, finding.line) == ("wait-shape", 4)
    assert message in finding.message


LOOK = "steps: [ { id: b, type: wait, for: 1ms } ]"


@pytest.mark.parametrize(
    ("fields", "hint", "mended"),
    [
        (f"for: 1ms, {LOOK}", "remove `steps`, or write `timeout: 10m` instead of `for`", f"timeout: 10m, {LOOK}"),
        (f"for: 1ms, timeout: 5s, {LOOK}", "remove `steps`, or remove `for`", f"timeout: 5s, {LOOK}"),
        ("for: 1ms, until: '{{ true }}'", "remove `until`", "for: 1ms"),
        (
            f"for: 1ms, until: '{{{{ true }}}}', {LOOK}",
            "remove `until` and `steps`, or write `timeout: 10m` instead of `for`",
            f"timeout: 10m, until: '{{{{ true }}}}', {LOOK}",
        ),
    ],
)
def test_the_hint_about_two_shapes_leads_to_one(runner: GertRunner, fields, hint, mended) -> None:
    book = (
        "apiVersion: kernel/v0\nmeta: {{ name: shapes }}\nsteps:\n  - {{ id: a, type: wait, {0} }}\n  - type: finish\n"
    )
    with pytest.raises(DocumentError) as caught:
        runner(book.format(fields))
    assert [finding.hint for finding in caught.value.diagnostics] == [hint]
    assert runner(book.format(mended)).status == "completed"


def test_a_loop_of_no_rounds_of_time_is_refused(runner: GertRunner) -> None:
    with pytest.raises(DocumentError) as caught:
        runner(RUNBOOK.replace("every: 10ms", "every: 0s"))
    assert [d.rule for d in caught.value.diagnostics] == ["duration-syntax"]


def test_a_wait_without_a_look_is_refused(runner: GertRunner) -> None:
    step = "{ id: a, type: wait, timeout: 3s, steps: [] }"
    with pytest.raises(DocumentError) as caught:
        runner(f"apiVersion: kernel/v0\nmeta: {{ name: shapes }}\nsteps:\n  - {step}\n  - type: finish\n")
    (finding,) = caught.value.diagnostics
    assert (finding.rule, finding.message) == ("wait-shape", "`steps` has no step that looks")
    assert finding.hint == "add a step that looks, or write `for` to wait for a time"


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({"for": "3s", "timeout": "1s"}, ["wait-shape"]),
        ({"for": "3s", "every": "1s"}, ["not-acted-on"]),
        ({"for": "3s", "timeout": "5s"}, []),
        ({"for": "3s", "timeout": "{{ .t }}"}, []),
    ],
)
def test_what_a_wait_for_a_time_never_does_is_a_warning(fields, rules) -> None:
    found = check(WaitStep.model_validate(fields))
    assert [(one.rule, one.severity) for one in found] == [(rule, Severity.WARNING) for rule in rules]
    assert all((one.hint or "").startswith("remove") for one in found)


def test_a_rendered_time_that_is_none_is_told_once(runner: GertRunner) -> None:
    step = "{ id: a, type: wait, for: '{{ .t }}' }"
    head = "apiVersion: kernel/v0\nmeta: { name: b, inputs: { t: { type: string, default: soon } } }\nsteps:\n"
    (failure,) = runner(f"{head}  - {step}\n  - type: finish\n").result.failures
    assert failure.message == "for: 'soon' is not a valid duration; write one like 30s, 5m, 1h30m or 500ms"
