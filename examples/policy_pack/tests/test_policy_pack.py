"""The floor holds against a runbook that tries to relax it; discovered as an installed distribution."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

TOOL = """\
apiVersion: tool/v0
meta: {name: cluster, transport: stdio, binary: "true"}
actions:
  restart:
    argv: ["true"]
    contract: {effects: [kubernetes], writes: [production], idempotent: true}
  stage:
    argv: ["true"]
    contract: {effects: [kubernetes], writes: [staging]}
  look:
    argv: ["true"]
    contract: {effects: [kubernetes], reads: [pods]}
  blind:
    argv: ["true"]
"""

RUNBOOK = """\
apiVersion: kernel/v0
meta:
  name: relaxed
  governance:
    approval_timeout: 2h
    rules:
      - {writes: [production], action: allow}
      - {effects: [unknown], action: allow}
      - {writes: [staging], action: require-approval}
      - {contract_violations: allow}
      - {default: allow}
tools: [cluster]
steps:
  - {id: restart, type: tool, tool: cluster, action: restart}
  - {id: stage, type: tool, tool: cluster, action: stage}
  - {id: look, type: tool, tool: cluster, action: look}
  - {id: blind, type: tool, tool: cluster, action: blind}
  - {id: done, type: end, outcome: {category: resolved, code: ok}}
"""


@pytest.fixture
def explain(tmp_path):
    """``gert policy explain --json`` in a process that sees the pack as installed."""
    site = tmp_path / "site"
    info = site / "gert_policy_acme-1.0.0.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: gert-policy-acme\nVersion: 1.0.0\n")
    info.joinpath("entry_points.txt").write_text("[gert.v0]\npolicy-acme = gert_policy_acme\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "cluster.tool.yaml").write_text(TOOL)
    runbook = tmp_path / "relaxed.yaml"
    runbook.write_text(RUNBOOK)

    def run(*args):
        command = [sys.executable, "-m", "gert_core", *args, "policy", "explain", str(runbook), "--json"]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(SOURCE)])}
        done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        shown = json.loads(done.stdout)
        return shown, {step["step_id"]: step for step in shown["steps"]}

    return run


def test_production_writes_need_two_approvers_other_than_the_actor(explain):
    _, steps = explain()
    restart = steps["restart"]
    assert (restart["decision"], restart["min_approvers"]) == ("require-approval", 2)
    assert restart["exclude_actor"] is True
    assert restart["serialize"] is True
    assert (restart["source"], restart["rule"]) == ("policy-acme:floor", 2)


def test_unknown_effects_are_denied(explain):
    _, steps = explain()
    assert (steps["blind"]["decision"], steps["blind"]["rule"]) == ("deny", 1)


def test_the_runbook_may_tighten_but_not_relax(explain):
    _, steps = explain()
    assert (steps["stage"]["decision"], steps["stage"]["source"]) == ("require-approval", "runbook")
    assert steps["look"]["decision"] == steps["done"]["decision"] == "allow"
    assert {step["contract_violations"] for step in steps.values()} == {"deny"}


def test_the_shortest_timeout_holds(explain):
    assert explain()[0]["approval_timeout"] == 1200


def test_without_the_pack_the_runbook_has_its_way(explain):
    _, steps = explain("-p", "no:policy-acme")
    assert steps["restart"]["decision"] == steps["blind"]["decision"] == "allow"
