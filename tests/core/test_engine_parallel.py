"""parallel: isolation, conflicts, bounds, merging, ends and failures, suspended branches, timeouts."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pytest
from lab import Lab, tool

TWO = "{ other: { type: any, required: false } }"


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def fork(*branches: str, more: str = "") -> str:
    """A parallel step whose branches are one step each, given in flow style."""
    lines = [f"- id: fork\n  type: parallel{more}\n  branches:"]
    lines += [f"    - label: b{i}\n      steps:\n        - {b}" for i, b in enumerate(branches)]
    return "\n".join(lines)


def step(name_: str, inputs: str = "{}", *, name: str = "lab", more: str = "") -> str:
    """A tool step in a scope of its own, so that branches cannot clash."""
    return f"{{ id: {name_}, type: tool, tool: {name}, scope: in_{name_}, inputs: {inputs}{more} }}"


PAUSE = "{ pause: 0.1 }"


def test_branches_really_run_at_the_same_time(lab):
    ran = lab(fork(step("a", PAUSE), step("b", PAUSE)))
    assert lab.calls[0].overlaps(lab.calls[1])
    assert ran.of("parallel_fork", "fork")[0]["serialized"] is False


def test_conflicting_branches_really_run_one_after_another_in_declaration_order(lab):
    files = tool("w1", writes="disk") | tool("r1", reads="disk")
    ran = lab(fork(step("a", PAUSE, name="w1"), step("b", PAUSE, name="r1")), tools=files)
    first, second = lab.calls
    assert (first.tool, second.tool) == ("w1", "r1")
    assert not first.overlaps(second)
    data = ran.of("parallel_fork", "fork")[0]
    assert data["serialized"] is True
    assert data["serialized_branches"] == [{"branch": "b1", "after": ["b0"]}]


def test_branches_that_do_not_conflict_stay_concurrent_beside_those_that_do(lab):
    files = tool("w1", writes="disk") | tool("w2", writes="disk")
    lab(fork(step("a", PAUSE, name="w1"), step("b", PAUSE, name="w2"), step("c", PAUSE)), tools=files)
    by = {call.tool: call for call in lab.calls}
    assert not by["w1"].overlaps(by["w2"])
    assert by["lab"].overlaps(by["w1"])


def test_a_conflict_deep_inside_a_block_counts(lab):
    files = tool("w1", writes="disk")
    deep = "{ id: x, type: branch, branches: [ { condition: default, steps: [" + step("a", PAUSE, name="w1") + "] } ] }"
    lab(fork(deep, step("b", PAUSE, name="w1")), tools=files)
    assert not lab.calls[0].overlaps(lab.calls[1])


def test_a_serialize_rule_makes_matching_branches_wait(lab):
    files = tool("w1", writes="disk") | tool("w2", writes="net")
    meta = "governance: { rules: [ { risk: medium, action: allow, serialize: true } ] }"
    ran = lab(fork(step("a", PAUSE, name="w1"), step("b", PAUSE, name="w2")), tools=files, meta=meta)
    assert not lab.calls[0].overlaps(lab.calls[1])
    assert ran.of("parallel_fork")[0]["serialized"] is True


def test_max_parallel_bounds_the_branches_under_way(lab):
    lab(fork(*(step(f"s{i}", "{ pause: 0.03 }") for i in range(4)), more="\n  max_parallel: 2"))
    for call in lab.calls:
        assert sum(1 for other in lab.calls if other.began <= call.began < other.ended) <= 2


def test_each_branch_sees_the_variables_as_they_were_at_the_fork(lab):
    files = tool("two", outputs=TWO)
    steps = """- { id: z, type: tool, tool: two, inputs: { outputs: { other: before } } }
- id: fork
  type: parallel
  max_parallel: 1
  branches:
    - steps: [ { id: a, type: tool, tool: two, inputs: { outputs: { other: changed } } } ]
    - steps: [ { id: b, type: tool, tool: lab, inputs: { value: "{{ .other }}" } } ]"""
    ran = lab(steps, tools=files)
    assert ran.status == "completed"
    assert lab.calls[-1].inputs["value"] == "before"


def test_branch_outputs_are_visible_after_the_block(lab):
    files = tool("two", outputs=TWO)
    lab(
        fork(
            "{ id: a, type: tool, tool: lab, inputs: { value: 1 } }", step("b", "{ outputs: { other: 2 } }", name="two")
        )
        + '\n- { id: look, type: tool, tool: lab, inputs: { value: "{{ .value }} {{ .a.value }} {{ .b.other }}" } }',
        tools=files,
    )
    assert lab.values()[-1] == "1 1 2"


def test_all_branches_finish_before_the_block_fails(lab):
    ran = lab(fork(step("a", "{ exit: 1 }"), step("b", "{ pause: 0.05 }")))
    assert ran.steps == {"fork/0/a": "failed", "fork/1/b": "success", "fork": "failed"}
    merge = ran.of("parallel_merge", "fork")[0]
    assert [(o["branch"], o["status"]) for o in merge["branch_outcomes"]] == [("b0", "failed"), ("b1", "success")]


def test_error_beats_failed(lab):
    ran = lab(fork(step("a", "{ exit: 1 }"), step("b", "{ pause: 5 }", more=", timeout: 50ms")))
    assert ran.status == "error"
    assert ran.steps["fork"] == "error"
    assert ran.result.failures[0].kind == "timeout"
    assert ran.events[-1].data["failing"] == ["fork/1/b", "fork/0/a"]


def end(code: str) -> str:
    return f"{{ id: end_{code}, type: end, outcome: {{ category: resolved, code: {code} }} }}"


def test_the_first_end_in_declaration_order_is_the_outcome(lab):
    slow = "{ id: a, type: tool, tool: lab, inputs: { pause: 0.06 } }\n        - " + end("first")
    ran = lab(fork(slow, end("second")))
    ran.assert_outcome("resolved", "first")
    assert [(e["step_key"], e["outcome"]["code"]) for e in ran.of("outcome_resolved")] == [
        ("fork/0/end_first", "first")
    ]
    assert "done" not in ran.steps


def test_a_failed_branch_beats_an_end_and_leaves_no_outcome(lab):
    ran = lab(fork(end("fine"), step("b", "{ exit: 1 }")))
    ran.assert_failed("exit_code")
    assert ran.result.outcome is None
    assert ran.of("outcome_resolved") == []


def test_events_inside_a_branch_carry_index_label_and_parent(lab):
    ran = lab(fork(step("a"), step("b")))
    for event in ran.events:
        if event.step_key in ("fork/0/a", "fork/1/b"):
            index = int(event.step_key[5])
            assert event.data["branch"] == {"index": index, "label": f"b{index}", "parent": "fork"}


def test_parallel_blocks_nest(lab):
    inner = (
        "{ id: inner, type: parallel, branches: [ { steps: ["
        + step("a", PAUSE)
        + "] }, { steps: ["
        + step("b", PAUSE)
        + "] } ] }"
    )
    ran = lab(fork(inner, step("c", PAUSE)))
    assert set(ran.steps) == {"fork/0/inner/0/a", "fork/0/inner/1/b", "fork/0/inner", "fork/1/c", "fork", "done"}
    assert all(one.overlaps(other) for one in lab.calls for other in lab.calls)


def test_replay_runs_branches_in_declaration_order_with_the_same_trace_every_time(lab):
    from gert_core.documents.scenario import ScenarioModel

    scenario = ScenarioModel.model_validate({"tool_responses": {"lab": [{"outputs": {"value": n}} for n in (1, 2)]}})
    lines = []
    for _ in range(2):
        ran = lab(fork(step("a"), step("b")), mode="replay", scenario=scenario)
        assert ran.status == "completed"
        drop = ("idempotency_key", "chain_hash")
        lines.append([(e.type, e.step_key, {k: v for k, v in e.data.items() if k not in drop}) for e in ran.events])
        assert [ran.of("step_complete", k)[0]["outputs"]["value"] for k in ("fork/0/a", "fork/1/b")] == [1, 2]
    assert lines[0] == lines[1]


# -- suspended branches ---------------------------------------------------------------------------------------------------

GATE = "governance: { rules: [ { writes: [disk, net], action: require-approval } ] }"


def pending(lab):
    files = tool("w1", writes="disk") | tool("w2", writes="net")
    ran = lab(
        fork(step("a", name="w1"), step("b", name="w2"), step("c", "{ value: 3 }"))
        + '\n- { id: after, type: tool, tool: lab, inputs: { value: "{{ .c.value }}" } }',
        tools=files,
        meta=GATE,
        approval="inbox",
    )
    assert ran.status == "approval_pending"
    return ran


def answer(lab, ran, *keys):
    from gert_core.api import ApprovalResponse
    from gert_core.kit.tickets import TicketStore
    from gert_core.stores.directory import DirectoryRun

    store = TicketStore(DirectoryRun(ran.result.trace.parent))
    for ticket in ran.result.pending:
        if ticket["step_key"] in keys:
            store.answer(
                ApprovalResponse(
                    ticket_id=ticket["ticket_id"],
                    approved=True,
                    approver_id="alice",
                    method="inbox",
                    timestamp=datetime.now(UTC).isoformat(),
                )
            )


def test_a_suspended_branch_lets_the_others_finish_and_all_tickets_are_pending(lab):
    ran = pending(lab)
    assert sorted(t["step_key"] for t in ran.result.pending) == ["fork/0/a", "fork/1/b"]
    assert [call.tool for call in lab.calls] == ["lab"]
    assert ran.steps == {"fork/2/c": "success"}
    assert ran.events[-1].type == "run_suspended"
    assert ran.of("step_complete", "fork") == []


def test_tickets_answered_one_by_one_bring_the_run_to_its_end(lab):
    ran = pending(lab)
    answer(lab, ran, "fork/1/b")
    second = lab.runner.resume(ran.result.run_id)
    assert second.status == "approval_pending"
    assert [t["step_key"] for t in second.result.pending] == ["fork/0/a"]
    assert [call.tool for call in lab.calls] == ["lab", "w2"]
    answer(lab, second, "fork/0/a")
    third = lab.runner.resume(ran.result.run_id)
    third.assert_outcome("resolved", "ok")
    assert [call.tool for call in lab.calls] == ["lab", "w2", "w1", "lab"]
    assert lab.calls[-1].inputs["value"] == 3
    assert len(third.of("parallel_merge", "fork")) == 1
    assert len(third.of("parallel_fork", "fork")) == 1
    assert [e.type for e in third.events].count("run_resumed") == 2


def test_a_branch_that_conflicts_with_a_suspended_one_waits_for_it(lab):
    files = tool("w1", writes="disk") | tool("r1", reads="disk")
    ran = lab(fork(step("a", name="w1"), step("b", name="r1")), tools=files, meta=GATE, approval="inbox")
    assert ran.status == "approval_pending"
    assert lab.calls == []
    answer(lab, ran, "fork/0/a")
    again = lab.runner.resume(ran.result.run_id)
    again.assert_outcome("resolved")
    assert [call.tool for call in lab.calls] == ["w1", "r1"]


@pytest.mark.parametrize("order", [("w1", "w2"), ("w2", "w1")], ids=["suspended first", "denied first"])
def test_a_suspended_branch_outranks_a_denied_one(lab, order):
    files = tool("w1", writes="disk") | tool("w2", writes="net")
    rules = "governance: { rules: [ { writes: [disk], action: require-approval }, { writes: [net], action: deny } ] }"
    steps = fork(*(step(name, name=name) for name in order))
    ran = lab(steps, tools=files, meta=rules, approval="inbox", preflight=False)
    suspended = f"fork/{order.index('w1')}/w1"
    assert ran.status == "approval_pending"
    assert [ticket["step_key"] for ticket in ran.result.pending] == [suspended]
    assert ran.events[-1].type == "run_suspended"
    answer(lab, ran, suspended)
    again = lab.runner.resume(ran.result.run_id)
    assert again.status == "failed"
    assert [failure.kind for failure in again.result.failures] == ["governance_denied"]
    assert [call.tool for call in lab.calls] == ["w1"]


# -- timeouts ---------------------------------------------------------------------------------------------------------------


def test_a_step_timeout_is_an_error_of_kind_timeout(lab):
    ran = lab("- { id: a, type: tool, tool: lab, timeout: 60ms, inputs: { pause: 5 } }")
    ran.assert_failed("timeout", status="error")


def test_the_timeout_of_a_block_reaches_the_steps_inside(lab):
    ran = lab(fork(step("a", "{ pause: 5 }"), more="\n  timeout: 60ms"))
    ran.assert_failed("timeout", status="error")
    assert ran.steps == {"fork/0/a": "error", "fork": "error"}
    assert lab.calls[0].ended - lab.calls[0].began < 1


def test_a_child_never_gets_more_time_than_its_block(lab):
    ran = lab(fork(step("a", "{ pause: 5 }", more=", timeout: 30s"), more="\n  timeout: 60ms"))
    ran.assert_failed("timeout", status="error")


def test_the_timeout_of_a_loop_step_is_per_item(lab):
    ran = lab("""
        - { id: a, type: tool, tool: lab, timeout: 400ms, inputs: { pause: 0.15 }, for_each: { as: n, over: [1, 2, 3, 4] } }
    """)
    assert ran.status == "completed"


# -- cancel ------------------------------------------------------------------------------------------------------------------


def test_cancel_stops_everything_and_the_end_is_written(lab):
    import threading

    from gert_core.engine.cancel import Stop

    stop = Stop()
    lab.on_call = lambda call: threading.Timer(0.05, stop.throw, args=("test",)).start()
    ran = lab(fork(step("a", "{ pause: 20 }"), step("b", "{ pause: 20 }")) + "\n- " + step("c"), stop=stop)
    assert ran.status == "cancelled"
    assert len(lab.calls) == 2
    assert ran.events[-1].type == "run_complete"
    assert ran.events[-1].data["status"] == "cancelled"
    assert ran.events[-1].data["reason"] == "test"


def test_a_cancelled_run_resumes_like_a_crashed_one(lab):
    import threading

    from gert_core.engine.cancel import Stop

    stop = Stop()
    lab.on_call = lambda call: threading.Timer(0.05, stop.throw, args=("test",)).start()
    ran = lab(fork(step("a", "{ pause: 0.3 }"), step("b", "{ pause: 0.3 }")), stop=stop)
    lab.on_call = None
    keys = {call.key for call in lab.calls}
    again = lab.runner.resume(ran.result.run_id)
    again.assert_outcome("resolved")
    assert {call.key for call in lab.calls} == keys
    assert [e.data["reason"] for e in again.events if e.type == "step_attempt"] == ["resumed", "resumed"]


def test_a_denial_beats_a_failure_so_that_continue_on_fail_cannot_cover_it(lab):
    ran = lab(
        fork(step("a", "{ exit: 1 }"), step("b", name="w1"), more="\n  continue_on_fail: true"),
        tools=tool("w1", writes="disk"),
        meta="governance: { rules: [ { writes: [disk], action: deny } ] }",
    )
    assert ran.status == "failed"
    assert {f.kind for f in ran.result.failures} == {"exit_code", "governance_denied"}
    assert "done" not in ran.steps


def test_a_suspension_beats_a_failure_and_the_failure_is_told_at_the_end(lab):
    files = tool("w1", writes="disk")
    ran = lab(fork(step("a", "{ exit: 1 }"), step("b", name="w1")), tools=files, meta=GATE, approval="inbox")
    assert ran.status == "approval_pending"
    answer(lab, ran, "fork/1/b")
    again = lab.runner.resume(ran.result.run_id)
    again.assert_failed("exit_code")
    assert [call.tool for call in lab.calls] == ["lab", "w1"]


def test_what_a_run_waits_for_is_told_in_the_order_of_its_trace(lab):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns as often as they can
    try:
        loop = f"for_each: {{ as: it, over: {[*range(24)]}, key: 'k{{{{ .it }}}}', parallel: true }}"
        steps = f"- {{ id: a, type: tool, tool: w1, scope: 'at/{{{{ .it }}}}', {loop} }}"
        for _ in range(4):
            ran = lab(steps, tools=tool("w1", writes="disk"), meta=GATE, approval="inbox")
            submitted = [event.step_key for event in ran.events if event.type == "approval_submitted"]
            assert [ticket["step_key"] for ticket in ran.result.pending] == submitted
            assert len(submitted) == 24
    finally:
        sys.setswitchinterval(before)
