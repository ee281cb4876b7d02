"""What `gert validate` says about `retry`: where it has no effect, and how to write it; hints are followed literally."""

from __future__ import annotations

import json

import pytest

BOOK = """\
apiVersion: kernel/v0
meta: {{name: book}}
tools: [api]
steps:
  - {{id: get, type: tool, tool: api, action: {action}, retry: {retry}}}
  - {{type: end, outcome: {{category: resolved}}}}
"""
TOOL = """\
apiVersion: tool/v0
meta: {{name: api{meta}}}
contract: {{effects: [network]}}
actions:
  read: {{argv: [ls], contract: {{writes: []}}{read}}}
  write: {{argv: [ls], contract: {{writes: [host]}}{write}}}
"""


@pytest.fixture
def validate(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*, action="read", retry="standard", meta="", read="", write="", book=BOOK):
        (tmp_path / "tools").mkdir(exist_ok=True)
        (tmp_path / "tools/api.tool.yaml").write_text(TOOL.format(meta=meta, read=read, write=write))
        (tmp_path / "book.yaml").write_text(book.format(action=action, retry=retry))
        _, out, _ = gert("validate", "book.yaml", "--json")
        found = json.loads(out)["diagnostics"]
        return [(d["rule"], d["severity"], d["file"], d["line"], d["message"], d["hint"]) for d in found]

    return run


@pytest.mark.parametrize("retry", ["none", "standard", "aggressive", "{max: 2, on: [timeout, exit_code]}"])
def test_a_policy_of_a_step_that_can_be_repeated(validate, retry):
    assert validate(retry=retry) == []


def test_a_step_that_writes_and_is_not_idempotent(validate):
    assert validate(action="write") == [
        (
            "retry-not-repeatable",
            "warning",
            "book.yaml",
            5,
            "step `get` writes and is not idempotent, so it is attempted once",
            "remove `retry`, or declare `idempotent: true` in the contract of its action if repeating it is safe",
        )
    ]
    assert validate(action="write", retry="none") == []


def test_a_tool_with_a_policy_for_what_cannot_be_repeated(validate):
    said = "writes and is not idempotent, so"
    hint = "remove `retry`, or declare `idempotent: true` in the contract if repeating it is safe"
    assert validate(retry="none", write=", retry: standard") == [
        (
            "retry-not-repeatable",
            "warning",
            "tools/api.tool.yaml",
            6,
            f"action `write` {said} it is attempted once",
            hint,
        )
    ]
    assert validate(retry="none", meta=", retry: standard") == [], "it is for the action that can be repeated"
    assert validate(retry="none", meta=", retry: standard", read=", retry: none") == [
        (
            "retry-not-repeatable",
            "warning",
            "tools/api.tool.yaml",
            2,
            f"every action {said} each is attempted once",
            hint,
        )
    ]


def test_more_attempts_than_the_tool_allows(validate):
    assert validate(retry="aggressive", meta=", retry: standard") == [
        (
            "not-acted-on",
            "warning",
            "book.yaml",
            5,
            "the tool `api` is attempted at most 3 times, so step `get` cannot raise that to 5",
            "remove `retry` here, or write `retry: {max: 5}` in `meta` of tools/api.tool.yaml",
        )
    ]
    assert validate(retry="standard", meta=", retry: standard") == []
    assert validate(retry="standard", meta=", retry: none", read=", retry: aggressive") == []


def test_an_action_that_holds_a_step_back_is_named(validate):
    found = validate(meta=", retry: {max: 2}", read=", retry: none")
    ((*_, message, hint),) = [row for row in found if row[2] == "book.yaml"]
    assert message == "the action `api:read` is attempted once, so step `get` cannot raise that to 3"
    assert hint == "remove `retry` here, or write `retry: {max: 3}` in `actions.read` of tools/api.tool.yaml"
    mended = validate(meta=", retry: {max: 2}", read=", retry: {max: 3}")
    assert [row for row in mended if row[2] == "book.yaml"] == []


def test_kinds_of_which_none_leads_to_an_attempt(validate):
    ((*_, hint),) = validate(retry="{max: 3, on: [template]}")
    assert hint == "remove `retry`"
    ((rule, _, _, _, message, hint),) = validate(retry="{max: 3, on: []}")
    assert (rule, message) == ("wrong-type", "`on` must not be empty")
    assert hint == "remove it: without `on` all kinds count that may be retried"
    assert validate(retry="{max: 3}") == []


def test_kinds_that_lead_to_no_attempt(validate):
    rows = validate(retry="{max: 2, on: [exit_cod, template, weather]}")
    assert [(row[0], row[3], *row[4:]) for row in rows] == [
        (
            "not-acted-on",
            5,
            "`exit_cod` is not a kind of failure that gert or its standard plugins report",
            "did you mean `exit_code`?",
        ),
        ("not-acted-on", 5, "after a failure of kind `template` there is never another attempt", "remove it"),
        (
            "not-acted-on",
            5,
            "`weather` is not a kind of failure that gert or its standard plugins report",
            "no change needed if a plugin reports it",
        ),
    ]
    assert validate(retry="none", meta=", retry: {max: 2, on: [exit_cod]}")[0][2:4] == ("tools/api.tool.yaml", 2)


def test_kinds_that_the_tool_does_not_have(validate):
    ((rule, *_, message, hint),) = validate(retry="{max: 2, on: [exit_code]}", meta=", retry: {max: 2, on: [timeout]}")
    assert rule == "not-acted-on"
    assert message == "`on` names none of the kinds that the tool `api` is attempted again after"
    assert hint == "the tool names `timeout`"


def test_a_first_pause_that_is_longer_than_the_longest(validate):
    ((rule, _, _, _, message, hint),) = validate(retry="{max: 2, delay: 10s, max_delay: 1s}")
    assert (rule, message) == ("not-acted-on", "`delay` is longer than `max_delay`, so every pause takes `max_delay`")
    assert hint == "make `max_delay` at least as long as `delay`, or leave it out"


def test_a_step_that_only_computes(validate):
    book = BOOK.replace(
        "type: tool, tool: api, action: {action}", "type: assert, assert: [{{type: equals, value: x, expected: x}}]"
    )
    ((rule, _, _, line, message, hint),) = validate(book=book)
    assert (rule, line, hint) == ("not-acted-on", 5, "remove `retry`")
    assert message == "step `get` only computes, so another attempt would give the same: it is attempted once"


def test_a_step_with_steps_inside_it(validate):
    book = BOOK.replace(
        "type: tool, tool: api, action: {action}",
        "type: repeat, repeat: {{max: 2}}, steps: [{{type: tool, tool: api, action: {action}}}]",
    )
    assert validate(book=book) == [
        (
            "retry-container",
            "error",
            "book.yaml",
            5,
            "step `get` has steps inside it, and `retry` is for a step that acts itself",
            "move `retry` to the steps inside it that may be attempted again",
        )
    ]
    moved = book.replace(", retry: {retry}", "").replace("action: {action}}}", "action: {action}, retry: {retry}}}")
    assert validate(book=moved) == []


@pytest.mark.parametrize(
    ("kind", "rule", "message"),
    [
        ("wait, for: 1s", "retry-container", "does not act, and `retry` is for a step that acts itself"),
        (
            "approval, message: go?",
            "not-acted-on",
            "only asks for an approval, and a run asks once: it is attempted once",
        ),
    ],
)
def test_a_step_that_waits_or_asks_for_an_approval(validate, kind, rule, message):
    book = BOOK.replace("tool, tool: api, action: {action}", kind)
    ((found, _, _, line, told, hint),) = validate(book=book)
    assert (found, line, told, hint) == (rule, 5, f"step `get` {message}", "remove `retry`")
    assert validate(book=book.replace(", retry: {retry}", "")) == []


@pytest.mark.parametrize(
    ("contract", "attempts"),
    [
        ("effects: [], writes: [], reads: [servers]", 3),
        ("effects: [], writes: []", 3),
        ("effects: [], writes: [], reads: [servers], deterministic: true", 3),
        ("effects: [], writes: [], deterministic: true", 1),
    ],
)
def test_a_tool_that_touches_nothing_but_may_answer_differently_is_attempted_again(
    gert, tmp_path, monkeypatch, contract, attempts
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    tool = f"apiVersion: tool/v0\nmeta: {{name: api}}\ncontract: {{{contract}}}\n"
    (tmp_path / "tools/api.tool.yaml").write_text(
        tool + "actions: {look: {argv: [sh, -c, 'echo x >> tries; exit 1']}}\n"
    )
    (tmp_path / "book.yaml").write_text(BOOK.format(action="look", retry="{max: 3, delay: 1ms}"))
    _, out, _ = gert("validate", "book.yaml", "--json")
    assert [found["rule"] for found in json.loads(out)["diagnostics"]] == ["not-acted-on"] * (attempts == 1)
    code, _, err = gert("exec", "book.yaml")
    assert code == 1, err
    assert (tmp_path / "tries").read_text() == "x\n" * attempts
