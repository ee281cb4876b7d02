"""What people are asked and may answer: the approval request as shown, yes and no in full, times as people say them."""

from __future__ import annotations

import re

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: note, transport: stdio }
contract: { effects: [network], writes: [board], inputs: { text: {} } }
actions: { put: { description: Puts a note on the board., argv: ["true", "{{ .text }}"] } }
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: board
  governance:
    approval_timeout: 2h
    rules: [ { writes: [board], action: require-approval } ]
tools: [note]
steps:
  - { id: put, type: tool, tool: note, inputs: { text: TEXT } }
  - { id: done, type: end, outcome: { category: resolved } }
"""
MANUAL = """\
apiVersion: kernel/v0
meta: { name: people }
steps:
  - { id: ask, type: manual, instructions: Look at it.EVIDENCE }
  - { id: done, type: end, outcome: { category: resolved } }
"""
CHECKLIST = ", required_evidence: [{ kind: checklist, name: points, items: [red, blue] }]"


@pytest.fixture
def gert(tmp_path) -> Gert:
    gert = Gert(tmp_path, GERT_ACTOR="olga", TZ="UTC", COLUMNS="80")
    gert.write(tool_note=TOOL, book=BOOK.replace("TEXT", "hello"))
    return gert


def request(said: str) -> list[str]:
    """The lines of the request on the screen."""
    lines = said.replace("\r\n", "\n").split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("Approval needed"))
    end = next(n for n, line in enumerate(lines) if line.startswith("Approve "))
    return lines[start:end]


@pytest.mark.parametrize(
    ("line", "approver", "reason"), [("put", "olga", None), ("put ann: go", "ann", "go"), ("  put ann", "ann", None)]
)
def test_the_id_of_a_step_of_critical_risk_approves_at_a_terminal(gert, line, approver, reason):
    seen = gert.on_terminal("exec", "book.yaml", answers=f"{line}\n")
    assert "✓\x1b[0m Outcome: resolved" in seen
    (answer,) = [e["data"] for e in gert.events() if e["type"] == "approval_response"]
    assert (answer["approved"], answer["approver_id"], answer.get("reason")) == (True, approver, reason)


def test_no_rejects(gert):
    said = gert("exec", "book.yaml", answers="no ann: not today\n")
    assert said.code == 1
    assert ": 'ann' rejected it: not today (approval_rejected)" in said.out
    assert "Please answer" not in said.err


@pytest.mark.parametrize(
    ("evidence", "answer", "points"),
    [
        ("", "yes", None),
        ("", "Y", None),
        ("", "", None),
        (CHECKLIST, "yes", {"red": True, "blue": True}),
        (CHECKLIST, "y", {"red": True, "blue": True}),
    ],
)
def test_yes_confirms_and_ticks_a_checklist(gert, evidence, answer, points):
    gert.write(book=MANUAL.replace("EVIDENCE", evidence))
    said = gert("exec", "book.yaml", answers=f"{answer}\n")
    assert said.code == 0, said.all
    (done,) = [e["data"] for e in gert.events() if e["type"] == "step_complete" and e["step_key"] == "ask"]
    assert done.get("outputs", {}).get("points") == points


@pytest.mark.parametrize(
    ("evidence", "answer", "message"),
    [
        ("", "no", "rejected by the operator (rejected)"),
        ("", "N", "rejected by the operator (rejected)"),
        (CHECKLIST, "no", "not done: points: red, points: blue (checklist_incomplete)"),
    ],
)
def test_no_is_never_taken_for_a_confirmation(gert, evidence, answer, message):
    gert.write(book=MANUAL.replace("EVIDENCE", evidence))
    said = gert("exec", "book.yaml", answers=f"{answer}\n")
    assert said.code == 1
    assert re.search(rf"^  step ask \(book.yaml:\d+\): {re.escape(message)}$", said.out, re.MULTILINE)


def test_any_other_word_does_not_confirm(gert):
    gert.write(book=MANUAL.replace("EVIDENCE", ""))
    said = gert("exec", "book.yaml", answers="wait\nyes\n")
    assert said.code == 0
    assert "  Answer with Enter or `yes`, or with `no`.\n" in said.err


@pytest.mark.parametrize(("word", "value"), [("yes", True), ("n", False), ("true", True)])
def test_a_boolean_input_is_asked_for_in_the_same_words(gert, word, value):
    gert.write(
        book="apiVersion: kernel/v0\nmeta: { name: b, inputs: { sure: { type: bool, from: prompt, required: true } } }\n"
        "steps: [ { id: done, type: end, outcome: { category: resolved, meta: { sure: '{{ .sure }}' } } } ]\n"
    )
    said = gert("exec", "book.yaml", answers=f"{word}\n")
    assert f"  sure: {str(value).lower()}\n" in said.out


def test_the_request_says_which_rule_demands_the_approval_and_when_it_expires(gert):
    lines = request(gert.on_terminal("exec", "book.yaml", answers="put\n"))
    assert lines.pop() == "| command    true hello"
    assert re.fullmatch(r"\| expires    in 2 hours, at (\d{4}-\d\d-\d\d )?\d\d:\d\d UTC", lines.pop())
    text = "\n".join(lines)
    assert re.search(r"\| program    /.*/true\n", text)
    assert re.sub(r"\| (program|cwd) .*\n(?:\|  .*\n)*", "", text).split("\n") == [
        "Approval needed: step put of board",
        "| command    true hello",
        "| effects    network",
        "| writes     board",
        "| reads      none",
        "| contract   not idempotent, not deterministic",
        "| risk       critical",
        "| rule       Rule 1 of the runbook's own governance applies: require-approval",
        "|            for writes board.",
        "| step       put of board, type tool",
        "| author's   description = Puts a note on the board.",
        "| inputs     text = hello",
    ]


def test_every_rule_that_demands_it_is_named(gert):
    gert.write(
        floor="apiVersion: policy/v0\nmeta: { name: floor, version: '1' }\n"
        "rules: [ { risk: [low], action: allow }, { effects: [network], action: require-approval, min_approvers: 2 } ]\n"
    )
    said = gert("exec", "book.yaml", "--policy", "floor.yaml", answers="y ann\ny bob\n")
    lines = request(said.err)
    start = lines.index("| rule       Rule 2 of the policy floor.yaml applies: require-approval by 2")
    assert lines[start + 1 : start + 4] == [
        "|            approvers for effects network.",
        "|            Rule 1 of the runbook's own governance applies: require-approval",
        "|            for writes board.",
    ]


def test_a_long_value_goes_over_several_lines_behind_a_bar(gert):
    gert.write(book=BOOK.replace("TEXT", '"first\\n  run: other\\n' + "x" * 70 + '"'))
    lines = request(gert.on_terminal("exec", "book.yaml", answers="put\n"))
    start = lines.index("| inputs     text =")
    assert lines[start + 1 : start + 5] == [
        "|            | first",
        "|            |   run: other",
        f"|            | {'x' * 64}",
        "|            | xxxxxx",
    ]
    assert max(len(line) for line in lines[start:]) == 79


def test_an_item_is_named_as_it_was_given(gert):
    step = "tool: note, inputs: { text: a }, for_each: { as: n, over: ['web/1 ü'], key: '{{ .n }}' } }"
    gert.write(book=BOOK.replace("tool: note, inputs: { text: TEXT } }", step))
    said = gert("exec", "book.yaml", answers="y\n")
    assert "Approval needed: step put[web/1 ü] of board\n" in said.err
    assert "Approve put[web/1 ü]? y|n [approver-id][: reason] " in said.err
