"""The examples of the design documents load as written there, with the installed step types."""

from __future__ import annotations

from pathlib import Path

import pytest

from gert_core import contracts
from gert_core.api import Severity
from gert_core.documents.load import load_runbook
from gert_core.plugin.registry import Registry

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


def load(name, registry):
    loaded = load_runbook(DATA / name / "runbook.yaml", registry=registry, name="runbook.yaml")
    assert [d for d in loaded.diagnostics if d.severity is Severity.ERROR] == []
    return loaded


def test_service_health_check(registry):
    loaded = load("k16", registry)
    assert [(d.rule, Path(d.file).name, d.line) for d in loaded.diagnostics] == [
        ("side-effects-deprecated", "health-check.tool.yaml", 16),
        ("side-effects-deprecated", "health-check.tool.yaml", 35),
        ("side-effects-deprecated", "runbook.yaml", 87),
    ]
    runbook = loaded.runbook
    assert [(s.id, len(s.path)) for s in runbook.walk()] == [
        ("check_dns", 2),
        ("evaluate_health", 2),
        ("triage", 2),
        ("_end_1", 6),
        ("restart", 6),
        ("verify", 6),
        ("_end_2", 6),
        ("check_failed", 6),
        ("_end_3", 6),
    ]
    risks = {s.id: contracts.risk(contracts.Contracts(runbook).of(s)) for s in runbook.walk()}
    assert risks["restart"] == "medium"
    assert set(risks.values()) == {"low", "medium"}
    outputs = contracts.Contracts(runbook).outputs(runbook.by_id["check_dns"])
    assert list(outputs) == ["status_code"], "no extract yields the declared body"
    assert runbook.by_id["verify"].fields.next.max == "{{ .max_retries }}"


def test_multi_agent_review(registry):
    loaded = load("mad", registry)
    assert not loaded.diagnostics
    runbook = loaded.runbook
    judge = runbook.by_id["judge"]
    assert list(contracts.Contracts(runbook).outputs(judge)) == ["decision", "winner", "summary"]
    contract = contracts.Contracts(runbook).of(judge)
    assert (contract.effects, contract.writing, contracts.risk(contract)) == (("network",), False, "low")
    assert runbook.by_id["critiques"].fields.for_each.key == "{{ .agent.id }}"
    assert [secret.env for secret in runbook.tools["llm"].tool.all_secrets] == ["ANTHROPIC_API_KEY"]


def test_mcp_tool(registry):
    loaded = load("e11", registry)
    assert not loaded.diagnostics
    tool = loaded.runbook.tools["ai-search"].tool
    assert (tool.meta.connect, tool.actions["search"].settings) == ("stdio", {"mcp_tool": "search_documents"})
