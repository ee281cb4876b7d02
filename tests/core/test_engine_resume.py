"""Second lives of a run: crashed after any event, unknown outcomes, retries, drift, locks and torn lines."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from lab import Lab, tool

from gert_core.api import RunError, UsageError
from gert_core.engine.resume.plan import RunFinished
from gert_core.engine.steps.compiled import CompiledRunbook
from gert_core.trace.verify import verify


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def cut(ran, count: int) -> None:
    """Leave the first events of a trace, as a crash does."""
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    ran.result.trace.write_bytes(b"".join(lines[:count]))
    (ran.result.trace.parent / "state.json").unlink(missing_ok=True)


def events_until(ran, type_: str, key: str) -> int:
    """How many events there are up to and including one of them."""
    return next(e.seq for e in ran.events if e.type == type_ and e.step_key == key) + 1 - ran.events[0].seq


EVERYTHING = """
- { id: first, type: tool, tool: lab, inputs: { value: 1 } }
- { id: again, type: tool, tool: lab, inputs: { value: "{{ .again.retry_count }}" }, next: { step: again, max: 2 } }
- { id: never, type: tool, tool: lab, when: false }
- { id: bad, type: tool, tool: lab, inputs: { exit: 1, value: "{{ .again.value }}" }, continue_on_fail: true }
- id: fork
  type: parallel
  branches:
    - steps:
        - { id: left, type: tool, tool: lab, scope: in/left, inputs: { value: l } }
        - { id: each, type: tool, tool: lab, scope: in/each, for_each: { as: n, over: [a, b], key: "{{ .n }}", parallel: true }, inputs: { value: "{{ .n }}" }, export: [value] }
    - steps:
        - id: inner
          type: branch
          branches:
            - { condition: '{{ eq .bad.status "failed" }}', steps: [ { id: right, type: tool, tool: side, inputs: { outputs: { other: r } } } ] }
            - { condition: default, steps: [] }
- id: rounds
  type: repeat
  repeat: { max: 4, until: "{{ ge .repeat.index 1 }}" }
  steps:
    - { id: argue, type: tool, tool: side, inputs: { outputs: { other: "{{ .repeat.index }}{{ .other }}" } } }
    - { id: items, type: branch, for_each: { as: x, over: [1, 2] }, branches: [ { condition: default, steps: [ { id: deep, type: tool, tool: side, inputs: { outputs: { other: "{{ .x }}" } } } ] } ] }
- { id: check, type: assert, assert: [ { type: equals, value: "{{ .scope.in/each.b.value }}", expected: b } ] }
- { id: person, type: manual, instructions: look, contract: { effects: [], writes: [] }, required_evidence: [ { kind: text, name: notes } ] }
- { id: stop, type: end, outcome: { category: resolved, code: "{{ .notes }}", meta: { all: "{{ .value }} {{ .scope.repeat/rounds/1.other }}" } } }
"""


def everything(lab):
    side = tool("side", outputs="{ other: { type: any, required: false } }")
    ran = lab(EVERYTHING, tools=side, end=False, answers=["seen"], trace_sync="none")
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    return ran


def test_a_crash_after_any_event_changes_nothing(lab):
    whole = everything(lab)
    home = whole.result.trace.parent
    kept = home.with_name("kept")
    shutil.copytree(home, kept)
    keys = {call.key for call in lab.calls}
    for count in range(1, len(whole.events), 1 if os.environ.get("GERT_FUZZ") else 3):
        shutil.rmtree(home)
        shutil.copytree(kept, home)
        cut(whole, count)
        finished = {
            e.step_key for e in whole.events[:count] if e.type == "step_complete" and e.data["status"] != "skipped"
        }
        started = {e.data["idempotency_key"]: e.step_key for e in whole.events if e.data.get("idempotency_key")}
        lab.calls.clear()
        again = lab.runner.resume(whole.result.run_id, answers=["seen"])
        told = f"crash after event {count}"
        assert (again.status, again.result.outcome) == (whole.status, whole.result.outcome), told
        assert again.steps == whole.steps, told
        assert again.result.outputs == whole.result.outputs, told
        assert {call.key for call in lab.calls} <= keys, told
        assert not {started[call.key] for call in lab.calls} & finished, f"{told}: a finished step ran again"
        verdict = verify(again.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned", told
        completes = [e.step_key for e in again.events if e.type == "step_complete"]
        assert len(completes) == len(set(completes)), told


def test_two_crashes_in_a_row_change_nothing(lab):
    whole = everything(lab)
    home = whole.result.trace.parent
    kept = home.with_name("kept")
    shutil.copytree(home, kept)
    for count in range(5, len(whole.events), 23):
        shutil.rmtree(home)
        shutil.copytree(kept, home)
        cut(whole, count)
        once = lab.runner.resume(whole.result.run_id, answers=["seen"])
        for second in (count + 2, (count + len(once.events)) // 2):
            if second < len(once.events):
                cut(once, second)
                twice = lab.runner.resume(whole.result.run_id, answers=["seen"])
                assert twice.result.outcome == whole.result.outcome, (count, second)
                assert twice.steps == whole.steps, (count, second)


# -- unknown outcomes ---------------------------------------------------------------------------------------------------------

WRITE = """
- { id: a, type: tool, tool: writer, inputs: { value: 1 } }
- { id: b, type: tool, tool: lab, inputs: { value: "{{ .a.value | default 0 }}" } }
"""


def interrupted(lab, *, idempotent: str = "false"):
    """A run killed while its first tool was under way."""
    ran = lab(WRITE, tools=tool("writer", writes="disk", idempotent=idempotent))
    cut(ran, events_until(ran, "step_start", "a"))
    lab.calls.clear()
    return ran


def test_an_interrupted_write_that_is_not_idempotent_is_an_unknown_outcome(lab):
    ran = interrupted(lab)
    with pytest.raises(RunError) as caught:
        lab.runner.resume(ran.result.run_id)
    assert caught.value.kind == "unknown_outcome"
    assert "--reconcile 'a=done|redo|failed'" in caught.value.hint
    assert lab.calls == []


def test_reconciled_as_done_it_is_not_run_again_and_has_the_outputs_given(lab):
    ran = interrupted(lab)
    again = lab.runner.resume(ran.result.run_id, reconcile={"a": "done"}, outputs={"a": {"value": 42}})
    assert again.status == "completed"
    assert lab.values() == [42]
    assert again.of("step_complete", "a")[0]["reconciled"] == "done"


def test_reconciled_as_redo_it_runs_again_with_the_same_idempotency_key(lab):
    ran = interrupted(lab)
    again = lab.runner.resume(ran.result.run_id, reconcile={"a": "redo"})
    assert again.status == "completed"
    assert [call.tool for call in lab.calls] == ["writer", "lab"]
    assert lab.calls[0].key == ran.of("step_start", "a")[0]["idempotency_key"]
    assert again.of("step_attempt", "a") == [{"step_id": "a", "attempt": 2, "reason": "resumed"}]


def test_reconciled_as_failed_the_run_fails(lab):
    ran = interrupted(lab)
    again = lab.runner.resume(ran.result.run_id, reconcile={"a": "failed"})
    assert again.status == "failed"
    assert lab.calls == []


def test_an_idempotent_write_is_simply_run_again_with_the_same_key(lab):
    ran = interrupted(lab, idempotent="true")
    again = lab.runner.resume(ran.result.run_id)
    assert again.status == "completed"
    assert lab.calls[0].key == ran.of("step_start", "a")[0]["idempotency_key"]


def test_reconcile_takes_only_steps_whose_outcome_is_unknown(lab):
    ran = interrupted(lab)
    with pytest.raises(UsageError):
        lab.runner.resume(ran.result.run_id, reconcile={"b": "done"})


# -- retry, finished, drift, lock, torn -----------------------------------------------------------------------------------------


def test_retry_failed_runs_the_failed_step_again_and_nothing_that_succeeded(lab):
    lab.scripts["n"] = [{"value": "x"}]
    steps = """
        - { id: a, type: tool, tool: lab, inputs: { value: 1 } }
        - id: fork
          type: parallel
          branches:
            - { steps: [ { id: b, type: tool, tool: flaky, scope: s } ] }
            - { steps: [ { id: c, type: tool, tool: lab, scope: t } ] }
    """
    broken = {"on": True}

    def fail(call):
        if call.tool == "flaky" and broken["on"]:
            from gert_core.api import StepProblem

            raise StepProblem("down", "not now")

    lab.on_call = fail
    ran = lab(steps, tools=tool("flaky"))
    assert ran.status == "error"
    broken["on"] = False
    lab.calls.clear()
    again = lab.runner.resume(ran.result.run_id, retry_failed=True)
    again.assert_outcome("resolved")
    assert [call.tool for call in lab.calls] == ["flaky"]
    assert again.of("run_resumed")[0]["void"] == ["fork/0/b", "fork"]


@pytest.mark.parametrize(("parallel", "expected"), [("true", [1]), ("false", [1, 2])])
def test_retry_failed_of_a_loop_runs_the_failed_item_and_those_that_never_ran(lab, parallel, expected):
    broken = {"on": True}

    def fail(call):
        if call.inputs["value"] == 1 and broken["on"]:
            from gert_core.api import StepProblem

            raise StepProblem("down", "not now")

    lab.on_call = fail
    ran = lab(
        f"- {{ id: a, type: tool, tool: lab, for_each: {{ as: n, over: [0, 1, 2], parallel: {parallel} }},"
        ' inputs: { value: "{{ .n }}" }, export: [value] }'
        '\n- { id: b, type: tool, tool: lab, inputs: { value: "{{ .value }}" } }'
    )
    assert ran.status == "error"
    broken["on"] = False
    lab.calls.clear()
    again = lab.runner.resume(ran.result.run_id, retry_failed=True)
    again.assert_outcome("resolved")
    assert lab.values() == [*expected, [0, 1, 2]]


def test_retry_failed_inside_a_repeat_goes_on_in_the_same_iteration(lab):
    broken = {"on": True}

    def fail(call):
        if call.inputs["value"] == 1 and broken["on"]:
            from gert_core.api import StepProblem

            raise StepProblem("down", "not now")

    lab.on_call = fail
    ran = lab("""
        - id: r
          type: repeat
          repeat: { max: 3 }
          steps: [ { id: x, type: tool, tool: lab, inputs: { value: "{{ .repeat.index }}" } } ]
    """)
    assert ran.steps == {"r/0/x": "success", "r/1/x": "error", "r": "error"}
    broken["on"] = False
    lab.calls.clear()
    again = lab.runner.resume(ran.result.run_id, retry_failed=True)
    assert again.status == "completed"
    assert lab.values() == [1, 2]


def test_resuming_a_finished_run_executes_nothing(lab):
    ran = lab("- { id: a, type: tool, tool: lab }")
    lab.calls.clear()
    with pytest.raises(RunFinished) as caught:
        lab.runner.resume(ran.result.run_id)
    assert caught.value.result.status == "completed"
    assert lab.calls == []


def test_a_failed_run_is_finished_unless_it_is_retried(lab):
    ran = lab("- { id: a, type: tool, tool: lab, inputs: { exit: 1 } }")
    with pytest.raises(RunFinished):
        lab.runner.resume(ran.result.run_id)


def drifted(lab, name: str):
    ran = lab("- { id: a, type: tool, tool: lab, inputs: { value: 1 } }\n- { id: b, type: tool, tool: lab }")
    cut(ran, events_until(ran, "step_complete", "a"))
    path = lab.directory / name
    path.write_text(path.read_text() + "# changed\n")
    lab.calls.clear()
    return ran


@pytest.mark.parametrize("name", ["runbook.yaml", "tools/lab.tool.yaml"])
def test_a_changed_file_is_refused_by_its_name(lab, name):
    ran = drifted(lab, name)
    with pytest.raises(RunError) as caught:
        lab.runner.resume(ran.result.run_id)
    assert caught.value.kind == "drift"
    assert name in caught.value.message
    assert lab.calls == []


def test_drift_can_be_allowed_and_is_traced(lab):
    ran = drifted(lab, "runbook.yaml")
    again = lab.runner.resume(ran.result.run_id, allow_drift=True)
    assert again.status == "completed"
    assert len(lab.calls) == 1
    assert "runbook.yaml" in json.dumps(again.of("run_resumed")[0]["drift"])


def test_a_run_that_is_being_executed_is_refused(lab, tmp_path):
    seen = []

    def look(call):
        run_id = next((tmp_path / "runs").glob("[!.]*")).name
        with pytest.raises(RunError) as caught:
            lab.runner.resume(run_id)
        seen.append(caught.value.kind)

    lab.on_call = look
    lab("- { id: a, type: tool, tool: lab }")
    assert seen == ["run_locked"]


def test_a_torn_last_line_is_cut_and_counted(lab):
    ran = lab("- { id: a, type: tool, tool: lab }\n- { id: b, type: tool, tool: lab }")
    cut(ran, events_until(ran, "step_complete", "a"))
    with ran.result.trace.open("ab") as file:
        file.write(b'{"type":"step_st')
    again = lab.runner.resume(ran.result.run_id)
    assert again.status == "completed"
    assert again.of("run_resumed")[0]["torn_bytes"] == 16
    verdict = verify(again.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
    assert str(verdict.status) == "unsigned"


def test_a_rehearsal_cannot_be_resumed(lab):
    ran = lab("- { id: a, type: tool, tool: lab }", mode="dry-run")
    with pytest.raises(RunError) as caught:
        lab.runner.resume(ran.result.run_id)
    assert caught.value.kind == "not_resumable"


def test_a_collision_that_was_recorded_is_recalled_as_the_error_it_was(lab, tmp_path):
    from gert_core.documents.load import load_runbook

    text = lab.book("""
        - { id: a, type: tool, tool: lab, inputs: { value: 1 }, export: [value] }
        - { id: b, type: tool, tool: lab, scope: s, inputs: { value: 2 }, export: [value], continue_on_fail: true }
        - { id: c, type: tool, tool: lab, inputs: { value: "{{ .b.status }}" } }
    """)
    lab.runner.write({"runbook.yaml": text})
    checked = load_runbook(tmp_path / "runbook.yaml", registry=lab.runner.registry).runbook
    ran = lab.runner(text, compiled=CompiledRunbook(checked))
    assert ran.steps["b"] == "error"
    # Validation would refuse the runbook on resume: the record alone is asked here.
    from gert_core.engine.resume.recorded import Recorded
    from gert_core.stores.directory import DirectoryRun
    from gert_core.trace.recovery import CheckedTrace

    run = DirectoryRun(ran.result.trace.parent)
    events = CheckedTrace(run)
    recorded = Recorded(events, events.lines)
    assert recorded.finished("b").failure["kind"] == "export_collision"
    run.close()


def test_the_outcome_is_written_once_however_often_the_last_moment_is_interrupted(lab: Lab):
    ran = lab("- { id: stop, type: end, outcome: { category: resolved } }", end=False)
    cut(ran, len(ran.events) - 1)
    for _ in range(3):
        again = lab.runner.resume(ran.result.run_id)
        again.assert_outcome("resolved")
        assert [e["step_key"] for e in again.of("outcome_resolved")] == ["stop"]
        cut(again, len(again.events) - 1)
