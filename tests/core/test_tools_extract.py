"""``tools.extract``: outputs taken from a reply, typed as the contract says."""

from __future__ import annotations

import pytest

from gert_core.api import Contract, Param, Reply, StepProblem
from gert_core.documents.tool import ActionModel
from gert_core.tools import extract

PODS = '{"items": [{"name": "a", "status": {"phase": "Running"}, "a.b": 1}], "n": 3, "none": null}'


def take(rules: dict | None, reply: Reply, **types: str):
    action = ActionModel.model_validate({"argv": ["x"]} | ({"extract": rules} if rules else {}))
    outputs = {name: Param(type=type_, required=True) for name, type_ in types.items()}
    return extract(action, Contract(outputs=outputs), reply)


def said(stdout: str = "", *, stderr: str = "", code: int = 0) -> Reply:
    return Reply(exit_code=code, stdout=stdout, stderr=stderr, failed=code != 0)


@pytest.mark.parametrize(
    ("rule", "reply", "type_", "value"),
    [
        ({"from": "stdout"}, said("  text\n"), "string", "text"),
        ({"from": "stdout"}, said("two\nlines\n"), "string", "two\nlines"),
        ({"from": "stderr"}, said(stderr="oops\n"), "string", "oops"),
        ({"from": "exit_code"}, said(), "int", 0),
        ({"from": "stdout", "pattern": r"^(\d+)$"}, said("200\n"), "int", 200),
        ({"from": "stdout", "pattern": r"\d+"}, said("took 12 ms"), "int", 12),
        ({"from": "stdout", "pattern": r"(a)|(b)"}, said("b"), "string", "b"),
        ({"from": "stdout", "pattern": r"x=(\S*)"}, said("x= y"), "string", ""),
        ({"from": "exit_code", "pattern": r"^\d$"}, said(), "int", 0),
        ({"from": "json"}, said('[1, "a"]'), "list", [1, "a"]),
        ({"from": "json", "path": "items.0.status.phase"}, said(PODS), "string", "Running"),
        ({"from": "json", "path": "items[0].name"}, said(PODS), "string", "a"),
        ({"from": "json", "path": ".items[0]['a.b']"}, said(PODS), "int", 1),
        ({"from": "json", "path": '$.items[0]["a.b"]'}, said(PODS), "string", "1"),
        ({"from": "json", "path": "[1].x"}, said('[0, {"x": true}]'), "bool", True),
        ({"from": "json", "path": "0"}, said('{"0": "key"}'), "string", "key"),
        ({"from": "json", "path": "n", "pattern": "3"}, said(PODS), "int", 3),
        ({"path": "n"}, said(PODS), "int", 3),
        ({"from": "json", "path": "items"}, Reply(outputs={"items": [1]}), "list", [1]),
    ],
)
def test_what_a_rule_takes(rule, reply, type_, value):
    assert take({"out": rule}, reply, out=type_) == {"out": value}


@pytest.mark.parametrize(
    ("rule", "stdout", "words"),
    [
        ({"pattern": r"^(\d+)$"}, "oops\nmore", ["output 'out'", r"/^(\d+)$/", "stdout 'oops'"]),
        ({"pattern": "x"}, "", ["(empty)"]),
        ({"pattern": "x"}, "y" * 500, ["yyy..."]),
        ({"from": "json"}, "", ["stdout is empty, and JSON is expected"]),
        ({"from": "json"}, "<html>\n", ["stdout is not valid JSON", "'<html>'"]),
        ({"from": "json"}, "NaN", ["NaN is not a JSON value"]),
        ({"from": "json"}, "[" * 3000 + "]" * 3000, ["nested deeper"]),
        ({"from": "json", "path": "items.5.name"}, PODS, ["'items.5.name'", "at '5'", "has 1 items"]),
        ({"from": "json", "path": "itms"}, PODS, ["'itms'", "the keys there are items, n, none"]),
        ({"from": "json", "path": "n.deeper"}, PODS, ["the value there is '3'"]),
        ({"from": "json", "path": "items[-1]"}, PODS, ["is not valid"]),
        ({"from": "json", "path": "items[0"}, PODS, ["is not valid"]),
    ],
)
def test_a_mismatch_says_what_was_there_and_is_ignored_when_the_tool_failed(rule, stdout, words):
    with pytest.raises(StepProblem) as caught:
        take({"out": rule}, said(stdout), out="any")
    assert caught.value.kind == "extract"
    for word in words:
        assert word in caught.value.message
    assert len(caught.value.message) < 300
    assert take({"out": rule}, said(stdout, code=1), out="any") == {}
    assert take({"out": rule}, Reply(stdout=stdout, failed=True), out="any") == {}


def test_what_a_failed_tool_did_say_is_kept():
    rules = {"code": {"from": "exit_code"}, "why": {"from": "stderr"}, "n": {"pattern": r"(\d+)"}}
    reply = said("none", stderr="bad\n", code=4)
    assert take(rules, reply, code="int", why="string", n="int") == {"code": 4, "why": "bad"}


@pytest.mark.parametrize(
    ("stdout", "type_"), [("abc", "int"), ("1.5", "int"), ("maybe", "bool"), ("x", "list"), ("[]", "object")]
)
def test_a_value_of_the_wrong_type_names_the_output(stdout, type_):
    with pytest.raises(StepProblem) as caught:
        take({"out": {"from": "stdout"}}, said(stdout), out=type_)
    assert caught.value.kind == "output_type"
    assert "output 'out'" in caught.value.message


def test_null_is_fine_only_for_an_output_that_may_be_missing():
    action = ActionModel.model_validate({"argv": ["x"], "extract": {"out": {"from": "json", "path": "none"}}})
    assert extract(action, Contract(outputs={"out": Param(type="int")}), said(PODS)) == {"out": None}
    with pytest.raises(StepProblem, match="output 'out'"):
        extract(action, Contract(outputs={"out": Param(type="int", required=True)}), said(PODS))


def test_without_rules_a_structured_answer_is_taken_as_it_is():
    reply = Reply(outputs={"n": "5", "extra": [1]})
    assert take(None, reply, n="int", missing="string") == {"n": 5, "extra": [1]}


def test_without_rules_a_text_answer_gives_the_outputs_named_like_its_parts():
    reply = said(" out\n", stderr="err\n")
    assert take(None, reply, stdout="string", stderr="string", exit_code="int", other="string") == {
        "stdout": "out",
        "stderr": "err",
        "exit_code": 0,
    }
    assert take(None, reply, other="string") == {}


def test_a_pattern_that_would_run_away_is_a_mismatch():
    with pytest.raises(StepProblem) as caught:
        take({"out": {"pattern": r"(x+x+)+y"}}, said("x" * 20000), out="string")
    assert caught.value.kind == "extract"


def test_half_a_surrogate_pair_cannot_reach_the_trace():
    assert take({"out": {"from": "json"}}, said('"a\\ud800"'), out="string") == {"out": "a\ufffd"}
