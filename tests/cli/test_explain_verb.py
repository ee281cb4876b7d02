"""``gert explain``: what is known about steps before they run."""

from __future__ import annotations

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: box, secrets: [{ env: BOX_TOKEN, description: the key }] }
contract: { effects: [host], reads: [service], inputs: { name: { type: string, required: true } } }
actions:
  read:
    argv: [echo, "{{ .name }}"]
    contract: { idempotent: true, writes: [], outputs: { state: { type: string } } }
    extract: { state: { from: stdout } }
  write:
    argv: ["true"]
    contract: { writes: [service], inputs: { force: { type: bool, default: false } } }
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: sample
  inputs: { host: { type: string, default: web } }
  constants: { where: { name: "{{ .host }}" } }
  secrets: [{ env: RUN_TOKEN, required: false }]
  governance:
    rules:
      - { writes: [service], action: require-approval, min_approvers: 2, exclude_actor: true }
      - { risk: [critical], action: require-approval }
      - { default: allow }
tools: [box]
steps:
  - { id: look, type: tool, tool: box, action: read, inputs: { name: "{{ .host }}" } }
  - id: both
    type: parallel
    branches:
      - label: left
        steps:
          - id: change
            type: tool
            tool: box
            action: write
            inputs_from: where
            when: '{{ eq .state "bad" }}'
            contract: { effects: [host, network] }
            description: Restart it
      - label: right
        steps: [{ id: check, type: tool, tool: box, action: read, inputs: { name: x }, scope: later, export: { seen: state } }]
  - { id: child, type: runbook, runbook: ./child.yaml, inputs: { size: 3 } }
  - { type: end, outcome: { category: resolved } }
"""
CHILD = """\
apiVersion: kernel/v0
meta: { name: child, inputs: { size: { type: int, required: true } } }
steps:
  - { id: sure, type: assert, assert: [{ type: equals, value: "{{ .size }}", expected: 3 }] }
  - { type: end, outcome: { category: resolved } }
"""
STRICT = """\
apiVersion: policy/v0
meta: { name: strict }
rules:
  - { effects: [network], action: deny }
"""
FIELDS = [
    "step_id",
    "type",
    "file",
    "line",
    "description",
    "detail",
    "notes",
    "contract",
    "origins",
    "risk",
    "risk_reason",
    "decision",
    "opinions",
    "approvers",
    "probe",
    "recovery",
    "conflicts",
    "secrets",
    "inputs",
    "reads",
    "sets",
]


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(sample=BOOK, child=CHILD, strict=STRICT, tool_box=TOOL)
    return made


def one(gert, name, *more):
    said = gert("explain", "sample.yaml", name, "--json", *more, BOX_TOKEN="", RUN_TOKEN="x")
    assert said.code == 0, said.err
    (step,) = said.document["steps"]
    return step


def test_every_step_has_exactly_the_fields_of_the_specification(gert):
    document = gert("explain", "sample.yaml", "--json").document
    assert document["runbook"] == "sample.yaml"
    assert [step["step_id"] for step in document["steps"]] == [
        "look", "both", "change", "check", "child", "child/0/sure", "child/0/_end_1", "_end_1"
    ]  # fmt: skip
    assert all(list(step) == FIELDS for step in document["steps"])


def test_a_writing_step_in_full(gert):
    step = one(gert, "change")
    assert (step["file"], step["line"], step["type"]) == ("sample.yaml", 20, "tool")
    assert step["contract"]["writes"] == ["service"]
    assert step["contract"]["effects"] == ["host", "network"]
    places = {name: (o["level"], o["name"], o["file"], o["line"]) for name, o in step["origins"].items()}
    assert places["effects"] == ("step", "change", "sample.yaml", 26)
    assert places["writes"][:2] == ("action", "write")
    assert places["writes"][2].endswith("tools/box.tool.yaml")
    assert places["writes"][3] == 11
    assert places["reads"][:2] == ("tool", "box")
    assert places["idempotent"] == ("default", "", None, None)
    assert (step["risk"], step["risk_reason"]) == ("critical", "effects + writes + not idempotent + not deterministic")
    assert step["decision"]["decision"] == "require-approval"
    assert (step["decision"]["rule"], step["decision"]["min_approvers"]) == (1, 2)
    (opinion,) = step["opinions"]
    assert [(rule["rule"], rule["decides"]) for rule in opinion["rules"]] == [(1, True), (2, False), (3, False)]
    assert opinion["decides"] is True
    assert step["probe"] == {"executed": False, "reason": "it writes"}
    assert step["recovery"] == "reconcile"
    assert step["conflicts"] == [{"step": "both", "block": "right", "tags": ["service"]}]
    assert [(s["env"], s["present"], s["needed_by"]) for s in step["secrets"]] == [
        ("RUN_TOKEN", True, ["runbook"]),
        ("BOX_TOKEN", False, ["box"]),
    ]
    assert step["inputs"]["force"] == {
        "type": "bool",
        "required": False,
        "default": False,
        "given": False,
        "value": None,
        "spread": [".where"],
    }
    assert {"name": ".state", "type": "string", "from": ["look"]} in step["reads"]
    assert {"name": ".where", "type": "object", "from": ["constant"]} in step["reads"]


def test_a_reading_step_a_container_and_an_included_one(gert):
    look = one(gert, "look")
    assert (look["risk"], look["risk_reason"]) == ("low", "effects but no writes (read-only)")
    assert look["recovery"] == "rerun"
    assert look["probe"] == {"executed": False, "reason": "effects host are not allowed"}
    assert look["reads"] == [{"name": ".host", "type": "string", "from": ["input"]}]
    assert {"name": ".state", "type": "string"} in look["sets"]
    check = one(gert, "check")
    assert {"name": ".scope.later.state", "type": "string"} in check["sets"]
    assert {"name": ".seen", "type": "string"} in check["sets"]
    assert one(gert, "both")["decision"] is None
    assert one(gert, "both")["origins"]["writes"]["level"] == "blocks"
    sure = one(gert, "sure")
    assert (sure["step_id"], sure["file"]) == ("child/0/sure", "child.yaml")
    assert sure["probe"] == {"executed": True, "reason": ""}
    assert one(gert, "child")["inputs"]["size"]["value"] == 3


def test_a_secret_of_an_included_runbook_is_not_shown(gert):
    secret = "size: { type: int, required: true }, word: { secret: true, default: wordsecret }, own: { secret: true }"
    child = CHILD.replace("size: { type: int, required: true }", secret)
    gert.write(child=child, sample=BOOK.replace("inputs: { size: 3 }", "inputs: { size: 3, own: ownsecret }"))
    for form in ((), ("--json",)):
        said = gert("explain", "sample.yaml", "child", *form)
        assert said.code == 0, said.err
        assert ("wordsecret" in said.out, "ownsecret" in said.out) == (False, False)
        assert said.out.count("<secret>") == 2


def test_a_further_policy_decides(gert):
    step = one(gert, "change", "--policy", "strict.yaml")
    assert step["decision"]["decision"] == "deny"
    assert [opinion["decides"] for opinion in step["opinions"]].count(True) == 1


def test_the_text_says_it_in_words(gert):
    said = gert("explain", "sample.yaml", "change", COLUMNS="110")
    assert said.code == 0
    for line in (
        "change (tool, sample.yaml:20)",
        "  for:            Restart it",
        "  risk:           critical: effects + writes + not idempotent + not deterministic",
        "  approved by:    2 people other than the one who starts the run",
        "  in a probe:     not executed: it writes",
        "  conflicts:      with block right of both, over service: they run one after another",
        "  needs:          .state (string) from look",
        "  idempotent:     no (by default)",
    ):
        assert line in said.out.splitlines(), (line, said.out)
    assert "rule 1: require-approval for writes service, which decides" in said.out
    assert "after a crash:  reconcile" in said.out
    narrow = gert("explain", "sample.yaml", COLUMNS="60").out
    assert max(map(len, narrow.splitlines())) <= 62


def test_an_unknown_step_is_answered_with_the_nearest(gert):
    said = gert("explain", "sample.yaml", "chnge")
    assert said.code == 2
    assert "the runbook has no step 'chnge'" in said.err
    assert "did you mean `change`?" in said.err


def test_a_missing_tool_is_told_and_the_rest_is_explained(gert):
    gert.write(sample=BOOK.replace("tools: [box]", "tools: [bax]"))
    said = gert("explain", "sample.yaml", "--json")
    assert said.code == 1
    steps = {step["step_id"]: step for step in said.document["steps"]}
    assert steps["look"]["contract"] is None
    assert "is not available" in steps["look"]["problem"]
    assert "problem" not in steps["child/0/sure"]


def test_a_probe_does_what_was_explained(gert):
    said = gert("exec", "sample.yaml", "--mode", "probe", "--no-input", BOX_TOKEN="0123456789")
    assert f"probe: {one(gert, 'look')['probe']['reason']}" in said.all
