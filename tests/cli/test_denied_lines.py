"""The lines of steps around one that was denied: whatever they catch or continue after, the run ends."""

from __future__ import annotations

import io

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


def test_a_rejection_that_only_fails_is_continued_after(run):
    code, out, err = run(f"  - {{id: ask, type: approval, message: x, on_reject: fail, {ON}}}\n", "--approval", "stdin")
    assert code == 0, out + err
    assert "failed, continues" in err
