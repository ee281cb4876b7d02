"""Contracts that depend on fields with templates: the step is governed by what it will do, not by how it is written."""

from __future__ import annotations

import json

import pytest

PLUGIN = """
from pathlib import Path
from pydantic import Field
from gert_core import hookimpl
from gert_core.api import Completed, Contract, StepType
from gert_core.kit.models import StepModel

class Request(StepModel):
    method: str = Field(description="GET or DELETE.")

def contract(step, tools):
    if step.method == "BREAK":
        raise KeyError("method")
    if step.method == "DELETE" or ({cautious} and "{{" in step.method):
        return Contract(effects=("storage",), writes=("bucket",))
    return Contract(effects=("network",), idempotent=True)

def run(step, ctx):
    Path("done").write_text(step.method + " " + ",".join(ctx.contract.writes))
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="request", model=Request, run=run, contract=contract, summary="Requests.")]
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: book
  inputs: { method: { type: string, default: GET } }
  governance: { rules: [%s] }
steps:
  - { id: a, type: request, method: "{{ .method }}" }
  - { id: done, type: end, outcome: { category: resolved, code: ok } }
"""
DENY = "{ writes: [bucket], action: deny }"


@pytest.fixture
def book(tmp_path, monkeypatch, fake_dist):
    """Writes plugin and runbook: ``book(rules, cautious=...)``."""
    monkeypatch.chdir(tmp_path)

    def write(rules=DENY, *, cautious=False):
        fake_dist.add("gert-step-request", PLUGIN.replace("{cautious}", str(cautious)))
        (tmp_path / "book.yaml").write_text(BOOK % rules)
        return tmp_path

    return write


def events(root):
    (trace,) = root.glob("runs/*/trace.jsonl")
    return {e["type"]: e["data"] for e in map(json.loads, trace.read_text().splitlines()) if e.get("step_key") == "a"}


def test_a_templated_method_is_governed_by_its_value(gert, book):
    root = book()
    code, out, _ = gert("exec", "book.yaml", "--json", "--var", "method=DELETE")
    told = json.loads(out)
    assert (code, told["status"], told["failure"]["kind"]) == (1, "failed", "governance_denied")
    assert not (root / "done").exists()
    found = events(root)
    assert found["contract_evaluated"]["writing"] is True
    assert found["contract_evaluated"]["resolved_contract"]["writes"] == ["bucket"]
    assert found["governance_decision"]["decision"] == "deny"


def test_a_value_that_only_reads_is_not_denied(gert, book):
    root = book()
    code, _, err = gert("exec", "book.yaml")
    assert code == 0, err
    assert (root / "done").read_text() == "GET "


def test_the_step_is_recorded_and_recovered_by_the_stricter_contract(gert, book):
    root = book("{ default: allow }")
    assert gert("exec", "book.yaml", "--var", "method=DELETE")[0] == 0
    assert (root / "done").read_text() == "DELETE bucket"
    summary = events(root)["step_start"]["contract_summary"]
    assert (summary["writes"], summary["writing"], summary["idempotent"]) == (["bucket"], True, False)


def test_what_is_stated_for_the_template_holds_too(gert, book):
    root = book(cautious=True)
    code, out, _ = gert("exec", "book.yaml", "--json")
    assert (code, json.loads(out)["failure"]["kind"]) == (1, "governance_denied")
    assert not (root / "done").exists()


def test_no_rule_about_the_template_hides_one_about_the_value(gert, book):
    root = book("{ effects: [network], action: allow }, { writes: [bucket], action: deny }")
    code, out, _ = gert("exec", "book.yaml", "--json", "--var", "method=DELETE")
    assert (code, json.loads(out)["failure"]["kind"]) == (1, "governance_denied")
    assert not (root / "done").exists()


def test_an_approval_is_asked_for_the_contract_of_the_value(gert, book):
    root = book("{ writes: [bucket], action: require-approval }")
    code, out, _ = gert("exec", "book.yaml", "--json", "--var", "method=DELETE", "--approval", "inbox")
    assert (code, json.loads(out)["status"]) == (0, "approval_pending")
    assert not (root / "done").exists()


@pytest.mark.parametrize("mode", ["probe", "dry-run"])
def test_a_probe_or_dry_run_of_a_value_that_writes_does_not_execute_it(gert, book, mode):
    root = book("{ default: allow }")
    code, _, err = gert("exec", "book.yaml", "--mode", mode, "--var", "method=DELETE")
    assert code == 0, err
    assert not (root / "done").exists()


def test_a_contract_that_fails_for_the_value_makes_the_step_an_error(gert, book):
    root = book()
    code, out, _ = gert("exec", "book.yaml", "--json", "--var", "method=BREAK")
    failure = json.loads(out)["failure"]
    assert (code, failure["step_key"], failure["kind"]) == (1, "a", "plugin_failed")
    assert "plugin step-request (gert-step-request 1.0) failed in `contract`" in failure["message"]
    assert not (root / "done").exists()
