"""Dry-run and probe: what is executed, what stays symbolic, which arms are shown."""

from __future__ import annotations

import pytest
from lab import Lab, tool

from gert_core.api import UsageError
from gert_core.engine.progress import Progress


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


class Listener(Progress):
    def __init__(self):
        self.arms = []
        self.outcomes = []
        self.inputs = {}
        self.warnings = []

    def warn(self, message, *, step=None):
        self.warnings.append(message)

    def arm(self, step, name, why):
        self.arms.append(name)

    def possible(self, outcome):
        self.outcomes.append(outcome.code)

    def evaluated(self, step, evaluation):
        self.inputs[step.key] = dict(evaluation.inputs)


def dry(lab, steps, **options):
    seen = Listener()
    ran = lab(steps, mode="dry-run", progress=seen, **options)
    return ran, seen


TRIAGE = """
- { id: probe, type: tool, tool: lab, inputs: { value: 1 } }
- id: fork
  type: branch
  branches:
    - { label: never, condition: "{{ eq 1 2 }}", steps: [ { id: n, type: tool, tool: lab } ] }
    - { label: up, condition: '{{ eq .probe.value "up" }}', steps: [ { id: e1, type: end, outcome: { category: resolved, code: up } } ] }
    - { label: down, condition: '{{ eq .probe.value "down" }}', steps: [ { id: fix, type: tool, tool: lab, inputs: { value: "{{ .probe.value }}" } } ] }
    - { label: other, condition: default, steps: [ { id: e2, type: end, outcome: { category: escalated, code: other } } ] }
- { id: after, type: tool, tool: lab, inputs: { value: "{{ .fix.value | default 0 }}" } }
"""


def test_a_dry_run_executes_nothing(lab):
    ran, _ = dry(lab, TRIAGE)
    assert ran.status == "completed"
    assert lab.calls == []


def test_every_arm_that_cannot_be_decided_is_shown_and_no_other(lab):
    ran, seen = dry(lab, TRIAGE)
    assert seen.arms == ["up", "down", "other"]
    assert list(ran.steps) == ["probe", "fork/1/e1", "fork/2/fix", "fork/3/e2", "fork", "after", "done"]


def test_every_possible_outcome_is_shown(lab):
    _, seen = dry(lab, TRIAGE)
    assert seen.outcomes == ["up", "other", "ok"]


def test_a_decided_arm_is_the_only_one(lab):
    ran, seen = dry(
        lab,
        """
        - id: fork
          type: branch
          branches:
            - { condition: "{{ .go }}", steps: [ { id: a, type: tool, tool: lab } ] }
            - { condition: default, steps: [ { id: b, type: tool, tool: lab } ] }
        """,
        meta="inputs: { go: { type: bool, default: true } }",
    )
    assert seen.arms == []
    assert list(ran.steps) == ["fork/0/a", "fork", "done"]


def test_the_status_of_a_step_that_may_fail_is_not_known(lab):
    ran, seen = dry(
        lab,
        """
        - { id: a, type: tool, tool: lab, continue_on_fail: true }
        - { id: worked, type: tool, tool: lab, when: '{{ eq .a.status "success" }}' }
        - { id: failed, type: tool, tool: lab, when: '{{ ne .a.status "success" }}' }
        - id: fork
          type: branch
          branches:
            - { label: ran, condition: '{{ eq .worked.status "success" }}', steps: [ { id: b, type: tool, tool: lab } ] }
            - { label: left out, condition: default, steps: [ { id: c, type: tool, tool: lab } ] }
        - { id: sure, type: tool, tool: lab }
        - { id: last, type: tool, tool: lab, when: '{{ ne .sure.status "success" }}' }
        """,
    )
    assert ran.steps["worked"] == ran.steps["failed"] == "success"
    assert seen.arms == ["ran", "left out"]
    assert ran.steps["last"] == "skipped"


def test_arms_behind_one_that_is_certainly_true_are_not_shown(lab):
    _, seen = dry(
        lab,
        """
        - { id: a, type: tool, tool: lab }
        - id: fork
          type: branch
          branches:
            - { label: maybe, condition: "{{ .a.value }}", steps: [] }
            - { label: sure, condition: "{{ eq 1 1 }}", steps: [] }
            - { label: never, condition: default, steps: [] }
        """,
    )
    assert seen.arms == ["maybe", "sure"]


def test_known_inputs_are_resolved_and_unknown_ones_stay_symbolic(lab):
    _, seen = dry(
        lab,
        """
        - { id: a, type: tool, tool: lab, inputs: { value: "{{ .host }}" } }
        - { id: b, type: tool, tool: lab, inputs: { value: "{{ .host }}/{{ .a.value }}" } }
        """,
        meta="constants: { host: srv }",
    )
    assert seen.inputs["a"] == {"value": "srv"}
    assert seen.inputs["b"] == {"value": "srv/{{ .a.value }}"}


def test_contract_and_governance_are_evaluated_and_nobody_is_asked(lab):
    ran, _ = dry(
        lab,
        "- { id: a, type: tool, tool: writer }\n- { id: b, type: tool, tool: killer }",
        tools=tool("writer", writes="disk") | tool("killer", writes="prod"),
        meta="governance: { rules: [ { writes: [prod], action: deny }, { writes: [disk], action: require-approval } ] }",
        interactive=False,
    )
    assert ran.status == "completed"
    assert [e["decision"] for e in ran.of("governance_decision")] == ["require-approval", "deny", "allow"]
    assert ran.of("approval_submitted") == []


def test_pure_steps_run_in_a_dry_run(lab):
    ran, _ = dry(
        lab,
        "- { id: a, type: assert, continue_on_fail: true, assert: [ { type: equals, value: '{{ .x }}', expected: 2 } ] }",
        meta="constants: { x: 1 }",
    )
    assert ran.steps["a"] == "failed"


def test_an_assertion_about_an_unknown_value_stays_open(lab):
    ran, _ = dry(
        lab,
        """
        - { id: a, type: tool, tool: lab }
        - { id: b, type: assert, assert: [ { type: equals, value: "{{ .a.value }}", expected: 2 } ] }
        """,
    )
    assert ran.status == "completed"
    assert ran.steps["b"] == "success"


def test_a_step_whose_guard_is_unknown_is_shown_and_flow_goes_on(lab):
    ran, seen = dry(
        lab,
        """
        - { id: a, type: tool, tool: lab }
        - { id: stop, type: end, when: "{{ .a.value }}", outcome: { category: no_action, code: early } }
        - { id: b, type: tool, tool: lab }
        """,
    )
    assert list(ran.steps) == ["a", "stop", "b", "done"]
    assert seen.outcomes == ["early", "ok"]


def test_a_jump_that_may_not_be_taken_does_not_hide_the_steps_it_jumps_over(lab):
    ran, _ = dry(
        lab,
        """
        - { id: a, type: tool, tool: lab }
        - { id: b, type: tool, tool: lab, when: "{{ .a.value }}", next: d }
        - { id: c, type: tool, tool: lab }
        - { id: d, type: tool, tool: lab }
        """,
    )
    assert list(ran.steps) == ["a", "b", "c", "d", "done"]


def test_backward_jumps_are_not_walked_again(lab):
    ran, _ = dry(lab, "- { id: a, type: tool, tool: lab, next: { step: a, max: 5 } }")
    assert list(ran.steps) == ["a", "done"]


def test_a_loop_over_an_unknown_list_is_walked_once_and_its_result_is_unknown(lab):
    ran, seen = dry(
        lab,
        """
        - { id: a, type: tool, tool: lab }
        - { id: b, type: tool, tool: lab, for_each: { as: n, over: "{{ .a.value }}", key: "{{ .n.id }}" }, inputs: { value: "{{ .n.id }}" }, export: [value] }
        - { id: c, type: tool, tool: lab, inputs: { value: "{{ .b.web.value }} {{ .value }}" } }
        """,
    )
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    assert len([k for k in ran.steps if k.startswith("b[")]) == 1
    assert "{{" in seen.inputs["c"]["value"]


def test_a_loop_over_a_known_list_is_walked_per_item(lab):
    ran, seen = dry(
        lab, "- { id: b, type: tool, tool: lab, for_each: { as: n, over: [1, 2] }, inputs: { value: '{{ .n }}' } }"
    )
    assert [seen.inputs[k]["value"] for k in ("b[0]", "b[1]")] == [1, 2]
    assert ran.status == "completed"


def test_parallel_branches_are_all_shown(lab):
    ran, _ = dry(
        lab,
        """
        - id: fork
          type: parallel
          branches:
            - { steps: [ { id: a, type: tool, tool: lab, scope: x } ] }
            - { steps: [ { id: b, type: tool, tool: lab, scope: y } ] }
        - { id: c, type: tool, tool: lab, inputs: { value: "{{ .a.value }}" } }
        """,
    )
    assert list(ran.steps) == ["fork/0/a", "fork/1/b", "fork", "c", "done"]


def test_a_repeat_whose_end_is_unknown_shows_one_iteration_once(lab):
    ran, seen = dry(
        lab,
        """
        - id: r
          type: repeat
          repeat: { max: 3, until: "{{ .value }}" }
          steps: [ { id: a, type: tool, tool: lab, export: [value] } ]
        - { id: b, type: tool, tool: lab, inputs: { value: "{{ .r.iterations }} {{ .value }}" } }
        """,
    )
    assert [e.step_key for e in ran.events if e.type == "step_start"] == ["r", "r/0/a", "b", "done"]
    assert seen.arms == []
    assert seen.inputs["b"]["value"] == "{{ .r.iterations }} {{ .value }}"


def test_a_repeat_whose_bound_is_unknown_is_walked_once(lab):
    ran, _ = dry(
        lab,
        """
        - { id: a, type: tool, tool: lab }
        - { id: r, type: repeat, repeat: { max: "{{ .a.value }}" }, steps: [ { id: b, type: tool, tool: lab, inputs: { value: "{{ .repeat.index }}" } } ] }
        """,
    )
    assert ran.status == "completed", [f.message for f in ran.result.failures]
    assert len([k for k in ran.steps if k.endswith("/b")]) == 1


@pytest.mark.parametrize("until", ["", ", until: false", ', until: "{{ gt .repeat.index 999998 }}"'])
def test_a_repeat_is_walked_once_whatever_its_bound(lab, until):
    ran, seen = dry(
        lab,
        f"""
        - id: r
          type: repeat
          repeat: {{ max: 1000000{until} }}
          steps:
            - {{ id: a, type: tool, tool: lab }}
            - {{ id: c, type: assert, assert: [ {{ type: equals, value: 1, expected: 1 }} ] }}
        - {{ id: b, type: tool, tool: lab, inputs: {{ value: "{{{{ .r.iterations }}}}" }} }}
        """,
    )
    assert list(ran.steps) == ["r/0/a", "r/0/c", "r", "b", "done"]
    assert seen.inputs["b"]["value"] == "{{ .r.iterations }}"


def test_a_repeat_of_one_round_is_known(lab):
    _, seen = dry(
        lab,
        """
        - { id: r, type: repeat, repeat: { max: 1 }, steps: [ { id: a, type: tool, tool: lab } ] }
        - { id: b, type: tool, tool: lab, inputs: { value: "{{ .r.iterations }}" } }
        """,
    )
    assert seen.inputs["b"]["value"] == 1


def test_a_manual_step_asks_nobody(lab):
    ran, _ = dry(
        lab,
        """
        - { id: m, type: manual, instructions: look, required_evidence: [ { kind: text, name: notes } ] }
        - { id: a, type: tool, tool: lab, inputs: { value: "{{ .notes }}" } }
        """,
    )
    assert ran.status == "completed"
    assert ran.console.asked == []


def test_step_keys_stay_unique_in_a_dry_run(lab):
    ran, _ = dry(lab, TRIAGE)
    keys = [e.step_key for e in ran.events if e.type == "step_start"]
    assert len(keys) == len(set(keys))


# -- probe -----------------------------------------------------------------------------------------------------------------


def probe(lab, steps, **options):
    return lab(steps, mode="probe", **options)


def test_a_probe_runs_what_only_reads_and_skips_what_writes(lab):
    ran = probe(
        lab,
        """
        - { id: a, type: tool, tool: lab, inputs: { value: 1 } }
        - { id: b, type: tool, tool: writer }
        - { id: d, type: tool, tool: lab, inputs: { value: "{{ .a.value }}" } }
        """,
        tools=tool("writer", writes="disk"),
    )
    assert ran.status == "completed"
    assert [call.tool for call in lab.calls] == ["lab", "lab"]
    assert lab.values() == [1, 1]


def test_a_tool_that_declares_neither_effects_nor_writes_counts_as_writing(lab):
    text = """
        apiVersion: tool/v0
        meta: { name: silent, transport: lab }
        actions: { do: { method: do } }
    """
    probe(lab, "- { id: c, type: tool, tool: silent }", tools={"tools/silent.tool.yaml": text})
    assert lab.calls == []


def test_only_network_effects_are_allowed_unless_more_are(lab):
    files = tool("db", effects="network, database")
    probe(lab, "- { id: a, type: tool, tool: db }", tools=files)
    assert lab.calls == []
    probe(lab, "- { id: a, type: tool, tool: db }", tools=files, probe_effects=frozenset({"network", "database"}))
    assert len(lab.calls) == 1


def test_a_deterministic_tool_is_called_twice_and_compared(lab):
    lab.scripts["n"] = [1, 1]
    files = tool("pure", deterministic="true")
    ran = probe(lab, "- { id: a, type: tool, tool: pure, inputs: { script: n } }", tools=files)
    assert len(lab.calls) == 2
    assert ran.of("contract_violation") == []
    lab.scripts["n"] = [1, 2]
    seen = Listener()
    ran = probe(lab, "- { id: a, type: tool, tool: pure, inputs: { script: n } }", tools=files, progress=seen)
    assert [e["kind"] for e in ran.of("contract_violation")] == ["nondeterministic"]
    assert [told.startswith("step a: declared deterministic, but") for told in seen.warnings] == [True]


def test_a_probe_tells_about_outputs_a_contract_promises_in_vain(lab):
    files = tool("pure", outputs="{ value: {}, more: {} }")
    seen = Listener()
    probe(lab, "- { id: a, type: tool, tool: pure, inputs: { value: 1 } }", tools=files, progress=seen)
    assert seen.warnings == [
        "step a: output 'more' is declared in contract.outputs but was not produced (missing_output)"
    ]


def test_what_a_probe_skips_stays_symbolic_and_undecided_arms_are_shown(lab):
    seen = Listener()
    ran = probe(
        lab,
        """
        - { id: w, type: tool, tool: writer }
        - id: fork
          type: branch
          branches:
            - { label: one, condition: "{{ .w.value }}", steps: [ { id: a, type: tool, tool: lab, inputs: { value: 1 } } ] }
            - { label: two, condition: default, steps: [ { id: b, type: tool, tool: lab, inputs: { value: 2 } } ] }
        """,
        tools=tool("writer", writes="disk"),
        progress=seen,
    )
    assert ran.status == "completed"
    assert seen.arms == ["one", "two"]


def test_a_probe_still_denies_what_governance_denies(lab):
    ran = probe(
        lab,
        "- { id: a, type: tool, tool: lab }",
        meta="governance: { rules: [ { effects: [network], action: deny } ] }",
    )
    ran.assert_failed("governance_denied")
    assert lab.calls == []


def test_an_unknown_mode_runs_nothing(lab):
    with pytest.raises(UsageError, match="mode"):
        lab("- { id: a, type: tool, tool: lab }", mode="pretend")
    assert lab.calls == []
    assert not (lab.directory / "runs").exists()
