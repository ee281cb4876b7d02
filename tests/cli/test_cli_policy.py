"""``gert policy explain``."""

from __future__ import annotations

import json

import pytest

from gert_core.cli import main

TOOL = """\
apiVersion: tool/v0
meta: {name: box, transport: stdio, binary: "true"}
actions:
  write:
    argv: ["true"]
    contract: {effects: [network], writes: [production]}
  read:
    argv: ["true"]
    contract: {effects: [network], reads: [dns]}
"""
RUNBOOK = """\
apiVersion: kernel/v0
meta:
  name: sample
  governance:
    rules:
      - {risk: critical, action: require-approval}
      - {outcome: [escalated], action: require-approval}
      - {default: allow}
tools: [box]
steps:
  - id: choose
    type: branch
    branches:
      - condition: default
        label: only
        steps:
          - {id: write, type: tool, tool: box, action: write}
  - {id: read, type: tool, tool: box, action: read}
  - {id: gone, type: tool, tool: box, action: read, when: false}
  - {id: done, type: end, outcome: {category: escalated, code: up}}
"""
STRICT = """\
apiVersion: policy/v0
meta: {name: strict}
rules:
  - {writes: [production], action: deny}
  - {reads: [dns], serialize: true, action: allow}
  - {contract_violations: deny}
require_signed_approvals: true
"""


@pytest.fixture
def runbook(tmp_path, monkeypatch):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "box.tool.yaml").write_text(TOOL)
    (tmp_path / "strict.yaml").write_text(STRICT)
    (tmp_path / "sample.yaml").write_text(RUNBOOK)
    monkeypatch.chdir(tmp_path)
    return "sample.yaml"


def explained(capsys, *args):
    assert main(["policy", "explain", *args, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    return shown, {step["step_id"]: step for step in shown["steps"]}


def test_each_governed_step_has_contract_risk_opinions_and_decision(runbook, capsys):
    shown, steps = explained(capsys, runbook)
    assert list(steps) == ["choose", "write", "read", "gone", "done"]
    write = steps["write"]
    assert write["contract"]["writes"] == ["production"]
    assert (write["risk_level"], write["decision"]) == ("critical", "require-approval")
    assert (write["source"], write["rule"]) == ("runbook", 1)
    assert [(o["source"], o["rule"], o["action"]) for o in write["opinions"]] == [("runbook", 1, "require-approval")]
    assert write["policy_digest"] == shown["policy_digest"]
    assert (steps["read"]["decision"], steps["read"]["rule"]) == ("allow", 3)


def test_a_step_with_blocks_has_the_contract_of_all_it_holds_and_no_decision(runbook, capsys):
    _, steps = explained(capsys, runbook)
    assert steps["choose"]["contract"]["writes"] == ["production"]
    assert steps["choose"]["decision"] is None
    assert main(["policy", "explain", runbook]) == 0
    shown = capsys.readouterr().out
    assert "approvals: within 30m" in shown
    assert (
        "decision: none; each of the steps inside it is governed"
        in shown.partition("choose (branch")[2].partition("\n\n")[0]
    )


def test_an_extension_is_judged_by_the_contract_of_its_step(runbook, tmp_path, capsys):
    step = "  - {id: judge, type: extension, extension: x, contract: CONTRACT}\n  - {id: done"
    for contract, risk in (("{effects: [network]}", "low"), ("{}", "critical")):
        (tmp_path / runbook).write_text(RUNBOOK.replace("  - {id: done", step.replace("CONTRACT", contract)))
        _, steps = explained(capsys, runbook)
        assert steps["judge"]["risk_level"] == risk


def test_the_outcome_of_a_step_that_ends_the_run_is_judged(runbook, capsys):
    _, steps = explained(capsys, runbook)
    done = steps["done"]
    assert (done["outcome"], done["decision"], done["rule"]) == ("escalated", "require-approval", 2)


def test_a_further_policy_is_a_further_opinion(runbook, capsys):
    before, _ = explained(capsys, runbook)
    shown, steps = explained(capsys, runbook, "--policy", "strict.yaml")
    write = steps["write"]
    assert (write["decision"], write["source"]) == ("deny", "strict.yaml")
    assert [o["action"] for o in write["opinions"]] == ["deny", "require-approval"]
    assert write["contract_violations"] == "deny"
    assert steps["read"]["serialize"] is True
    assert shown["require_signed_approvals"] is True
    assert shown["policy_digest"] != before["policy_digest"]


def test_people_read_the_same(runbook, capsys):
    assert main(["policy", "explain", runbook, "--policy", "strict.yaml"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "policies: strict.yaml, runbook",
        "write (tool, line",
        "effects network; writes production; reads none; not idempotent",
        "risk: critical",
        "strict.yaml: rule 1: deny",
        "runbook: rule 1: require-approval",
        "decision: deny. Rule 1 of the policy strict.yaml applies: deny for writes production.",
        "contract violations: deny (rule 3 of strict.yaml)",
        "one after another",
        "outcome escalated",
    ):
        assert words in shown


def test_project_policies_are_found_from_the_runbook(runbook, tmp_path, capsys, monkeypatch):
    (tmp_path / "gert-project.yaml").write_text("policies: [strict.yaml]\n")
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    _, steps = explained(capsys, f"../{runbook}")
    assert steps["write"]["source"] == "strict.yaml"


def test_a_broken_policy_stops_with_exit_code_2(runbook, tmp_path, capsys):
    (tmp_path / "strict.yaml").write_text(STRICT.replace("deny", "forbid"))
    assert main(["policy", "explain", runbook, "--policy", "strict.yaml"]) == 2
    assert "strict.yaml" in capsys.readouterr().err
    assert main(["policy", "explain", runbook, "--policy", "missing.yaml"]) == 2
    assert "missing.yaml" in capsys.readouterr().err


def test_a_step_whose_tool_is_missing_is_named_and_the_rest_explained(runbook, tmp_path, capsys):
    (tmp_path / "tools" / "box.tool.yaml").unlink()
    assert main(["policy", "explain", runbook, "--json"]) == 1
    steps = {step["step_id"]: step for step in json.loads(capsys.readouterr().out)["steps"]}
    assert "box" in steps["write"]["problem"]
    assert "not found" in steps["write"]["problem"]
    assert steps["choose"]["problem"] == steps["write"]["problem"]
    assert steps["done"]["decision"] == "require-approval"


def test_an_unreadable_runbook_is_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("apiVersion: kernel/v0\nmeta: [\n")
    assert main(["policy", "explain", "bad.yaml"]) == 1
    assert main(["policy", "explain", "none.yaml"]) == 2
    assert "Traceback" not in capsys.readouterr().err
