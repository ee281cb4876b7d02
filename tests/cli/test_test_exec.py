"""``gert exec --mode replay``: a scenario by name or directory, ``--var`` over it, and what it says about leftovers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scenario_books import write_book, write_scenario

from gert_core.cli import main

SCENARIO = {"inputs": {"who": "scenario"}, "tool_responses": {"box": [{"outputs": {"word": "a"}}] * 2}}


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = write_book(
        Path(),
        """
        - {id: look, type: tool, tool: box, action: read, inputs: {item: a}}
        - type: end
          outcome: {category: resolved, code: "{{ .who }}"}
        """,
        meta="inputs: {who: {type: string, required: true, from: env/WHO}}",
    )
    write_scenario(book, "one", SCENARIO)
    return book


def replay(capsys, *args):
    code = main(["exec", "book.yaml", "--mode", "replay", "--json", *args])
    captured = capsys.readouterr()
    return code, json.loads(captured.out), captured.err


@pytest.mark.parametrize("scenario", ["one", "scenarios/book/one"])
def test_a_scenario_by_name_or_directory(book, capsys, monkeypatch, scenario):
    monkeypatch.setenv("WHO", "environment")
    code, result, err = replay(capsys, "--scenario", scenario)
    assert (code, result["outcome"]["code"]) == (0, "scenario")
    assert "tool_responses: 1 of 2 responses for 'box' not used" in err


def test_var_wins_over_the_scenario(book, capsys):
    _, result, _ = replay(capsys, "--scenario", "one", "--var", "who=line")
    assert result["outcome"]["code"] == "line"


def test_a_scenario_that_is_not_there_runs_nothing(book, capsys):
    code, result, _ = replay(capsys, "--scenario", "two")
    assert (code, result["error"]["kind"]) == (2, "usage")
    code, result, _ = replay(capsys)
    assert (code, result["error"]["kind"]) == (2, "usage")
    assert not Path("runs").exists()
