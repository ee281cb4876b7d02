"""What an author says about a step, wherever people read about it: screen, plan, approval, trace and ``runs show``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: echo, transport: stdio }
contract: { effects: [network], idempotent: true, inputs: { n: {} }, outputs: { out: { type: string } } }
actions:
  do: { argv: ["echo", "{{ .n }}"], description: Print something., extract: { out: { from: stdout } } }
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: b
  inputs: { host: { default: web-1 }, token: { default: s3cr3t-word, secret: true } }
  governance: { rules: [%s] }
tools: [echo]
steps:
  - id: look
    type: tool
    tool: echo
    description: |
      Look at {{ .host }}
      with {{ .token }}
    inputs: { n: x }
  - { id: each, type: tool, tool: echo, description: "Number {{ .n }}", for_each: { as: n, over: [1, 2] }, inputs: { n: "{{ .n }}" } }
  - { id: never, type: tool, tool: echo, description: Not today, when: false, inputs: { n: x } }
  - { id: plain, type: tool, tool: echo, inputs: { n: x } }
  - id: pick
    type: branch
    description: Where to go
    branches: [ { condition: true, steps: [ { id: told, type: tool, tool: echo, description: "It said {{ .look.out }}", inputs: { n: y } } ] } ]
  - { id: done, type: end, outcome: { category: resolved } }
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "echo.tool.yaml").write_text(TOOL)

    def write(rules="", text=BOOK):
        (tmp_path / "b.yaml").write_text(text % rules)
        return "b.yaml"

    return write


def starts(document):
    """The descriptions in the trace, by step key."""
    with Path(document["trace"]).open(encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    return {e["step_key"]: e["data"].get("description") for e in events if e["type"] == "step_start"}


def test_the_trace_and_runs_show_have_the_rendered_description_masked(gert, book):
    code, out, err = gert("exec", book(), "--json")
    assert code == 0, err
    document = json.loads(out)
    assert starts(document) == {
        "look": "Look at web-1\nwith <REDACTED:token>\n",
        "each": None,
        "each[0]": "Number 1",
        "each[1]": "Number 2",
        "never": "Not today",
        "plain": None,
        "pick": "Where to go",
        "pick/0/told": "It said x",
        "done": None,
    }
    code, out, _ = gert("runs", "show", document["run_id"])
    assert "look (tool): success" in out
    assert "      Look at web-1 with <REDACTED:token>\n" in out
    assert "      It said x\n" in out
    code, out, _ = gert("runs", "show", document["run_id"], "--json")
    steps = {step["step_key"]: step for step in json.loads(out)["steps"]}
    assert steps["each[1]"]["description"] == "Number 2"
    assert "description" not in steps["plain"]
    code, out, _ = gert("trace", "show", document["trace"])
    assert "Where to go" in out


def test_the_screen_shows_it_only_when_asked(gert, book):
    _, _, quiet = gert("exec", book())
    assert "Where to go" not in quiet
    _, _, err = gert("exec", book(), "-v")
    lines = err.splitlines()
    assert any(line.startswith("✓ look  tool  Look at web-1 with <REDACTED:token>  ") for line in lines), err
    assert "▸ pick  branch  Where to go" in lines
    assert any(line.startswith("  ✓ each[1]  tool  Number 2  ") for line in lines), err
    assert any(line.startswith("✓ plain  tool  0.") for line in lines), err
    assert "s3cr3t" not in err


def test_a_plan_shows_it_with_what_is_not_known_yet(gert, book):
    code, out, _ = gert("exec", book(), "--mode", "dry-run")
    assert code == 0
    lines = out.splitlines()
    assert "· look  tool  Look at web-1 with <REDACTED:token>" in lines
    assert "  · told  tool (maybe)  It said {{ .look.out }}" in lines


@pytest.mark.parametrize(
    ("described", "about"), [('description: "Touch {{ .host }}"', "Touch web-1"), ("when: true", "Print something.")]
)
def test_an_approver_reads_the_step_s_description_else_the_action_s(gert, book, described, about):
    text = f"""\
apiVersion: kernel/v0
meta: {{ name: b, inputs: {{ host: {{ default: web-1 }} }}, governance: {{ rules: [%s] }} }}
tools: [echo]
steps:
  - {{ id: a, type: tool, tool: echo, {described}, inputs: {{ n: x }} }}
  - {{ id: done, type: end, outcome: {{ category: resolved }} }}
"""
    rules = "{ effects: [network], action: require-approval }"
    code, out, err = gert("exec", book(rules, text), "--approval", "inbox", "--json")
    assert code == 0, err
    ticket = json.loads(out)["pending"][0]["ticket_id"]
    _, out, _ = gert("approvals", "show", ticket)
    lines = [line.removeprefix("| ").split(None, 1) for line in out.splitlines()[1:]]
    names = [name for name, *_ in lines]
    assert ["author's", f"description = {about}"] in lines
    assert names[0] == names[-1] == "command"
    assert gert("approve", ticket, "--as", "alice")[0] == 0
    code, out, err = gert("resume", "--run", json.loads(gert("runs", "list", "--json")[1])["runs"][0]["run_id"], "-v")
    assert code == 0, err
    assert ("✓ a  tool  Touch web-1  " in err) == (about == "Touch web-1")


def test_an_approver_is_not_told_as_the_author_s_what_gert_says_of_every_tool(gert, book):
    text = """\
apiVersion: kernel/v0
meta: { name: b, governance: { rules: [%s] } }
tools: [plain]
steps:
  - { id: a, type: tool, tool: plain }
  - { id: done, type: end, outcome: { category: resolved } }
"""
    file = book("{ effects: [network], action: require-approval }", text)
    tool = "apiVersion: tool/v0\nmeta: { name: plain }\ncontract: { effects: [network] }\n"
    (Path(file).parent / "tools" / "plain.tool.yaml").write_text(tool + "actions: { do: { argv: [echo] } }\n")
    code, out, err = gert("exec", file, "--approval", "inbox", "--json")
    assert code == 0, err
    _, out, _ = gert("approvals", "show", json.loads(out)["pending"][0]["ticket_id"])
    assert "author's" not in out
    assert "type tool" in out


def test_a_description_that_cannot_be_rendered_fails_before_anything_is_done(gert, book):
    text = BOOK.replace("Look at {{ .host }}", "Look at {{ int .host }}")
    code, out, _ = gert("exec", book("", text), "--json")
    failure = json.loads(out)["failure"]
    assert (code, failure["kind"], failure["step_key"]) == (1, "template", "look")
    assert failure["message"].startswith("description: ")


def test_an_unknown_name_in_it_is_found_by_validation(gert, book):
    code, out, _ = gert("validate", book("", BOOK.replace(".host }}", ".hots }}")), "--json")
    (found,) = json.loads(out)["diagnostics"]
    assert (code, found["rule"], found["line"], found["hint"]) == (
        1,
        "unresolved-variable",
        12,
        "did you mean `.host`?",
    )
