"""``gert schema`` prints one JSON Schema on standard output."""

from __future__ import annotations

import json

import pytest
from repository import ROOT

from gert_core.cli import main


@pytest.fixture
def gert(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GERT_BLOCK_PLUGINS", raising=False)

    def run(*args):
        code = main(list(args))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize("kind", ["tool", "scenario", "test", "project", "policy", "trace"])
def test_kinds(gert, kind):
    code, out, _ = gert("schema", kind)
    assert code == 0
    assert json.loads(out)["title"].startswith(f"gert {kind}")


def test_runbook_is_the_default_and_has_the_installed_types(gert):
    _, out, _ = gert("schema")
    schema = json.loads(out)
    assert schema["title"] == "gert runbook (kernel/v0)"
    assert "branch" in schema["$defs"]["step"]["properties"]["type"]["enum"]
    _, out, _ = gert("-p", "no:step-branch", "schema", "--json")
    assert out.count("\n") == 1
    assert "step-branch" not in json.loads(out)["$defs"]


def test_unknown_kind_is_a_usage_error(gert):
    code, out, err = gert("schema", "runbok")
    assert (code, out) == (2, "")
    assert "did you mean `runbook`?" in err


def test_life_behaviour_file_is_what_the_command_prints(gert):
    code, out, err = gert("schema", "behaviour")
    assert (code, err) == (0, "")
    assert out == (ROOT / "docs" / "behaviour.json").read_text(encoding="utf-8"), "python docs/generate.py writes it"
    code, line, _ = gert("schema", "behaviour", "--json")
    assert line.count("\n") == 1
    assert json.loads(line) == json.loads(out)


def test_behaviour_names_what_is_there(gert):
    document = json.loads(gert("schema", "behaviour")[1])
    assert document["events"]["step_complete"] == {"step_key": True, "required": ["step_id", "status"]}
    assert document["events"]["run_start"] == {"step_key": False, "required": ["runbook"]}
    assert document["retry"]["policies"] == {"none": 1, "standard": 3, "aggressive": 5}
    assert document["drift"] == ["refuse", "allow"]
    assert document["statuses"]["lifecycle"]["cancelled"] == "failed"
    assert document["codes"]["plugin"] == 3
    assert set(document["hooks"]) >= {"gert_step_types", "gert_stores"}
    assert document["step_types"]["branch"]["flow"] == "one_of"
    assert document["step_types"]["wait"]["fields"] == {"rounds": "int", "waited": "float"}
    assert document["events"]["wait_round"] == {"step_key": True, "required": ["step_id", "round", "result"]}
    assert "unknown_outcome" in document["kinds"]
    assert {len(words) for words in document["stability"].values()} == {6}


def test_behaviour_is_that_of_the_active_plugins(gert):
    document = json.loads(gert("-p", "no:step-branch", "schema", "behaviour")[1])
    assert "branch" not in document["step_types"]
    assert "branch_enter" not in document["events"]
    assert "assert" in document["step_types"]


def test_the_data_of_every_event_of_a_step_type_is_in_the_schema_and_on_the_page(gert):
    schema = json.loads(gert("schema", "trace")[1])
    cases = {case["if"]["properties"]["type"]["const"]: case["then"]["properties"]["data"] for case in schema["allOf"]}
    emitted = {"branch_enter", "branch_exit", "parallel_fork", "parallel_merge", "repeat_start", "repeat_iteration"}
    emitted |= {"wait_round", "runbook_outcome", "dag_start", "dag_complete"}
    core = {"question_asked", "question_answered", "tool_call", "approval_void", "run_summary"}
    assert emitted | core <= set(cases)
    page = (ROOT / "docs/reference/events.md").read_text(encoding="utf-8")
    parts = {part.partition("`")[0]: part for part in page.split("### `")[1:]}
    for event in emitted | core:
        for name in cases[event]["required"]:
            assert f"`{name}`" in parts[event], f"{event}.{name}"
