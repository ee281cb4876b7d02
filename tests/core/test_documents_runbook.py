"""Reading runbooks: the tree, its positions, and every way a step can be wrong."""

from __future__ import annotations

import textwrap

import pytest

from gert_core import hookimpl
from gert_core.api import PluginError, Severity, StepType
from gert_core.documents.load import load_runbook
from gert_core.documents.model_hints import suggest
from gert_core.plugin.registry import Registry

HEAD = "apiVersion: kernel/v0\nmeta: {name: sample}\n"


@pytest.fixture
def read(tmp_path, sample_registry):
    def run(text, *, head=HEAD, files=None):
        for name, content in (files or {}).items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(content), encoding="utf-8")
        path = tmp_path / "runbook.yaml"
        path.write_text(head + textwrap.dedent(text), encoding="utf-8")
        return load_runbook(path, registry=sample_registry, name="runbook.yaml")

    return run


def facts(loaded):
    return [(d.rule, d.line, d.column, d.path) for d in loaded.diagnostics]


def only(loaded):
    assert len(loaded.diagnostics) == 1, loaded.diagnostics
    return loaded.diagnostics[0]


def test_tree_has_every_step_with_its_path_and_list(read):
    loaded = read(
        """
        steps:
          - id: pick
            type: choose
            arms:
              - condition: true
                steps:
                  - {id: a, type: note, text: hello}
                  - {type: stop}
              - condition: default
                steps: []
          - {type: stop, code: late}
        """
    )
    assert not loaded.diagnostics
    runbook = loaded.runbook
    assert [(s.id, s.named, s.type.name) for s in runbook.walk()] == [
        ("pick", True, "choose"),
        ("a", True, "note"),
        ("_stop_1", False, "stop"),
        ("_stop_2", False, "stop"),
    ]
    pick, last = runbook.root.steps
    assert [block.path for block in pick.blocks] == [
        ("steps", 0, "arms", 0, "steps"),
        ("steps", 0, "arms", 1, "steps"),
    ]
    inner = pick.blocks[0].steps[1]
    assert inner.path == ("steps", 0, "arms", 0, "steps", 1)
    assert runbook.document.locate(inner.path)[0] == 11
    assert inner.within is pick.blocks[0]
    assert pick.blocks[0].owner is pick
    assert (inner.index, last.index, last.body.code) == (1, 1, "late")
    assert runbook.by_id["a"].body.text == "hello"


def test_unnamed_steps_are_numbered_per_type_in_document_order(read):
    loaded = read(
        """
        steps:
          - {type: note, text: a}
          - {type: stop}
          - {id: named, type: note, text: b}
          - {type: note, text: c}
        """
    )
    assert [s.id for s in loaded.runbook.walk()] == ["_note_1", "_stop_1", "named", "_note_2"]


def test_common_fields_are_typed(read):
    loaded = read(
        """
        steps:
          - id: s
            type: note
            text: x
            when: "{{ .a }}"
            next: {step: s, max: "{{ .n }}"}
            continue_on_fail: true
            for_each: {as: item, over: "{{ .items }}", key: "{{ .item.id }}", parallel: true, max_parallel: 4}
            scope: round/0
            export: [noted]
            visibility: {allow: [a], deny: ["scope.**"]}
            principal: {kind: agent, id: "{{ .item.id }}"}
            timeout: 1h30m
            contract: {effects: [network], writes: []}
            extensions: {x-any: {deep: [1]}}
        """
    )
    assert not loaded.diagnostics
    fields = loaded.runbook.by_id["s"].fields
    assert fields.next.step == "s"
    assert fields.next.max == "{{ .n }}"
    assert (fields.for_each.as_, fields.for_each.max_parallel) == ("item", 4)
    assert fields.timeout == 5400
    assert fields.visibility.allow == ["a"]
    assert fields.contract.writes == []
    assert fields.extensions == {"x-any": {"deep": [1]}}


@pytest.mark.parametrize(
    ("step", "rule", "column", "path", "says"),
    [
        ("{type: note}", "missing-field", 5, "steps[0].text", "`text` is missing"),
        ("{type: note, text: 5}", "wrong-type", 24, "steps[0].text", "should be a string, not the number 5"),
        ("{type: note, text: x, times: a}", "wrong-type", 34, "steps[0].times", "an integer or a template"),
        ("{type: note, text: x, when: 5}", "wrong-type", 33, "steps[0].when", "true or false or a string"),
        ("{type: note, text: x, when: }", "wrong-type", 33, "steps[0].when", "not empty"),
        ("{type: note, text: x, id: 1a}", "wrong-type", 31, "steps[0].id", "letters, digits"),
        ("{type: note, text: x, id: a b}", "wrong-type", 31, "steps[0].id", "letters, digits"),
        ("{type: note, text: x, timeout: 5 days}", "duration-syntax", 36, "steps[0].timeout", "30s"),
        ("{type: note, text: x, timeout: 0}", "duration-syntax", 36, "steps[0].timeout", "positive"),
        ("{type: note, text: x, timeout: [1]}", "wrong-type", 36, "steps[0].timeout", "duration"),
        ("{type: note, text: x, next: {step: a, mx: 1}}", "unknown-field", 43, "steps[0].next.mx", "not a field"),
        ("{type: note, text: x, next: {step: a, max: -1}}", "wrong-type", 48, "steps[0].next.max", "greater"),
        ("{type: note, text: x, for_each: {as: i, over: 5}}", "for-each-shape", 51, "steps[0].for_each.over", "list"),
        ("{type: note, text: x, for_each: {as: i, over: abc}}", "for-each-shape", 51, "steps[0].for_each.over", "list"),
        ("{type: note, text: x, for_each: {as: a-b, over: []}}", "for-each-shape", 42, "steps[0].for_each.as", "`as`"),
        ("{type: note, text: x, for_each: {over: []}}", "missing-field", 37, "steps[0].for_each.as", "`as` is missing"),
        (
            "{type: note, text: x, principal: {kind: cat, id: x}}",
            "wrong-type",
            45,
            "steps[0].principal.kind",
            "'human'",
        ),
        ("{type: choose, arms: []}", "wrong-type", 26, "steps[0].arms", "must not be empty"),
        ("{type: choose, arms: [{condition: true}]}", "missing-field", 27, "steps[0].arms[0].steps", "missing"),
        ("{type: choose, arms: [{condition: true, steps: {}}]}", "wrong-type", 52, "steps[0].arms[0].steps", "list"),
        ("{type: 5}", "wrong-type", 12, "steps[0].type", "a string"),
        ("{text: x}", "missing-field", 5, "steps[0].type", "`type` is missing"),
        ("just text", "wrong-type", 5, "steps[0]", "a step is a map"),
        ("{type: custom, program: p}", "extension-contract", 5, "steps[0]", "must declare its `contract`"),
    ],
)
def test_wrong_step_is_reported_at_its_place(read, step, rule, column, path, says):
    found = only(read(f"steps:\n  - {step}\n"))
    assert (found.rule, found.line, found.column, found.path) == (rule, 4, column, path)
    assert says in found.message
    assert found.file == "runbook.yaml"
    assert found.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("step", "phase"),
    [
        ("{type: note}", 1),
        ("{type: note, text: 5}", 1),
        ("{type: note, text: x, colour: red}", 1),
        ("{type: note, text: x, principal: {kind: cat, id: x}}", 2),
        ("{type: note, text: x, timeout: soon}", 2),
        ("{type: loop, steps: [], loop: {max: 0}}", 2),
    ],
)
def test_shape_is_phase_one_and_values_are_phase_two(read, step, phase):
    assert only(read(f"steps:\n  - {step}\n")).phase == phase


def test_unknown_field_suggests_common_and_own_fields(read):
    found = read("steps:\n  - {type: note, text: x, wen: true, txt: y}\n")
    assert [(d.rule, d.hint) for d in found.diagnostics] == [
        ("unknown-field", "did you mean `when`?"),
        ("unknown-field", "remove it: `text` is there already"),
    ]
    assert found.diagnostics[0].column == 27
    assert found.runbook is not None, "an unknown field does not keep the rest from being judged"


def test_a_name_of_more_than_64_characters_gets_no_suggestion():
    """Comparing takes quadratic time in the length of a name, and documents may hold names of any length."""
    known = "a" * 60
    assert suggest("a" * 64, [known]) == f"did you mean `{known}`?"
    assert suggest("a" * 65, [known]) is None


def test_field_of_another_type_says_whose_it_is(read):
    found = only(read("steps:\n  - {type: note, text: x, arms: []}\n"))
    assert found.rule == "unknown-field"
    assert "belongs to `choose`" in found.message


@pytest.mark.parametrize(
    ("given", "over"),
    [
        ('"{{ .hosts }}"', "'{{ .hosts }}'"),
        ("\"{{ .hosts | default 'a' }}\"", "\"{{ .hosts | default 'a' }}\""),
        ("[a, b]", "[...]"),
    ],
)
def test_a_loop_without_a_name_for_its_items_is_refused_with_the_right_spelling(read, given, over):
    found = only(read(f"steps:\n  - type: note\n    text: x\n    for_each: {given}\n"))
    assert (found.rule, found.line) == ("wrong-type", 6)
    assert found.message == "`for_each` should be a map with `as` and `over`"
    assert found.hint == f"write `for_each: {{as: item, over: {over}}}`; the item is `.item` then"


@pytest.mark.parametrize(
    ("retry", "message", "hint"),
    [
        ("standrd", "`retry` should be none, standard, aggressive or a map with `max`", "did you mean `standard`?"),
        ("often", "`retry` should be none, standard, ag", "for a number of attempts write `retry: {max: 3}`"),
        ("3", "`retry` should be none, standard, aggressive or a map with `max`", "write `retry: {max: 3}`"),
        ("false", "`retry` should be none, ", "write `retry: none`, `retry: standard` or `retry: {max: 3}`"),
        ("[standard]", "`retry` should be none, ", "write `retry: none`, `retry: standard` or `retry: {max: 3}`"),
        ("", "`retry` should be a map, not empty", None),
        ("{}", "`max` is missing", "add `max`: how many attempts at most, the first one included"),
        ("{max: 0}", "`max` should be greater than or equal to 1, not the number 0", "write `max: 1`, or more"),
        (
            '{max: "{{ .n }}"}',
            "`max` should be an integer, not the string '{{ .n }}'",
            "write a number, such as `max: 3`: no template is filled in here",
        ),
        (
            "{max: 2, delay: -1s}",
            "'-1s' is not a valid duration; write one like 30s, 5m, 1h30m or 500ms",
            "write it like `30s` or `5m`",
        ),
        (
            "{max: 2, delay: -1}",
            "a duration must be a positive number of seconds, not -1",
            "write it like `30s` or `5m`",
        ),
        ("{max: 2, delay: 10 Minutes}", "'10 Minutes' is not a valid duration", "write `10m`"),
        (
            "{max: 2, backoff: 0.5}",
            "`backoff` should be greater than or equal to 1, not the number 0.5",
            "write `backoff: 1`, or more",
        ),
        ("{max: 2, backoff: .inf}", "`backoff` should be a number, not the string '.inf'", None),
        ("{max: 2, on: []}", "`on` must not be empty", "remove it: without `on` all kinds count that may be retried"),
        ("{max: 2, on: timeout}", "`on` should be a list, not the string 'timeout'", "write a list: [timeout]"),
        ("{max: 2, dela: 1s}", "`dela` is not a field here", "did you mean `delay`?"),
    ],
)
def test_a_policy_that_cannot_be_read_is_refused_with_the_right_spelling(read, retry, message, hint):
    found = only(read(f"steps:\n  - type: note\n    text: x\n    retry: {retry}\n"))
    assert message in found.message
    assert found.hint == hint
    assert found.line == 6


@pytest.mark.parametrize(
    "retry", ["none", "standard", "aggressive", "{max: 2, delay: 1s, backoff: 1.5, on: [timeout]}"]
)
def test_a_policy_is_a_word_or_a_map(read, retry):
    assert read(f"steps:\n  - {{type: note, text: x, retry: {retry}}}\n").diagnostics == []


def test_unknown_step_type_names_near_type_and_distribution(read):
    found = only(read("steps:\n  - {type: nte, text: x}\n"))
    assert found.rule == "unknown-step-type"
    assert found.column == 12
    assert "did you mean `note`?" in found.hint
    assert "gert-step-nte" in found.hint


def test_incomplete_tree_is_given_as_partial(read):
    loaded = read("steps:\n  - {type: nope}\n  - {type: stop}\n")
    assert loaded.runbook is None
    assert [s.id for s in loaded.partial.walk()] == ["_stop_1"]


def test_duplicate_ids_name_both_lines(read):
    loaded = read("steps:\n  - {id: a, type: stop}\n  - {id: a, type: stop}\n")
    found = only(loaded)
    assert (found.rule, found.line, found.column) == ("duplicate-step-id", 5, 10)
    assert "line 4" in found.message
    assert loaded.runbook.by_id["a"].path == ("steps", 0)


def test_every_problem_of_every_place_is_reported(read):
    loaded = read(
        """
        colour: red
        tools: [5, x]
        steps:
          - {type: note}
          - {type: choose, arms: [{condition: true, steps: [{type: nope}, {id: 1, type: stop}]}]}
        """,
        head="apiVersion: kernel/v1\nmeta: {nam: sample, inputs: {h: {type: strin}}}\n",
    )
    assert sorted(d.rule for d in loaded.diagnostics) == [
        "api-version",
        "missing-field",
        "tool-not-found",
        "unknown-field",
        "unknown-field",
        "unknown-step-type",
        "wrong-type",
        "wrong-type",
        "wrong-type",
    ]
    assert len({(d.line, d.column, d.rule) for d in loaded.diagnostics}) == 9
    (missing,) = [d for d in loaded.diagnostics if d.rule == "tool-not-found"]
    assert (missing.path, missing.column) == ("tools[1]", 12), "the faulty entry before it still counts"


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("", "yaml-syntax", 1),
        ("- a\n", "wrong-type", 1),
        ("meta: {name: x}\nsteps: []\n", "api-version", 1),
        ("apiVersion: kernel/v9\nmeta: {name: x}\nsteps: []\n", "api-version", 1),
        ("apiVersion: kernel/v0\nmeta: {name: x}\n", "missing-field", 1),
        ("apiVersion: kernel/v0\nsteps: []\n", "missing-field", 1),
        ("apiVersion: kernel/v0\nmeta: {name: x}\nsteps: {}\n", "wrong-type", 3),
        ("apiVersion: kernel/v0\nmeta: {name: x}\nmeta: {name: y}\nsteps: []\n", "duplicate-key", 3),
        ("apiVersion: [kernel/v0\n", "yaml-syntax", 2),
    ],
)
def test_head_of_a_runbook(read, text, rule, line):
    found = only(read("", head=text))
    assert (found.rule, found.line, found.phase) == (rule, line, 1)


def test_meta_is_read(read):
    loaded = read(
        "steps: []\n",
        head=textwrap.dedent(
            """
            apiVersion: kernel/v0
            meta:
              name: full
              inputs:
                host: {type: string, required: true, from: env/HOST, secret: true}
                n: {type: int, default: 3}
              constants: {a: 1, b: {c: "{{ .host }}"}}
              secrets: [{env: TOKEN}, {env: OTHER, required: false, description: d}]
              on_outcome: {escalated: {webhook: https://example.com}}
              extensions: {x: 1}
              governance:
                approval_timeout: 30m
                require_verified_approval: true
                rules:
                  - {risk: critical, action: require-approval, min_approvers: 2}
                  - {effects: [network], writes: production, action: deny}
                  - {contract: {writes: [x]}, action: allow}
                  - {contract_violations: deny}
                  - {outcome: [escalated], action: require-approval, exclude_actor: true}
                  - default: allow
            extensions: {y: 2}
            """
        ),
    )
    assert not loaded.diagnostics
    meta = loaded.runbook.model.meta
    assert meta.inputs["host"].from_ == "env/HOST"
    assert meta.inputs["n"].is_given("default")
    assert not meta.inputs["host"].is_given("default")
    assert [s.required for s in meta.secrets] == [True, False]
    assert meta.governance.require_signed_approvals is True
    assert meta.governance.approval_timeout == 1800
    assert meta.governance.rules[0].risk == ["critical"]
    assert meta.governance.rules[1].writes == ["production"]
    assert loaded.runbook.model.extensions == {"y": 2}


@pytest.mark.parametrize(
    ("rule_text", "rule", "path"),
    [
        ("{risk: critical}", "governance-action", "meta.governance.rules[0]"),
        ("{risk: critical, action: ask}", "governance-action", "meta.governance.rules[0].action"),
        ("{default: maybe}", "governance-action", "meta.governance.rules[0].default"),
        ("{risk: huge, action: deny}", "wrong-type", "meta.governance.rules[0].risk"),
        ("{risk: [low, huge], action: deny}", "wrong-type", "meta.governance.rules[0].risk[1]"),
        ("{action: deny, min_approvers: 0}", "wrong-type", "meta.governance.rules[0].min_approvers"),
        ("{outcome: done, action: deny}", "outcome-category", "meta.governance.rules[0].outcome"),
        ("{action: deny, side_effects: true}", "unknown-field", "meta.governance.rules[0].side_effects"),
    ],
)
def test_wrong_governance_rule(read, rule_text, rule, path):
    head = f"apiVersion: kernel/v0\nmeta: {{name: x, governance: {{rules: [{rule_text}]}}}}\n"
    found = only(read("steps: []\n", head=head))
    assert (found.rule, found.path) == (rule, path)


def test_claimed_step_gets_the_claiming_type_and_a_warning(read):
    loaded = read(
        """
        steps:
          - id: again
            type: note
            text: unused
            when: true
            loop: {max: 2, steps: [{id: inner, type: stop}]}
          - id: plain
            type: loop
            loop: {max: 2}
            steps: [{type: stop}]
        """
    )
    found = only(loaded)
    assert (found.rule, found.severity, found.line) == ("not-acted-on", Severity.WARNING, 6)
    assert "`text`" in found.message
    again, plain = loaded.runbook.root.steps
    assert (again.type.name, again.claimed, again.fields.when) == ("loop", True, True)
    assert again.blocks[0].path == ("steps", 0, "loop", "steps")
    assert [s.id for s in again.blocks[0].steps] == ["inner"]
    assert (plain.claimed, plain.blocks[0].path) == (False, ("steps", 1, "steps"))


def test_side_effects_in_a_step_contract(read):
    loaded = read(
        """
        steps:
          - {type: custom, program: p, contract: {side_effects: true}}
          - {type: custom, program: p, contract: {side_effects: true, effects: [network]}}
        """
    )
    assert [(d.rule, d.severity) for d in loaded.diagnostics] == [
        ("side-effects-deprecated", Severity.WARNING),
        ("side-effects-and-effects", Severity.ERROR),
    ]
    assert loaded.diagnostics[1].path == "steps[1].contract.side_effects"


def test_aliased_step_lists_have_places_of_their_own(read):
    loaded = read(
        """
        steps:
          - type: choose
            arms:
              - {condition: true, steps: &same [{type: stop}]}
              - {condition: default, steps: *same}
        """
    )
    assert not loaded.diagnostics
    assert [b.path[3] for b in loaded.runbook.root.steps[0].blocks] == [0, 1]
    assert [s.id for s in loaded.runbook.walk()] == ["_choose_1", "_stop_1", "_stop_2"]


def test_a_document_that_is_wrong_all_over_is_reported_in_bounds(read):
    fields = "".join(f"    field{i}: 1\n" for i in range(3000))
    assert len(read(f"steps:\n  - type: note\n    text: x\n{fields}").diagnostics) == 200
    steps = "".join(f"  - {{type: nope{i}}}\n" for i in range(3000))
    loaded = read(f"steps:\n{steps}  - {{type: stop}}\n")
    assert len(loaded.diagnostics) == 2000
    assert loaded.runbook is None
    tools = "".join(f"  - t{i}\n" for i in range(300))
    assert len(read(f"steps: []\ntools:\n{tools}").diagnostics) == 200
    assert read("steps: []\n" + "".join(f"k{i}: 1\n" for i in range(300))).runbook is None


def test_a_type_whose_parts_cannot_be_imported_is_named(tmp_path):
    class Plugin:
        @hookimpl
        def gert_step_types(self):
            return [StepType(name="odd", model="nowhere_to_be_found:Odd", run="nowhere_to_be_found:run", summary="")]

    path = tmp_path / "runbook.yaml"
    path.write_text(f"{HEAD}steps: [{{type: odd}}]\n", encoding="utf-8")
    with pytest.raises(PluginError, match=r"step type 'odd' cannot be used: cannot load 'nowhere") as caught:
        load_runbook(path, registry=Registry.build(scan=(), extra_plugins=[Plugin()]), name="runbook.yaml")
    assert "`gert plugins why step:odd`" in caught.value.hint


def test_an_unknown_type_is_explained_with_its_distribution_or_what_became_of_it(tmp_path, fake_dist):
    path = tmp_path / "runbook.yaml"
    path.write_text(f"{HEAD}steps: [{{type: dig-deep}}]\n", encoding="utf-8")
    alone = load_runbook(path, registry=Registry.build(scan=()), name="runbook.yaml")
    assert "a distribution that provides it would be called gert-step-dig-deep" in only(alone).hint
    fake_dist.add("gert-step-dig-deep", "def broken(:\n", version="2.1")
    broken = load_runbook(path, registry=Registry.build(scan=fake_dist.scan()), name="runbook.yaml")
    assert (
        "plugin step-dig-deep (gert-step-dig-deep 2.1), which by its name provides it, is broken" in only(broken).hint
    )
