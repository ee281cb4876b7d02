"""The lines of steps after which a run does not continue, or does, and the line that counts them."""

from __future__ import annotations

import io
import json

import pytest

TOOL = """\
apiVersion: tool/v0
meta: {name: t}
contract: {effects: [], idempotent: true}
actions:
  say: {argv: [echo]}
  write: {argv: [echo], contract: {writes: [host]}}
  fail: {argv: ["false"]}
"""
HEAD = "apiVersion: kernel/v0\nmeta: {name: book, governance: {rules: [{writes: [host], action: %s}]}}\ntools: [t]\nsteps:\n"
END = "  - {id: done, type: end, outcome: {category: resolved}}\n"
WRITE = "{id: w, type: tool, tool: t, action: write}"
ON = "continue_on_fail: true"
BOOKS = {
    "block": f"  - {{id: b, type: block, {ON}, steps: [{WRITE}], on_failure: [{{id: o, type: tool, tool: t, action: say}}]}}\n",
    "dag": f"  - {{id: b, type: dag, {ON}, nodes: [{{name: n, steps: [{WRITE}]}}]}}\n",
    "loop": f"  - {{id: b, type: block, {ON}, for_each: {{as: h, over: [x], key: '{{{{ .h }}}}'}}, steps: [{WRITE}]}}\n",
    "wait": f"  - {{id: b, type: wait, {ON}, timeout: 2s, steps: [{WRITE}]}}\n",
}


@pytest.fixture
def run(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/t.tool.yaml").write_text(TOOL)

    def run(text, *options, action="deny"):
        monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
        (tmp_path / "book.yaml").write_text(HEAD % action + text + END)
        return gert("exec", "book.yaml", "--no-preflight", *options)

    return run


@pytest.mark.parametrize("book", BOOKS)
@pytest.mark.parametrize("action", ["deny", "require-approval"])
def test_a_step_around_a_denial_does_not_continue(run, book, action):
    code, out, err = run(BOOKS[book], *(["--approval", "stdin"] if action != "deny" else []), action=action)
    assert code == 1, out + err
    assert "continues" not in err
    assert [line.split()[1] for line in err.splitlines() if line.lstrip().startswith("✗")][-1] == "b"


def test_a_step_beside_it_does(run):
    beside = f"  - {{id: a, type: block, {ON}, steps: [{{id: f, type: tool, tool: t, action: fail}}]}}\n"
    code, _, err = run(beside + BOOKS["block"])
    assert code == 1
    assert [line.split()[:2] for line in err.splitlines() if "continues" in line] == [["!", "f"], ["!", "a"]]


@pytest.mark.parametrize("around", ["itself", "outside"])
@pytest.mark.parametrize(
    "cleanup", ["{id: o, type: tool, tool: t, action: say}", "{id: o, type: end, outcome: {category: escalated}}"]
)
def test_what_a_step_catches_that_continues_itself_is_not_told_to_continue(run, around, cleanup):
    failing = "{id: f, type: tool, tool: t, action: fail}"
    block = (
        f"{{id: b, type: block, steps: [{failing}], on_failure: [{cleanup}]{f', {ON}' if around == 'itself' else ''}}}"
    )
    if around == "outside":
        block = f"{{id: a, type: block, {ON}, steps: [{block}]}}"
    _, _, err = run(f"  - {block}\n")
    (line,) = [line for line in err.splitlines() if line.split()[:2] == ["!", "f"]]
    assert line.endswith("failed, caught")


def test_a_step_that_continues_inside_one_that_catches_is_told_to_continue(run):
    failing = f"{{id: f, type: tool, tool: t, action: fail, {ON}}}"
    code, _, err = run(f"  - {{id: b, type: block, steps: [{failing}], on_failure: [{WRITE}]}}\n")
    assert code == 0
    (line,) = [line for line in err.splitlines() if line.split()[:2] == ["!", "f"]]
    assert line.endswith("failed, continues")


@pytest.mark.parametrize(("cleans", "code", "end"), [("say", 0, "✓ done  end"), ("fail", 1, "✗ b  block")])
def test_what_a_step_around_catches_is_told_before_it_is_known_whether_the_run_continues(run, cleans, code, end):
    caught = "steps: [{id: f, type: tool, tool: t, action: fail}]"
    ended, _, err = run(
        f"  - {{id: b, type: block, {caught}, on_failure: [{{id: o, type: tool, tool: t, action: {cleans}}}]}}\n"
    )
    (line,) = [line for line in err.splitlines() if line.split()[:2] == ["!", "f"]]
    assert line.endswith("failed, caught")
    assert (ended, end in err, "continues" in err) == (code, True, False)


def test_a_graph_that_failed_names_what_was_not_started(run, gert):
    nodes = [
        "{name: a, steps: [{id: f, type: tool, tool: t, action: fail}]}",
        "{name: b, depends_on: [a], steps: [{id: g, type: tool, tool: t, action: say}]}",
        "{name: c, depends_on: [b], steps: [{id: h, type: tool, tool: t, action: say}]}",
    ]
    code, out, err = run(f"  - {{id: d, type: dag, nodes: [{', '.join(nodes)}]}}\n")
    assert code == 1, out + err
    assert "✗ d  dag  0 of 3 nodes completed, 1 failed, 2 not started: b, c  0." in err
    assert "  step d: not started: b, c\n" in out
    assert "      not started: b, c\n" in gert("runs", "show", "latest")[1]


def test_a_graph_with_a_denied_node_names_what_was_not_started(run, gert):
    nodes = [
        "{name: a, steps: [{id: ask, type: approval, message: May it?}]}",
        "{name: b, depends_on: [a], steps: [{id: g, type: tool, tool: t, action: say}]}",
    ]
    graph = f"  - {{id: d, type: dag, nodes: [{', '.join(nodes)}]}}\n"
    code, out, err = run(graph, "--approval", "stdin")
    assert code == 1, out + err
    assert "✗ d  dag  0 of 2 nodes completed, 1 failed, 1 not started: b  0." in err
    assert "  step d: not started: b\n" in out
    assert "      not started: b\n" in gert("runs", "show", "latest")[1]
    steps = json.loads(gert("runs", "show", "latest", "--json")[1])["steps"]
    assert [one.get("detail") for one in steps] == [{"not started": "b"}, None]
    out = run(graph, "--approval", "stdin", "--json")[1]
    assert [one.get("detail") for one in json.loads(out)["steps"]] == [None, {"not started": "b"}]


def test_a_rejection_that_only_fails_is_continued_after(run):
    code, out, err = run(f"  - {{id: ask, type: approval, message: x, on_reject: fail, {ON}}}\n", "--approval", "stdin")
    assert code == 0, out + err
    assert "failed, continues" in err


@pytest.mark.parametrize("around", ["", "block", "loop"])
def test_an_approval_that_cannot_be_asked_for_is_not_continued_after(run, around):
    ask = f"{{id: ask, type: approval, message: '{{{{ 1 / (1 - 1) }}}}', {ON}}}"
    books = {
        "": f"  - {ask}\n",
        "block": f"  - {{id: b, type: block, {ON}, steps: [{ask}]}}\n",
        "loop": f"  - {ask[:-1]}, for_each: {{as: h, over: [x], key: '{{{{ .h }}}}'}}}}\n",
    }
    code, out, err = run(books[around], "--approval", "stdin")
    assert code == 1, out + err
    assert "division by zero" in err
    assert "continues" not in err
    assert "done  end" not in err


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (
            "wait, timeout: 50ms, every: 20ms, steps: [{id: f, type: tool, tool: t, action: fail}]",
            "1 failed and continued",
        ),
        ("block, steps: [{id: f, type: tool, tool: t, action: fail}]", "1 failed and continued"),
        (
            "tool, tool: t, action: fail, for_each: {as: h, over: [x, y], key: '{{ .h }}'}",
            "2 failed and continued",
        ),
        (
            "wait, timeout: 50ms, every: 20ms, until: '{{ false }}', steps: [{id: f, type: tool, tool: t, action: say}]",
            "1 failed and continued",
        ),
    ],
)
def test_what_failed_and_was_continued_after_is_counted_once(run, steps, line):
    """A wait whose time was up failed by itself; a block and a loop failed by a step that is counted."""
    code, out, err = run(f"  - {{id: b, {ON}, type: {steps}}}\n")
    assert code == 0, out + err
    (told,) = [text for text in out.splitlines() if text.startswith("  steps: ")]
    assert told.endswith(line)


def test_a_loop_around_a_denial_is_not_counted_as_continued_after(run):
    assert "  steps: 1 skipped\n" in run(BOOKS["loop"])[1]
