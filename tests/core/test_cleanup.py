"""Cleanup blocks: when they run, what they see, and what becomes of the failure, denial or end before them."""

from __future__ import annotations

import pytest
from lab import Lab, tool

DENY = {"meta": "governance: { rules: [ { effects: [forbidden], action: deny } ] }"}
FORBIDDEN = tool("bad", effects="forbidden")


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def call(name: str, **inputs: object) -> str:
    """One call of a tool, as a step of a flow list."""
    given = ", ".join(f"{key}: {value}" for key, value in {"value": name, **inputs}.items())
    return f"{{ id: {name}, type: tool, tool: lab, inputs: {{ {given} }} }}"


OK, FAIL = call("one"), call("two", exit=3)
UNDO, LAST = call("undo"), call("last")
BAD = "{ id: bad, type: tool, tool: bad }"
END = "{{ id: over_{0}, type: end, outcome: {{ category: escalated, code: {0} }} }}"


def block(steps: str, *, on_failure: str = "", last: str = "", more: str = "") -> str:
    lines = ["- id: b", "  type: block", f"  steps: [ {steps} ]"]
    lines += [f"  on_failure: [ {on_failure} ]"] if on_failure else []
    lines += [f"  finally: [ {last} ]"] if last else []
    lines += [f"  {more}"] if more else []
    return (
        "\n".join(lines)
        + "\n- { id: after, type: tool, tool: lab, scope: after, inputs: { value: 'handled={{ .b.handled }}' } }\n"
    )


# -- what runs, and how the run goes on ------------------------------------------------------------------------------


def test_steps_that_succeed_run_no_on_failure_and_always_finally(lab):
    ran = lab(block(OK, on_failure=UNDO, last=LAST))
    assert ran.status == "completed"
    assert lab.values() == ["one", "last", "handled=false"]
    assert list(ran.steps) == ["b/0/one", "b/2/last", "b", "after", "done"]


def test_a_handled_failure_is_a_success(lab):
    ran = lab(block(f"{OK}, {FAIL}, {call('never')}", on_failure=UNDO, last=LAST))
    assert ran.status == "completed"
    assert lab.values() == ["one", "two", "undo", "last", "handled=true"]
    assert ran.steps["b"] == "success"
    assert list(ran.steps)[:5] == ["b/0/one", "b/0/two", "b/1/undo", "b/2/last", "b"]


def test_without_on_failure_the_failure_stays_and_finally_runs(lab):
    ran = lab(block(f"{FAIL}, {OK}", last=LAST))
    ran.assert_failed("exit_code")
    assert lab.values() == ["two", "last"]
    assert ran.of("run_complete")[-1]["failing"] == ["b/0/two"]


def test_a_failing_on_failure_gives_both_failures(lab):
    ran = lab(block(FAIL, on_failure=call("undo", exit=4), last=LAST))
    assert lab.values() == ["two", "undo", "last"]
    assert ran.of("run_complete")[-1]["failing"] == ["b/0/two", "b/1/undo"]
    assert [failure.key for failure in ran.result.failures] == ["b/0/two", "b/1/undo"]
    message = ran.of("step_complete", "b")[0]["failure"]["message"]
    assert message.startswith("step b/0/two: ")
    assert "; then step b/1/undo: " in message


def test_the_first_failure_decides_although_the_cleanup_is_an_error(lab):
    broken = "{ id: undo, type: tool, tool: lab, timeout: 50ms, inputs: { pause: 30 } }"
    ran = lab(block(FAIL, on_failure=broken))
    assert ran.status == "failed"
    assert ran.result.failures[0].key == "b/0/two"
    assert ran.steps["b/1/undo"] == "error"


def test_a_failing_finally_alone_fails_the_block(lab):
    ran = lab(block(OK, last=call("last", exit=5)))
    ran.assert_failed("exit_code")
    assert ran.of("run_complete")[-1]["failing"] == ["b/2/last"]
    assert "outcome" not in ran.of("run_complete")[-1]["failure"]["message"]


def test_continue_on_fail_goes_on_after_a_block_that_failed(lab):
    ran = lab(block(FAIL, last=LAST, more="continue_on_fail: true"))
    assert ran.status == "completed"
    assert lab.values() == ["two", "last", "handled=false"]


# -- denial ----------------------------------------------------------------------------------------------------------


def test_after_a_denial_cleanup_runs_and_the_run_ends_denied(lab):
    ran = lab(block(f"{OK}, {BAD}", on_failure=UNDO, last=LAST, more="continue_on_fail: true"), tools=FORBIDDEN, **DENY)
    assert lab.values() == ["one", "undo", "last"], "continue_on_fail does not make a denied run go on"
    ran.assert_failed("governance_denied")
    assert ran.of("run_complete")[-1]["failing"] == ["b/0/bad"]


def _beside(*branches: str) -> str:
    listed = ", ".join(f"{{ steps: [ {branch} ] }}" for branch in branches)
    return f"{{ id: p, type: parallel, branches: [ {listed} ] }}"


_ERROR = "{ id: slow, type: tool, tool: lab, scope: slow, timeout: 50ms, inputs: { pause: 30 } }"
_FAILED = "{ id: two, type: tool, tool: lab, scope: two, inputs: { exit: 3 } }"


@pytest.mark.parametrize(
    ("branches", "first"),
    [
        ((BAD, _FAILED), "bad skipped"),
        ((_FAILED, BAD), "bad skipped"),
        ((BAD, _ERROR), "slow error"),
        ((_FAILED, _ERROR), "slow error"),
    ],
)
def test_an_error_comes_before_a_denial_and_a_denial_before_a_failed_step(lab, branches, first):
    """Cleanup sees as first what the run reports first."""
    undo = call("undo").replace("value: undo", 'value: "{{ .failure.step }} {{ .failure.status }}"')
    ran = lab(block(_beside(*branches), on_failure=undo), tools=FORBIDDEN, **DENY)
    assert first in lab.values()
    if BAD in branches:
        assert next(f"{one.step_id} {one.status}" for one in ran.result.failures) == first


def test_an_end_after_a_denial_ends_the_cleanup_only(lab):
    ran = lab(block(BAD, on_failure=f"{UNDO}, {END.format('x')}", last=LAST), tools=FORBIDDEN, **DENY)
    ran.assert_failed("governance_denied")
    assert lab.values() == ["undo", "last"]
    assert ran.result.outcome is None


def test_cleanup_is_governed_step_by_step(lab):
    ran = lab(block(FAIL, on_failure=f"{UNDO}, {BAD}, {call('never')}", last=LAST), tools=FORBIDDEN, **DENY)
    assert lab.values() == ["two", "undo", "last"]
    assert ran.of("run_complete")[-1]["failing"] == ["b/0/two", "b/1/bad"]
    assert ran.status == "failed"


# -- end -------------------------------------------------------------------------------------------------------------


def test_finally_runs_after_an_end(lab):
    ran = lab(block(f"{OK}, {END.format('x')}", last=LAST), end=False)
    assert (ran.status, ran.result.outcome.code) == ("completed", "x")
    assert lab.values() == ["one", "last"]


def test_a_finally_that_fails_after_an_end_takes_the_outcome_away_and_names_it(lab):
    ran = lab(block(END.format("x"), last=call("last", exit=2), more="continue_on_fail: true"))
    ran.assert_failed("exit_code")
    assert ran.result.outcome is None
    assert ran.result.failures[0].message.endswith("(the run had reached the outcome escalated (x))")
    assert lab.values() == ["last"], "nothing runs after an end, whatever continue_on_fail says"


def test_no_block_around_handles_a_finally_that_fails_after_an_end(lab):
    inner = f"{{ id: i, type: block, steps: [ {END.format('x')} ], finally: [ {call('last', exit=2)} ] }}"
    ran = lab(block(inner, on_failure=UNDO))
    ran.assert_failed("exit_code")
    assert lab.values() == ["last", "undo"]


def test_an_end_in_on_failure_gives_the_run_its_outcome(lab):
    ran = lab(block(FAIL, on_failure=f"{UNDO}, {END.format('x')}", last=LAST))
    assert (ran.status, ran.result.outcome.code) == ("completed", "x")
    assert lab.values() == ["two", "undo", "last"]


# -- what cleanup sees -----------------------------------------------------------------------------------------------


def see(name: str, text: str) -> str:
    return f"{{ id: {name}, type: tool, tool: lab, inputs: {{ value: '{text}' }} }}"


ALL = "{{ .failure.step }} {{ .failure.key }} {{ .failure.kind }} {{ .failure.status }} {{ .failure.message }}"


def test_the_failure_is_seen_in_both_lists(lab):
    lab(block(FAIL, on_failure=see("a", ALL), last=see("z", "{{ .failure.kind }}")))
    assert lab.values()[1].startswith("two b/0/two exit_code failed ")
    assert lab.values()[2] == "exit_code"


def test_the_failure_is_null_when_nothing_failed(lab):
    skipped = "{ id: z, type: tool, tool: lab, when: '{{ .failure }}', inputs: { value: z } }"
    none = see("y", '{{ .failure.kind | default "none" }}')
    lab(block(OK, last=f"{skipped}, {none}"))
    assert lab.values() == ["one", "none", "handled=false"]


def test_errors_come_before_failures(lab):
    steps = """
- id: b
  type: block
  steps:
    - id: p
      type: parallel
      branches:
        - steps: [ { id: x, type: tool, tool: lab, scope: x, inputs: { exit: 1 } } ]
        - steps: [ { id: y, type: tool, tool: lab, scope: y, timeout: 50ms, inputs: { pause: 30 } } ]
  on_failure: [ { id: told, type: tool, tool: lab, inputs: { value: "{{ .failure.step }}" } } ]
"""
    lab(steps)
    assert lab.values()[-1] == "y"


def test_secrets_in_the_failure_are_masked(lab):
    message = "{ id: m, type: assert, assert: [ { type: equals, value: '{{ .token }}', expected: x } ] }"
    ran = lab(
        block(message, on_failure=see("a", "{{ .failure.message }}")),
        meta="inputs: { token: { type: string, secret: true } }",
        inputs={"token": "hunter2-hunter2"},
    )
    assert "hunter2" not in lab.values()[0]
    assert "hunter2" not in ran.result.trace.read_text()


def test_what_the_steps_and_on_failure_export_is_exclusive(lab):
    one = "{ id: s1, type: tool, tool: lab, inputs: { value: first }, export: [value] }"
    two = "{ id: s2, type: tool, tool: lab, inputs: { value: second }, export: [value] }"
    lab(block(f"{one}, {FAIL}", on_failure=two) + "- " + see("read", "{{ .value }}"))
    assert lab.values()[-1] == "second"


def test_steps_inside_inherit_the_scope(lab):
    inner = "{ id: i, type: tool, tool: lab, scope: own, inputs: { value: mine } }"
    steps = block(f"{OK}, {inner}, {FAIL}", on_failure=UNDO, more="scope: 'round/{{ .run.mode }}'")
    ran = lab(steps + "- " + see("read", "{{ .scope.round.real.value }} {{ .scope.own.value }}"))
    assert ran.status == "completed"
    assert lab.values()[-1] == "undo mine"


def test_items_of_a_loop_clean_up_for_themselves(lab):
    steps = """
- id: b
  type: block
  for_each: { as: host, over: [ { name: a, exit: 1 }, { name: b, exit: 0 } ], key: "{{ .host.name }}" }
  steps: [ { id: try, type: tool, tool: lab, inputs: { value: "{{ .host.name }}", exit: "{{ .host.exit }}" } } ]
  on_failure: [ { id: undo, type: tool, tool: lab, inputs: { value: "undo {{ .host.name }} {{ .failure.key }}" } } ]
  finally: [ { id: last, type: tool, tool: lab, inputs: { value: "last {{ .host.name }}" } } ]
- { id: read, type: tool, tool: lab, inputs: { value: "{{ .b.a.handled }} {{ .b.b.handled }}" } }
"""
    ran = lab(steps)
    assert ran.status == "completed"
    assert lab.values() == ["a", "undo a b[a]/0/try", "last a", "b", "last b", "true false"]


# -- time ------------------------------------------------------------------------------------------------------------


def test_the_timeout_is_that_of_the_steps_alone(lab):
    slow = call("slow", pause=30)
    ran = lab(block(slow, on_failure=call("undo", pause=0.3), last=call("last", pause=0.3), more="timeout: 200ms"))
    assert ran.status == "completed"
    assert lab.values() == ["slow", "undo", "last", "handled=true"]


def test_cleanup_is_not_cut_by_the_timeout_of_a_block_around_it(lab):
    inner = f"{{ id: i, type: block, steps: [ {call('slow', pause=30)} ], finally: [ {call('last', pause=0.3)} ] }}"
    ran = lab(block(inner, on_failure=UNDO, more="timeout: 200ms"))
    assert ran.status == "completed"
    assert lab.values() == ["slow", "last", "undo", "handled=true"]


def test_cleanup_has_a_limit_of_its_own_for_both_lists(lab):
    steps = block(FAIL, on_failure=call("undo", pause=30), last=LAST, more="cleanup_timeout: 200ms")
    ran = lab(steps)
    assert ran.of("run_complete")[-1]["failing"] == ["b/0/two", "b/1/undo", "b/2/last"]
    assert [failure.kind for failure in ran.result.failures] == ["exit_code", "timeout", "timeout"]
    assert lab.values() == ["two", "undo"]


# -- other modes -----------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_cleanup_as_far_as_it_is_known(lab):
    ran = lab(block(OK, on_failure=see("a", "{{ .failure.kind }}"), last=LAST), mode="dry-run")
    assert ran.status == "completed"
    assert list(ran.steps) == ["b/0/one", "b/1/a", "b/2/last", "b", "after", "done"]
    assert ran.of("step_start", "b/1/a")[0]["inputs"]["value"] == "{{ .failure.kind }}"
    certain = lab(block(OK, last=see("z", "{{ .failure.kind }}")), mode="dry-run")
    assert list(certain.steps) == ["b/0/one", "b/2/z", "b", "after", "done"]
    assert lab.calls == []


def test_a_dry_run_knows_both_ends(lab):
    ran = lab(block(f"{OK}, {END.format('x')}", on_failure=END.format("y")), mode="dry-run")
    assert [outcome.code for outcome in ran.result.possible] == ["x", "y"]
    assert "after" not in ran.steps
