"""Replays of scenarios: where answers come from, in which order, and what is told about them."""

from __future__ import annotations

import socket
import subprocess

import pytest
from scenario_books import trial_of, verdict_on, write_book, write_scenario

from gert_core import hookimpl
from gert_core.plugin.registry import Registry
from gert_core.scenarios import ScenarioStatus, candidates_of

READ = "- {id: look, type: tool, tool: box, action: read, inputs: {item: a}}"
WRITE = "- {id: change, type: tool, tool: box, action: write, inputs: {item: a}}"
APPROVE = "governance: {rules: [{risk: critical, action: require-approval%s}, {default: allow}]}"
PASSED, FAILED, ERROR = ScenarioStatus.PASSED, ScenarioStatus.FAILED, ScenarioStatus.ERROR


def says(word):
    return {"outputs": {"word": word}}


def word_is(word):
    return {"expected_status": "completed", "expected_outputs": {"look.word": word}}


@pytest.fixture(autouse=True)
def _no_outside_world(monkeypatch):
    """A replay starts no program and opens no connection."""

    def refuse(*args, **kwargs):
        raise AssertionError("a replay went outside")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


# -- tool responses -----------------------------------------------------------------------------------------------


def test_stdout_goes_through_the_tools_own_extract(tmp_path):
    book = write_book(tmp_path, READ)
    verdict = verdict_on(book, {"tool_responses": {"box:read": [{"stdout": "word=hello\n"}]}}, word_is("hello"))
    assert verdict.status is PASSED, verdict


def test_outputs_are_taken_as_they_are_and_coerced_by_the_contract(tmp_path):
    book = write_book(tmp_path, READ)
    scenario = {"tool_responses": {"box": [{"stdout": "no match", "outputs": {"word": 12, "size": "3"}}]}}
    verdict = verdict_on(book, scenario, {"expected_outputs": {"word": "12", "{{ eq .size 3 }}": True}})
    assert verdict.status is PASSED, verdict


def test_a_response_answers_as_many_calls_as_it_says(tmp_path):
    book = write_book(tmp_path, READ.replace("{id: look,", "{id: look, for_each: {as: n, over: [1, 2, 3]},"))
    given = {"tool_responses": {"box:read": [{**says("a"), "times": 2}, says("b")]}}
    words = {"expected_outputs": {"look.0.word": "a", "look.1.word": "a", "look.2.word": "b"}}
    assert verdict_on(book, given, words).status is PASSED
    given["tool_responses"]["box:read"][1]["times"] = 3
    left = verdict_on(book, given, words)
    assert left.warnings == ("tool_responses: 2 of 5 responses for 'box:read' not used",)
    given["tool_responses"]["box:read"] = [{**says("a"), "times": 2}]
    short = verdict_on(book, given, {"expected_status": "completed"})
    assert "no response left for 'box:read' after 2" in short.failed[0].message


def test_the_actor_is_the_scenarios(tmp_path):
    book = write_book(tmp_path, READ)
    given = {"actor": "ann", "tool_responses": {"box:read": [says("a")]}}
    assert verdict_on(book, given, {"expected_outputs": {"run.actor": "ann"}}).status is PASSED
    del given["actor"]
    assert verdict_on(book, given, {"expected_outputs": {"run.actor": "gert-test"}}).status is PASSED


def test_an_answer_that_extract_cannot_read_is_the_steps_error(tmp_path):
    book = write_book(tmp_path, READ)
    tool = tmp_path / "tools" / "box.tool.yaml"
    tool.write_text(tool.read_text().replace("{word: {type: string, required: false}", "{word: {type: string}"))
    verdict = verdict_on(book, {"tool_responses": {"box": [{"stdout": "?"}]}}, {"expected_status": "completed"})
    assert verdict.status is FAILED
    assert "extract" in verdict.failed[0].message


def test_the_action_goes_before_the_tool_and_each_key_has_its_own_cursor(tmp_path):
    book = write_book(
        tmp_path,
        """
        - {id: r1, type: tool, tool: box, action: read, inputs: {item: a}}
        - {id: w1, type: tool, tool: box, action: write, inputs: {item: a}}
        - {id: r2, type: tool, tool: box, action: read, inputs: {item: a}}
        - {id: w2, type: tool, tool: box, action: write, inputs: {item: a}}
        - {id: r3, type: tool, tool: box, action: read, inputs: {item: a}}
        """,
    )
    scenario = {"tool_responses": {"box": [says("b1"), says("b2"), says("b3")], "box:read": [says("r1"), says("r2")]}}
    wanted = {"r1.word": "r1", "w1.word": "b1", "r2.word": "r2", "w2.word": "b2", "r3.word": "b3"}
    verdict = verdict_on(book, scenario, {"expected_status": "completed", "expected_outputs": wanted})
    assert verdict.status is PASSED, verdict
    assert verdict.warnings == ()


def test_one_cursor_in_declaration_order_across_branches_and_items(tmp_path):
    book = write_book(
        tmp_path,
        """
        - id: both
          type: parallel
          branches:
            - label: left
              steps:
                - {id: l1, type: tool, tool: box, action: read, inputs: {item: a}, scope: l1}
                - {id: l2, type: tool, tool: box, action: read, inputs: {item: a}, scope: l2}
            - label: right
              steps:
                - {id: r1, type: tool, tool: box, action: read, inputs: {item: a}, scope: r1}
        - id: each
          type: tool
          tool: box
          action: read
          inputs: {item: "{{ .n }}"}
          for_each: {as: n, over: [x, y], parallel: true}
        """,
    )
    scenario = {"tool_responses": {"box:read": [says(str(number)) for number in range(5)]}}
    wanted = {"l1.word": 0, "l2.word": 1, "r1.word": 2, "each.0.word": 3, "each.1.word": 4}
    for _ in range(3):
        verdict = verdict_on(book, scenario, {"expected_status": "completed", "expected_outputs": wanted})
        assert verdict.status is PASSED, verdict


@pytest.mark.parametrize(
    ("responses", "said"),
    [
        ({}, "no response for 'box:read'"),
        ({"box:write": [{}]}, "no response for 'box:read'"),
        ({"box:read": [says("a")]}, "no response left for 'box:read' after 1"),
    ],
    ids=str,
)
def test_a_miss_is_an_error_of_the_step(tmp_path, responses, said):
    book = write_book(tmp_path, READ + "\n" + READ.replace("look", "again"))
    verdict = verdict_on(book, {"tool_responses": responses}, {"expected_status": "completed"})
    assert verdict.status is FAILED
    assert said in verdict.failed[0].message
    assert "scenario_miss" in verdict.failed[0].message


def test_a_miss_is_no_success_when_the_test_says_nothing_about_the_status(tmp_path):
    book = write_book(tmp_path, READ)
    verdict = verdict_on(book, {}, {"must_reach": ["look"]})
    assert verdict.status is ERROR
    assert "no response for 'box:read'" in verdict.error
    assert "expected_status: error" in verdict.hint
    assert verdict_on(book, {}, {"expected_status": "error", "must_reach": ["look"]}).status is PASSED


def test_an_exit_code_fails_the_step(tmp_path):
    book = write_book(tmp_path, READ)
    scenario = {"tool_responses": {"box": [{"exit_code": 3, "stderr": "no"}]}}
    assert verdict_on(book, scenario, {"expected_status": "failed", "must_reach": ["look"]}).status is PASSED


# -- canned steps, evidence, inputs ---------------------------------------------------------------------------------


def test_a_canned_result_wins_for_its_one_execution(tmp_path):
    book = write_book(
        tmp_path,
        "- {id: each, type: tool, tool: box, action: read, inputs: {item: a}, "
        "for_each: {as: n, over: [a, b], key: '{{ .n }}'}}",
    )
    scenario = {
        "steps": {"each[b]": {"outputs": {"word": "canned"}}},
        "tool_responses": {"box": [says("first")]},
    }
    wanted = {"each.a.word": "first", "each.b.word": "canned"}
    verdict = verdict_on(book, scenario, {"expected_outputs": wanted, "must_reach": ["each[0]", "each[1]", "each[b]"]})
    assert verdict.status is PASSED, verdict
    assert verdict.warnings == ()


@pytest.mark.parametrize(
    ("canned", "status", "kind"),
    [
        ({"status": "failed", "kind": "odd", "message": "so it is"}, "failed", "odd"),
        ({"status": "error"}, "error", "canned"),
    ],
    ids=str,
)
def test_a_canned_failure(tmp_path, canned, status, kind):
    book = write_book(tmp_path, READ)
    verdict = verdict_on(book, {"steps": {"look": canned}}, {"expected_status": "completed"})
    assert verdict.failed[0].actual == status
    assert kind in verdict.failed[0].message


def test_an_end_cannot_be_canned_away(tmp_path):
    book = write_book(tmp_path, "- {id: stop, type: end, outcome: {category: resolved, code: x}}", tools="[]")
    verdict = verdict_on(book, {"steps": {"stop": {}}}, {"expected_code": "x"})
    assert verdict.status is PASSED
    assert verdict.warnings == ("steps: the result for 'stop' was not used",)


MANUAL = """
- id: ask
  type: manual
  instructions: look
  required_evidence: [{kind: text, name: notes}, {kind: checklist, name: list, items: [a]}]
- {id: confirm, type: manual, instructions: ok?}
"""


def test_evidence_by_id_or_key_and_confirmation_needs_none(tmp_path):
    book = write_book(tmp_path, MANUAL, tools="[]")
    scenario = {"evidence": {"ask": {"notes": "saw it", "list": {"a": True}}}}
    test = {"expected_status": "completed", "must_reach": ["confirm"], "expected_outputs": {"ask.notes": "saw it"}}
    verdict = verdict_on(book, scenario, test)
    assert verdict.status is PASSED, verdict
    assert verdict_on(book, {"evidence": {"ask": {"notes": "x"}}}, {"expected_status": "error"}).status is PASSED


def test_a_person_may_refuse(tmp_path):
    book = write_book(tmp_path, MANUAL, tools="[]")
    evidence = {"ask": {"notes": "x", "list": {"a": True}}, "confirm": {"confirm": "reject too late"}}
    verdict = verdict_on(book, {"evidence": evidence}, {"expected_status": "completed"})
    assert "too late" in verdict.failed[0].message


INPUTS = """
inputs:
  host: {type: string, required: true, from: env/HOST}
  count: {type: int, default: 3}
"""
EQUAL = "- {id: same, type: assert, assert: [{type: equals, value: '{{ .host }}-{{ .count }}', expected: srv-4}]}"


def test_inputs_come_from_the_scenario_and_replace_all_resolvers(tmp_path, monkeypatch):
    monkeypatch.setenv("HOST", "elsewhere")
    book = write_book(tmp_path, EQUAL, meta=INPUTS, tools="[]")
    assert verdict_on(book, {"inputs": {"host": "srv", "count": "4"}}, {"expected_code": "done"}).status is PASSED
    missing = verdict_on(book, {"inputs": {"count": 4}}, {}, HOST="elsewhere")
    assert missing.status is ERROR
    assert "'host'" in missing.error
    wrong = verdict_on(book, {"inputs": {"host": "srv", "count": "many"}}, {})
    assert (wrong.status, "'count'" in wrong.error) == (ERROR, True)


def test_no_secret_is_needed_and_a_short_one_does_no_harm(tmp_path):
    book = write_book(tmp_path, READ, meta="secrets: [{env: TOKEN}]")
    scenario = {"tool_responses": {"box": [says("hush-hush")]}}
    assert verdict_on(book, scenario, word_is("hush-hush")).status is PASSED
    assert verdict_on(book, scenario, word_is("hush-hush"), TOKEN="x").status is PASSED
    verdict = verdict_on(book, scenario, word_is("other hush-hush"), TOKEN="hush-hush")
    assert verdict.status is FAILED
    assert "hush-hush" not in repr(verdict)
    assert "<REDACTED:TOKEN>" in verdict.failed[0].message


# -- approvals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "approvals", "status"),
    [
        ("", None, "completed"),
        (", min_approvers: 2", None, "completed"),
        ("", {"change": [{"approved": True, "approver_id": "alice"}]}, "completed"),
        ("", {"change": [{"approved": False, "approver_id": "alice", "reason": "no"}]}, "failed"),
        ("", {"change": []}, "approval_pending"),
        (", min_approvers: 2", {"change": [{"approved": True, "approver_id": "alice"}]}, "approval_pending"),
        (", min_approvers: 2", {"change": [{"approved": True, "approver_id": "alice"}] * 2}, "approval_pending"),
        (
            ", min_approvers: 2",
            {"change": [{"approved": True, "approver_id": "alice"}, {"approved": True, "approver_id": "bob"}]},
            "completed",
        ),
        (
            ", min_approvers: 2",
            {"change": [{"approved": True, "approver_id": "alice"}, {"approved": False, "approver_id": "bob"}]},
            "failed",
        ),
        (", exclude_actor: true", {"change": [{"approved": True, "approver_id": "gert-test"}]}, "approval_pending"),
        (", exclude_actor: true", {"change": [{"approved": True}]}, "completed"),
    ],
    ids=str,
)
def test_approvals(tmp_path, rule, approvals, status):
    book = write_book(tmp_path, WRITE, meta=APPROVE % rule)
    scenario = {"tool_responses": {"box": [{"outputs": {}}]}} | ({"approvals": approvals} if approvals else {})
    reached = {"must_reach": ["change"]} if status == "completed" else {"must_not_reach": ["change"]}
    verdict = verdict_on(book, scenario, {"expected_status": status, **reached})
    assert verdict.status is PASSED, verdict


def test_each_execution_takes_the_next_answers(tmp_path):
    book = write_book(
        tmp_path,
        WRITE.replace("inputs:", "next: {step: change, max: 1}, inputs:"),
        meta=APPROVE % "",
    )
    yes, no = {"approved": True, "approver_id": "alice"}, {"approved": False, "approver_id": "bob", "reason": "enough"}
    scenario = {"tool_responses": {"box": [{"outputs": {}}] * 2}, "approvals": {"change": [yes, no]}}
    verdict = verdict_on(book, scenario, {"expected_status": "completed"})
    assert verdict.failed[0].actual == "failed"
    assert "enough" in verdict.failed[0].message
    assert verdict.path[-1] == ("change#2", "skipped")
    keyed = {"approvals": {"change#2": [yes], "change": [yes]}} | {"tool_responses": scenario["tool_responses"]}
    assert verdict_on(book, keyed, {"expected_status": "completed"}).status is PASSED


# -- what is told ---------------------------------------------------------------------------------------------------


def test_leftovers_and_unknown_names_are_told(tmp_path):
    book = write_book(tmp_path, READ + MANUAL.replace("required_evidence", "when: false\n  required_evidence"))
    scenario = {
        "inputs": {"nope": 1},
        "tool_responses": {
            "box:read": [says("a"), says("b"), says("c")],
            "box:burn": [{}],
            "bax": [{}],
            "box": [],
        },
        "steps": {"lok": {}, "look#7": {}},
        "evidence": {"ask": {"notes": "x"}, "asc": {"notes": "x"}},
        "approvals": {"look": [{"approved": True}], "loook": []},
    }
    verdict = verdict_on(book, scenario, {"must_not_reach": ["asc"], "expected_status": "completed"})
    assert verdict.status is PASSED
    assert list(verdict.warnings) == [
        "inputs: 'nope' is not an input of this runbook",
        "tool_responses: 2 of 3 responses for 'box:read' not used",
        "tool_responses: 'box:burn' is not a tool or action of this runbook",
        "tool_responses: 'bax' is not a tool or action of this runbook",
        "steps: 'lok' is not a step of this runbook",
        "steps: the result for 'look#7' was not used",
        "evidence: 'notes' of step 'ask' was not asked for",
        "evidence: 'asc' is not a step of this runbook",
        "approvals: 1 of 1 answer for 'look' not used",
        "approvals: 'loook' is not a step of this runbook",
        "must_not_reach: 'asc' is not a step of this runbook; did you mean 'ask'?",
    ]


def test_without_a_test_a_scenario_is_skipped_and_it_is_said(tmp_path):
    book = write_book(tmp_path, READ)
    write_scenario(book, "bare", {})
    verdict = trial_of(book).run(candidates_of(book)[0])
    assert verdict.status is ScenarioStatus.SKIPPED
    assert "test.yaml" in verdict.error


def test_a_wrong_runbook_makes_every_scenario_an_error_with_the_place(tmp_path):
    book = write_book(tmp_path, READ.replace("action: read", "action: raed"))
    verdict = verdict_on(book, {}, {})
    assert verdict.status is ERROR
    assert "book.yaml:" in verdict.error
    assert "action-unknown" in verdict.error


NESTED = """
- id: sites
  type: branch
  for_each: {as: site, over: [north, "south west"], key: "{{ .site }}"}
  branches:
    - condition: default
      steps:
        - id: hosts
          type: assert
          for_each: {as: host, over: [web, db], key: "{{ .host }}"}
          when: '{{ or (eq .site "north") (eq .host "db") }}'
          assert: [{type: equals, value: x, expected: x}]
        - {id: after, type: assert, when: '{{ eq .site "north" }}', assert: [{type: equals, value: x, expected: x}]}
"""
REACHED = [
    *("sites", "hosts", "after", "sites[north]", "sites[0]", "sites[1]", "sites[south west]", "sites[south%20west]"),
    *("hosts[web]", "hosts[db]", "hosts[0]", "hosts[1]", "sites[north]/0/hosts[web]", "sites[north]/hosts[web]"),
    *("sites[0]/0/hosts[0]", "sites[south west]/0/hosts[db]", "sites[1]/hosts[1]", "sites[north]/0/after"),
    *("sites[0]/after", "sites/0/hosts", "sites/hosts[db]"),
]
NOT_REACHED = [
    *("sites[south west]/0/hosts[web]", "sites[1]/hosts[0]", "sites[south west]/0/after", "sites[1]/after"),
]
IMPOSSIBLE = {
    "hosts[mail]": "no item of step hosts has this key; it has web, db",
    "hosts[2]": "step hosts has 2 items",
    "after[0]": "step after has no for_each, so it has no items",
    "sites[east]/0/hosts[web]": "no item of step sites has this key",
    "hosts[web]/0/after": "step after is not directly inside step hosts",
}


@pytest.mark.parametrize("name", REACHED)
def test_items_of_nested_keyed_loops_are_found(tmp_path, name):
    book = write_book(tmp_path, NESTED, tools="[]")
    assert verdict_on(book, {}, {"must_reach": [name]}).status is PASSED
    verdict = verdict_on(book, {}, {"must_not_reach": [name]})
    assert verdict.status is FAILED
    assert verdict.warnings == ()


@pytest.mark.parametrize("name", [*NOT_REACHED, *IMPOSSIBLE])
def test_items_of_nested_keyed_loops_that_did_not_run_are_told_apart(tmp_path, name):
    book = write_book(tmp_path, NESTED, tools="[]")
    assert verdict_on(book, {}, {"must_reach": [name]}).status is FAILED
    verdict = verdict_on(book, {}, {"must_not_reach": [name]})
    assert verdict.status is PASSED
    if name in IMPOSSIBLE:
        (warning,) = verdict.warnings
        assert f"must_not_reach: {name!r} cannot be reached: {IMPOSSIBLE[name]}" in warning
    else:
        assert verdict.warnings == ()


def test_an_item_whose_keys_are_known_only_in_the_run_is_not_warned_about(tmp_path):
    steps = NESTED.replace("over: [web, db]", 'over: "{{ .names }}"')
    book = write_book(tmp_path, steps, meta="inputs: {names: {type: list, default: [web, db]}}", tools="[]")
    assert verdict_on(book, {}, {"must_not_reach": ["hosts[mail]"]}).warnings == ()
    assert verdict_on(book, {}, {"must_reach": ["hosts[web]"]}).status is PASSED


def test_loops_are_reached_by_their_items(tmp_path):
    book = write_book(
        tmp_path,
        """
        - id: some
          type: assert
          assert: [{type: equals, value: x, expected: x}]
          when: '{{ ne .n "b" }}'
          for_each: {as: n, over: [a, b, c], key: "k-{{ .n }}"}
        - id: none
          type: assert
          assert: [{type: equals, value: x, expected: x}]
          for_each: {as: n, over: []}
        - id: outer
          type: branch
          branches:
            - condition: default
              label: only
              steps:
                - {id: inner, type: assert, assert: [{type: equals, value: x, expected: x}]}
          for_each: {as: n, over: [a, b]}
        """,
        tools="[]",
    )
    test = {
        "must_reach": ["some", "some[0]", "some[2]", "some[k-a]", "outer", "outer[1]", "inner", "outer[1]/0/inner"],
        "must_not_reach": ["some[1]", "some[k-b]", "some[3]", "none", "none[0]", "outer[2]"],
        "expected_status": "completed",
    }
    verdict = verdict_on(book, {}, test)
    assert verdict.status is PASSED, verdict


def test_a_step_around_a_pending_approval_is_reached_and_the_pending_one_is_not(tmp_path):
    branch = f"""
    - id: around
      type: branch
      branches:
        - condition: default
          label: only
          steps:
            {WRITE}
    """
    book = write_book(tmp_path, branch, meta=APPROVE % "")
    test = {"expected_status": "approval_pending", "must_reach": ["around"], "must_not_reach": ["change"]}
    verdict = verdict_on(book, {"approvals": {"change": []}}, test)
    assert verdict.status is PASSED, verdict
    assert verdict.path == (("around", "entered"), ("around/0/change", "approval_pending"))


def test_observers_are_told_the_mode_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = []

    class Observer:
        @staticmethod
        @hookimpl
        def gert_trace_event(event, mode):
            seen.append((event.type, mode))

    book = write_book(tmp_path / "books", READ)
    write_scenario(book, "one", {"tool_responses": {"box": [says("a")]}}, {"expected_status": "completed"})
    trial = trial_of(book, registry=Registry.build(extra_plugins=[Observer()]))
    assert trial.run(candidates_of(book)[0]).status is PASSED
    assert (seen[0], seen[-1]) == (("run_start", "replay"), ("run_complete", "replay"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["books"]


def test_signing_keys_of_the_environment_do_not_matter(tmp_path):
    book = write_book(tmp_path, READ)
    scenario = {"tool_responses": {"box": [says("a")]}}
    verdict = verdict_on(book, scenario, word_is("a"), GERT_TRACE_SIGNING_KEY="not base64!", GERT_TRACE_SIGNING_ALG="x")
    assert verdict.status is PASSED, verdict


def test_a_tool_listed_by_path_answers_to_its_own_name_too(tmp_path):
    steps = "- {id: look, type: tool, tool: ./tools/box.tool.yaml, action: read, inputs: {item: a}}"
    book = write_book(tmp_path, steps, tools="[./tools/box.tool.yaml]")
    verdict = verdict_on(book, {"tool_responses": {"box:read": [{"stdout": "word=hello\n"}]}}, word_is("hello"))
    assert (verdict.status, verdict.warnings) == ("passed", ())
