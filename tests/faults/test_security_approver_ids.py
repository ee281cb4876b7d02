"""What cannot be the id of an approver is refused wherever a policy or a step names approvers."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert
from people import BOOK, TOOL

GATE = """\
apiVersion: kernel/v0
meta: {name: gate, inputs: {team: {default: sre}}}
steps:
  - id: ask
    type: approval
    message: May it?
    approvers: [alice, NAME]
  - {id: done, type: end, outcome: {category: resolved, code: done}}
"""
NO_IDS = ("alice\u200b", " alice", "\uff41lice", "(no person)", "<REDACTED:x>")


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL, book=BOOK)
    return made


@pytest.mark.parametrize("name", [*NO_IDS, ""])
def test_what_is_no_id_is_no_approver_of_a_step(gert, name):
    """Nobody could approve it, or somebody whose name only looks like it."""
    gert.write(gate=GATE.replace("NAME", json.dumps(name)))
    checked = gert("validate", "gate.yaml")
    assert (checked.code, "people-invalid" in checked.all, "7:24" in checked.all) == (1, True, True), checked.all
    said = gert("exec", "gate.yaml", "--approval", "inbox", "--no-preflight")
    assert (said.code, "which cannot be an approver's id: it " in said.err) == (2, True), said.all
    assert gert.runs() == []
    gert.write(gate=GATE.replace("NAME", '"{{ .team }}"'))
    said = gert("exec", "gate.yaml", "--approval", "inbox", "--var", f"team={name}")
    assert (said.code, "which cannot be an approver's id: it " in said.all) == (1, True), said.all
    assert [e for e in gert.events() if e["type"] == "approval_submitted"] == []


@pytest.mark.parametrize("name", [*NO_IDS, "group:ops"])
def test_what_is_no_id_is_in_no_group(gert, name):
    rule = {"effects": ["danger"], "action": "require-approval", "approvers": ["group:sre"]}
    groups = {"ops": ["bob"], "sre": ["alice", name]}
    document = {"apiVersion": "policy/v0", "meta": {"name": "floor"}, "rules": [rule], "groups": groups}
    (gert.root / "floor.yaml").write_text(json.dumps(document))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--policy", "floor.yaml")
    assert (said.code, "group 'sre': " in said.err, "cannot be a person's id" in said.err) == (2, True, True), said.all
    assert gert("validate", "floor.yaml").code == 1


@pytest.mark.parametrize("name", [*NO_IDS, "Group:sre", "b\ufffd"])
def test_what_is_no_id_is_found_in_rules_before_anything_runs(gert, name):
    """Every run refused it, and validation said that there were no findings."""
    rules = [{"effects": ["danger"], "action": "require-approval", "approvers": ["alice", name]}]
    document = {"apiVersion": "policy/v0", "meta": {"name": "floor"}, "rules": rules}
    (gert.root / "floor.yaml").write_text(json.dumps(document))
    own = json.loads(json.dumps({"name": "own", "governance": {"rules": rules}}))
    end = {"type": "end", "outcome": {"category": "resolved", "code": "done"}}
    (gert.root / "own.yaml").write_text(json.dumps({"apiVersion": "kernel/v0", "meta": own, "steps": [end]}))
    for file in ("floor.yaml", "own.yaml"):
        said = gert("validate", file)
        assert (said.code, "rule 1 names " in said.out, "[people-invalid]" in said.out) == (1, True, True), said.all
    assert gert("exec", "book.yaml", "--approval", "inbox", "--policy", "floor.yaml").code == 2
