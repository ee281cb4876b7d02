"""for_each and repeat: items, keys, order, what is left afterwards, bounds, exports and scopes."""

from __future__ import annotations

import json

import pytest
from lab import Lab, tool

from gert_core.api.errors import DocumentError

TWO = "{ other: { type: any, required: false } }"


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


def seen(lab: Lab, steps: str, expression: str, **options):
    """The value of an expression after some steps."""
    ran = lab(
        steps + f"\n- {{ id: look, type: tool, tool: lab, inputs: {{ value: {json.dumps(expression)} }} }}", **options
    )
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    return lab.calls[-1].inputs.get("value")


def each(over: str, more: str = "", *, inputs: str = '{ value: "{{ .n }}" }', parallel: str = "false") -> str:
    return (
        f"- {{ id: a, type: tool, tool: lab, for_each: {{ as: n, over: {over}, parallel: {parallel} }}, "
        f"inputs: {inputs}{more} }}"
    )


# -- for_each ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parallel", ["false", "true"])
def test_results_form_a_list_in_the_order_of_the_items(lab, parallel):
    # Later items finish first when they run at the same time.
    inputs = '{ value: "{{ .n }}", pause: "{{ index .pauses .n }}" }'
    steps = each("[0, 1, 2]", inputs=inputs, parallel=parallel)
    found = seen(lab, steps, "{{ .a }}", meta="constants: { pauses: [0.06, 0.03, 0.0] }")
    assert found == [{"value": 0}, {"value": 1}, {"value": 2}]


@pytest.mark.parametrize("parallel", ["false", "true"])
def test_with_a_key_results_form_a_map_in_declaration_order(lab, parallel):
    steps = f"""- id: a
  type: tool
  tool: lab
  for_each: {{ as: agent, over: "{{{{ .agents }}}}", key: "{{{{ .agent.id }}}}", parallel: {parallel} }}
  inputs: {{ value: "{{{{ .agent.role }}}}" }}"""
    meta = "constants: { agents: [ { id: z, role: 1 }, { id: b, role: 2 }, { id: c, role: 3 } ] }"
    assert seen(lab, steps, "{{ .a.b.value }}", meta=meta) == 2
    found = seen(lab, steps, "{{ .a }}", meta=meta)
    assert list(found) == ["z", "b", "c"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('{{ pluck .a "value" }}', [0, None, 2]),
        ('{{ a | map(attribute="value") }}', [0, None, 2]),
        ('{{ pluck .a "failure.kind" }}', [None, None, None]),
        ('{{ where .a "failure.kind" "exit_code" }}', []),
        ('{{ pluck .a "status" }}', ["success", "skipped", "success"]),
    ],
)
def test_a_field_of_every_item_is_null_where_an_item_has_not_got_it(lab, expression, expected):
    assert seen(lab, each("[0, 1, 2]", ", when: '{{ ne .n 1 }}'"), expression) == expected


def test_a_map_iterates_key_and_value_in_order(lab):
    steps = each("{ x: 1, y: 2 }", inputs='{ value: "{{ .n.key }}={{ .n.value }}" }')
    assert seen(lab, steps, "{{ .a }}") == [{"value": "x=1"}, {"value": "y=2"}]


def test_items_have_keys_of_their_own(lab):
    ran = lab(each("[5, 6]"))
    assert list(ran.steps) == ["a[0]", "a[1]", "a", "done"]
    keyed = lab("""
        - id: a
          type: tool
          tool: lab
          for_each: { as: n, over: ["web 1", "a/b", "ü#["], key: "{{ .n }}" }
    """)
    assert list(keyed.steps) == ["a[web%201]", "a[a%2Fb]", "a[%C3%BC%23%5B]", "a", "done"]


def test_the_loop_and_its_items_are_traced(lab):
    ran = lab(each("[5, 6]", parallel="true"))
    assert ran.of("for_each_start", "a") == [{"step_id": "a", "over": [5, 6], "item_count": 2, "parallel": True}]
    assert ran.of("step_start", "a")[0]["items"] == 2
    items = sorted(ran.of("for_each_item"), key=lambda e: e["index"])
    assert [(e["index"], e["value"]) for e in items] == [(0, 5), (1, 6)]
    assert [e["branch"] for e in items] == [
        {"index": 0, "label": "0", "parent": "a"},
        {"index": 1, "label": "1", "parent": "a"},
    ]
    assert ran.of("step_complete", "a")[0]["status"] == "success"


def test_a_duplicate_key_is_an_error_before_any_item_runs(lab):
    ran = lab("""
        - id: a
          type: tool
          tool: lab
          for_each: { as: n, over: [1, 2, 1], key: "{{ .n }}" }
    """)
    ran.assert_failed("duplicate_key", status="error")
    assert lab.calls == []


def test_when_is_asked_per_item_and_a_skipped_item_is_null(lab):
    steps = each("[1, 2, 3]", ', when: "{{ ne .n 2 }}"')
    assert seen(lab, steps, "{{ .a }}") == [{"value": 1}, None, {"value": 3}]
    ran = lab(steps)
    assert ran.steps["a[1]"] == "skipped"


def test_no_items_leave_an_empty_list(lab):
    assert seen(lab, each("[]"), "{{ .a }}") == []


def test_an_over_that_is_neither_list_nor_map_is_an_error(lab):
    ran = lab(each('"{{ .x }}"'), meta="inputs: { x: { type: any } }", inputs={"x": "text"})
    ran.assert_failed("for_each_shape", status="error")


def test_plain_outputs_of_items_are_not_promoted(lab):
    steps = "- { id: z, type: tool, tool: lab, inputs: { value: outer } }\n" + each("[1, 2]")
    assert seen(lab, steps, "{{ .value }}") == "outer"


def test_a_sequential_loop_stops_at_the_first_failure(lab):
    ran = lab(each("[0, 1, 0]", inputs='{ value: "{{ .n }}", exit: "{{ .n }}" }'))
    assert ran.steps == {"a[0]": "success", "a[1]": "failed", "a": "failed"}
    ran.assert_failed("exit_code")


def test_with_continue_on_fail_a_sequential_loop_goes_on(lab):
    steps = each("[0, 1, 0]", ", continue_on_fail: true", inputs='{ value: "{{ .n }}", exit: "{{ .n }}" }')
    ran = lab(steps)
    assert ran.status == "completed"
    assert ran.steps == {"a[0]": "success", "a[1]": "failed", "a[2]": "success", "a": "failed", "done": "success"}


def test_a_parallel_loop_finishes_all_items_before_it_fails(lab):
    steps = each("[1, 0, 0]", inputs='{ value: "{{ .n }}", exit: "{{ .n }}", pause: 0.02 }', parallel="true")
    ran = lab(steps)
    assert ran.steps == {"a[0]": "failed", "a[1]": "success", "a[2]": "success", "a": "failed"}


def test_an_error_beats_a_failure_among_items(lab):
    steps = """
        - id: a
          type: tool
          tool: lab
          timeout: 80ms
          for_each: { as: n, over: [ { exit: 1 }, { pause: 5 } ], parallel: true }
          inputs: { exit: "{{ .n.exit | default 0 }}", pause: "{{ .n.pause | default 0 }}" }
    """
    ran = lab(steps)
    assert ran.status == "error"
    assert ran.result.failures[0].kind == "timeout"
    assert ran.steps["a"] == "error"


def test_a_denied_item_stops_the_loop_and_the_run(lab):
    ran = lab(
        "- { id: a, type: tool, tool: writer, continue_on_fail: true, for_each: { as: n, over: [1, 2] } }",
        tools=tool("writer", writes="disk"),
        meta="governance: { rules: [ { writes: [disk], action: deny } ] }",
    )
    ran.assert_failed("governance_denied")
    assert ran.steps == {"a[0]": "skipped", "a": "failed"}


def test_items_really_run_at_the_same_time(lab):
    lab(each("[1, 2, 3]", inputs='{ value: "{{ .n }}", pause: 0.1 }', parallel="true"))
    first, second, third = lab.calls
    assert first.overlaps(second)
    assert second.overlaps(third)


def test_max_parallel_bounds_the_items_under_way(lab):
    steps = """
        - id: a
          type: tool
          tool: lab
          for_each: { as: n, over: [1, 2, 3, 4, 5], parallel: true, max_parallel: "{{ .most }}" }
          inputs: { pause: 0.02 }
    """
    lab(steps, meta="constants: { most: 2 }")
    assert (
        max(sum(one.overlaps(other) for other in lab.calls) for one in lab.calls) <= 3
    )  # itself, one before, one after
    for call in lab.calls:
        assert sum(1 for other in lab.calls if other.began <= call.began < other.ended) <= 2


def test_items_of_a_parallel_loop_ignore_their_own_conflicts(lab):
    lab(
        "- { id: a, type: tool, tool: writer, inputs: { pause: 0.1 }, for_each: { as: n, over: [1, 2], parallel: true } }",
        tools=tool("writer", writes="disk"),
    )
    assert lab.calls[0].overlaps(lab.calls[1])


def test_a_serialize_rule_makes_items_run_one_after_another(lab):
    lab(
        "- { id: a, type: tool, tool: writer, inputs: { pause: 0.03 }, for_each: { as: n, over: [1, 2], parallel: true } }",
        tools=tool("writer", writes="disk"),
        meta="governance: { rules: [ { writes: [disk], action: allow, serialize: true } ] }",
    )
    assert not lab.calls[0].overlaps(lab.calls[1])


def test_a_scoped_loop_stores_its_results_below_the_scope_too(lab):
    steps = """- id: a
  type: tool
  tool: lab
  scope: round/0
  for_each: { as: n, over: [ x, y ], key: "{{ .n }}", parallel: true }
  inputs: { value: "got {{ .n }}" }"""
    assert seen(lab, steps, "{{ .scope.round/0.y.value }}") == "got y"
    assert seen(lab, steps, "{{ .scope.round/0 }}") == {"x": {"value": "got x"}, "y": {"value": "got y"}}
    plain = steps.replace('key: "{{ .n }}", ', "")
    assert seen(lab, plain, "{{ .scope.round/0.1.value }}") == "got y"


def test_an_exported_name_becomes_the_list_or_map_of_values(lab):
    assert seen(lab, each("[1, 2]", ", export: [value]"), "{{ .value }}") == [1, 2]
    keyed = """- { id: a, type: tool, tool: lab, for_each: { as: n, over: [ x, y ], key: "{{ .n }}" },
    inputs: { value: "{{ .n }}" }, export: [value] }"""
    assert seen(lab, keyed, "{{ .value }}") == {"x": "x", "y": "y"}


def test_an_export_of_a_taken_name_is_left_out_with_a_warning(lab):
    from gert_core.engine.progress import Progress

    said = []

    class Listener(Progress):
        def warn(self, message, *, step=None):
            said.append(message)

    first = each("[1, 2]", ", export: [value]")
    second = first.replace("id: a", "id: b").replace("[1, 2]", "[3]")
    assert seen(lab, f"{first}\n{second}", "{{ .value }}", progress=Listener()) == [1, 2]
    assert any("value" in message and "taken" in message for message in said)


def test_a_loop_over_a_block_runs_the_block_per_item(lab):
    steps = """- id: a
  type: branch
  for_each: { as: n, over: [1, 2], key: "k{{ .n }}" }
  branches:
    - condition: "{{ eq .n 1 }}"
      steps: [ { id: one, type: tool, tool: lab, inputs: { value: "one {{ .n }}" } } ]
    - condition: default
      steps: [ { id: two, type: tool, tool: lab, inputs: { value: "two {{ .n }}" } } ]"""
    ran = lab(steps)
    assert list(ran.steps) == ["a[k1]/0/one", "a[k1]", "a[k2]/1/two", "a[k2]", "a", "done"]
    assert seen(lab, steps, "{{ .a.k2.value }}") == "two 2"


def test_loops_nest(lab):
    steps = """- id: outer
  type: parallel
  for_each: { as: x, over: [1, 2], parallel: true }
  branches:
    - steps:
        - { id: inner, type: tool, tool: lab, for_each: { as: y, over: [1, 2] }, inputs: { value: "{{ .x }}{{ .y }}" } }"""
    ran = lab(steps)
    assert ran.status == "completed"
    assert {k for k in ran.steps if "inner[" in k} == {f"outer[{x}]/0/inner[{y}]" for x in (0, 1) for y in (0, 1)}
    assert sorted(lab.values()) == ["11", "12", "21", "22"]


def test_an_end_inside_a_loop_ends_the_run_and_the_first_item_wins(lab):
    ran = lab("""
        - id: a
          type: branch
          for_each: { as: n, over: [ slow, fast ], parallel: true }
          branches:
            - condition: default
              steps:
                - { id: t, type: tool, tool: lab, inputs: { pause: '{{ index .pauses .n }}' } }
                - { id: stop, type: end, outcome: { category: resolved, code: "{{ .n }}" } }
    """, meta="constants: { pauses: { slow: 0.08, fast: 0.0 } }")  # fmt: skip
    ran.assert_outcome("resolved", "slow")
    assert len(ran.of("outcome_resolved")) == 1


def test_a_jump_back_to_a_loop_runs_it_again_under_new_keys(lab):
    ran = lab(each("[7]") + "\n- { id: b, type: tool, tool: lab, next: { step: a, max: 1 } }")
    assert list(ran.steps) == ["a[0]", "a", "b", "a#2[0]", "a#2", "b#2", "done"]


def test_manual_steps_loop_too(lab):
    ran = lab(
        "- { id: a, type: manual, instructions: 'look at {{ .n }}', for_each: { as: n, over: [x, y] },"
        " required_evidence: [ { kind: text, name: notes } ] }",
        answers=["first", "second"],
    )
    assert ran.status == "completed"
    assert ran.result.variables.resolve(("a",)) == [{"notes": "first"}, {"notes": "second"}]


# -- repeat --------------------------------------------------------------------------------------------------------------

DEBATE = """- id: debate
  type: repeat
  repeat: { max: 5, until: '{{ eq .value "agreed" }}' }
  steps:
    - { id: argue, type: tool, tool: two, inputs: { outputs: { other: "{{ .repeat.index }}{{ .repeat.round }}" } } }
    - { id: judge, type: tool, tool: lab, inputs: { script: verdict }, export: [value] }"""


def debate(lab, expression, **options):
    lab.scripts["verdict"] = ["open", "agreed", "never"]
    return seen(lab, DEBATE, expression, tools=tool("two", outputs=TWO), **options)


def test_exports_reach_until_and_what_comes_after(lab):
    assert debate(lab, "{{ .value }}") == "agreed"


def test_iterations_counts_what_ran(lab):
    assert debate(lab, "{{ .debate.iterations }}") == 2


def test_index_and_round_are_bound_inside(lab):
    debate(lab, "x")
    assert [c.inputs["outputs"]["other"] for c in lab.calls if c.tool == "two"] == ["00", "11"]


def test_outputs_of_an_iteration_stand_at_its_scope(lab):
    assert debate(lab, "{{ .scope.repeat/debate/0.other }} {{ .scope.repeat/debate/1.other }}") == "00 11"


def test_exported_outputs_stand_at_the_iterations_scope_as_well(lab):
    assert debate(lab, "{{ .scope.repeat/debate/0.value }} {{ .scope.repeat/debate/1.value }}") == "open agreed"


def test_outputs_promote_within_the_iteration_only(lab):
    steps = """- { id: z, type: tool, tool: two, inputs: { outputs: { other: outer } } }
- id: loop
  type: repeat
  repeat: { max: 1 }
  steps:
    - { id: x, type: tool, tool: two, inputs: { outputs: { other: inner } } }
    - { id: y, type: tool, tool: lab, inputs: { value: "{{ .other }} {{ .x.other }}" } }"""
    assert seen(lab, steps, "{{ .other }}", tools=tool("two", outputs=TWO)) == "outer"
    assert "inner inner" in lab.values()


def test_exports_reach_later_iterations(lab):
    lab.scripts["verdict"] = ["one", "two"]
    steps = """- { id: first, type: tool, tool: two, inputs: { outputs: { other: zero } } }
- id: loop
  type: repeat
  repeat: { max: 2 }
  steps:
    - { id: show, type: tool, tool: two, inputs: { value: "{{ .value | default .first.other }}" } }
    - { id: judge, type: tool, tool: lab, inputs: { script: verdict }, export: [value] }"""
    lab(steps, tools=tool("two", outputs=TWO))
    assert [c.inputs.get("value") for c in lab.calls if c.tool == "two"] == [None, "zero", "one"]


def test_without_until_it_runs_exactly_max_times(lab):
    ran = lab("- { id: r, type: repeat, repeat: { max: 3 }, steps: [ { id: x, type: tool, tool: lab } ] }")
    assert list(ran.steps) == ["r/0/x", "r/1/x", "r/2/x", "r", "done"]


def test_a_failure_inside_stops_the_repeat(lab):
    ran = lab(
        "- { id: r, type: repeat, repeat: { max: 3 }, steps: [ { id: x, type: tool, tool: lab, inputs: { exit: 1 } } ] }"
    )
    assert ran.steps == {"r/0/x": "failed", "r": "failed"}


def test_an_end_inside_stops_the_repeat_and_the_run(lab):
    ran = lab("""
        - id: r
          type: repeat
          repeat: { max: 3 }
          steps: [ { id: x, type: tool, tool: lab }, { id: stop, type: end, outcome: { category: resolved, code: in } } ]
    """)  # fmt: skip
    ran.assert_outcome("resolved", "in")
    assert len(lab.calls) == 1


def test_exports_and_scopes_pass_through_a_fork_inside_a_repeat(lab):
    steps = """- id: r
  type: repeat
  repeat: { max: 2 }
  steps:
    - id: fork
      type: parallel
      branches:
        - steps:
            - { id: x, type: tool, tool: lab, scope: "s/{{ .repeat.index }}", inputs: { value: "x{{ .repeat.index }}" }, export: [value] }
        - steps:
            - { id: y, type: tool, tool: two, scope: "t/{{ .repeat.index }}", inputs: { outputs: { other: y } } }"""
    expression = "{{ .value }} {{ .scope.s/0.value }} {{ .scope.s/1.value }} {{ .scope.t/1.other }}"
    assert seen(lab, steps, expression, tools=tool("two", outputs=TWO)) == "x1 x0 x1 y"


def test_exports_pass_through_a_loop_inside_a_repeat(lab):
    steps = """- id: r
  type: repeat
  repeat: { max: 2 }
  steps:
    - { id: x, type: tool, tool: lab, for_each: { as: n, over: [1, 2] }, inputs: { value: "{{ .repeat.index }}{{ .n }}" }, export: [value] }"""
    assert seen(lab, steps, "{{ .value }}") == ["11", "12"]


# -- what rounds and items see of each other ------------------------------------------------------------------------


def calls(lab, name="value"):
    return [call.inputs.get(name) for call in lab.calls]


def test_until_sees_the_steps_of_the_last_round_and_what_they_set(lab):
    steps = """- id: again
  type: repeat
  repeat: { max: 9, until: '{{ and (eq .a.value 2) (eq .value 2) (eq .a.status "success") }}' }
  steps: [ { id: a, type: tool, tool: lab, inputs: { value: "{{ .repeat.index }}" } } ]"""
    assert seen(lab, steps, "{{ .again.iterations }}") == 3


def test_a_round_sees_the_round_before_it_until_its_steps_have_run_again(lab):
    steps = """- id: again
  type: repeat
  repeat: { max: 3 }
  steps:
    - { id: a, type: tool, tool: lab, inputs: { value: '{{ .repeat.index }} after {{ .b.value | default "none" }} {{ .b.status }}' } }
    - { id: b, type: tool, tool: lab, inputs: { value: "{{ .repeat.index }}" } }"""
    ran = lab(steps)
    assert ran.status == "completed", ran.result.failures
    said = [value for value in calls(lab) if isinstance(value, str)]
    assert said == ["0 after none not_run", "1 after 0 success", "2 after 1 success"]


def test_what_rounds_set_is_gone_after_the_loop(lab):
    steps = """- { id: a, type: tool, tool: lab, inputs: { value: before } }
- id: again
  type: repeat
  repeat: { max: 2 }
  steps: [ { id: b, type: tool, tool: lab, inputs: { value: "{{ .repeat.index }}" } } ]"""
    assert seen(lab, steps, "{{ .value }}") == "before"


def test_a_loop_of_no_rounds(lab):
    steps = """- id: again
  type: repeat
  repeat: { max: 0 }
  steps: [ { id: a, type: tool, tool: lab, inputs: { value: 1 } } ]"""
    assert seen(lab, steps, "{{ .again.iterations }} {{ .again.status }}") == "0 success"


@pytest.mark.parametrize(
    ("key", "found"), [("", [{"value": 0}, {"value": 1}]), ("key: '{{ .n }}',", {"0": {"value": 0}, "1": {"value": 1}})]
)
def test_a_loop_over_items_ends_early_when_until_is_true(lab, key, found):
    until = "{{ and (eq .a.value 1) (eq .value 1) }}"
    steps = (
        f"- {{ id: a, type: tool, tool: lab, for_each: {{ as: n, over: [0, 1, 2, 3], {key} until: '{until}' }}, "
        "inputs: { value: '{{ .n }}' } }"
    )
    assert seen(lab, steps, "{{ .a }}") == found
    assert calls(lab)[:-1] == [0, 1]


def test_until_sees_the_steps_inside_the_item(lab):
    steps = """- id: hosts
  type: branch
  for_each: { as: n, over: [0, 1, 2, 3], until: '{{ eq .inner.value 2 }}' }
  branches: [ { condition: default, steps: [ { id: inner, type: tool, tool: lab, inputs: { value: "{{ .n }}" } } ] } ]"""
    ran = lab(steps)
    assert ran.status == "completed", ran.result.failures
    assert calls(lab) == [0, 1, 2]


BAD = (
    "- {{ id: a, type: tool, tool: lab, continue_on_fail: true, for_each: {{ as: n, over: [0, 1, 2, 3, 4], {key} "
    "until: '{until}' }}, when: '{{{{ ne .n 2 }}}}', inputs: {{ value: '{{{{ .n }}}}', exit: '{{{{ .n }}}}' }} }}"
)


@pytest.mark.parametrize("key", ["", "key: '{{ .n }}',"])
@pytest.mark.parametrize(
    ("until", "ran"),
    [
        ("{{ ge (len .step.a.failed) 2 }}", [0, 1, 3]),
        ("{{ len(step.a.skipped) == 1 }}", [0, 1]),
        ("{{ gt (len .step.a.failed) 9 }}", [0, 1, 3, 4]),
    ],
)
def test_until_may_count_the_items_so_far_that_failed_or_were_skipped(lab, key, until, ran):
    result = lab(BAD.format(key=key, until=until))
    assert result.status == "completed", result.result.failures
    assert calls(lab) == ran
    lines = result.result.trace.read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines), 4):
        result.result.trace.write_bytes(b"".join(lines[:count]))
        again = lab.runner.resume(result.result.run_id)
        assert again.status == "completed", count
        assert again.of("step_complete", "a")[-1]["items"] == max(ran) + 1 + (ran[-1] == 1), count


@pytest.mark.parametrize("key", ["", "key: '{{ .n }}',"])
def test_items_that_until_left_out_have_a_status_and_are_no_results(lab, key):
    steps = BAD.format(key=key, until="{{ eq .a.status `failed` }}")
    asked = "{{ .a.1.status }} {{ .a.3.status }} {{ .a.4.failure }} {{ len .a }} {{ .a.3.value | default `none` }}"
    assert seen(lab, steps, asked) == "failed not_run  2 none"
    assert lab(steps + "\n- { id: see, type: tool, tool: lab, inputs: { value: '{{ .a.3 }}' } }").status == "error"
    unknown = steps + "\n- { id: see, type: tool, tool: lab, inputs: { value: '{{ .a.9.status }}' } }"
    if key:  # which keys there are is known before
        with pytest.raises(DocumentError, match=r"`\.a` has no `9`"):
            lab(unknown)
    else:
        assert lab(unknown).status == "error"


def test_until_that_cannot_be_evaluated_fails_the_loop(lab):
    steps = (
        "- { id: a, type: tool, tool: lab, for_each: { as: n, over: [0, 1], until: '{{ lt .n .other }}' }, "
        "inputs: { value: '{{ .n }}' } }"
    )
    ran = lab(steps, meta="inputs: { other: { type: any, default: x } }")
    assert ran.status == "error"
    assert "for_each.until" in ran.result.failures[0].message


def test_a_number_of_rounds_that_is_rendered_too_small_is_told_in_words(lab):
    steps = '- { id: r, type: repeat, repeat: { max: "{{ .m }}" }, steps: [{ id: a, type: tool, tool: lab }] }'
    ran = lab(steps, meta="constants: { m: -1 }")
    (failure,) = ran.result.failures
    assert failure.message == "`repeat.max` should be greater than or equal to 0, but it rendered to -1"
