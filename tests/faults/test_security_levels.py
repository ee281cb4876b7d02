"""Tags that a step adds to the contract of its type lead to no milder decision, whatever the type."""

from __future__ import annotations

import json

import pytest
from gertproc import Gert

HEAD = "apiVersion: kernel/v0\nmeta: { name: book }\nsteps:\n"
END = "  - { type: end, outcome: { category: resolved, code: done } }\n"
TAG = "contract: { effects: [harmless] }"
STEPS = {
    "end": f"  - {{ id: it, type: end, outcome: {{ category: resolved, code: done }}, {TAG} }}\n",
    "approval": f"  - {{ id: it, type: approval, message: ok, {TAG.replace('[', '[human, ')} }}\n{END}",
    "assert": f"  - {{ id: it, type: assert, assert: [{{ type: equals, value: 1, expected: 1 }}], {TAG} }}\n{END}",
    "manual, added": f"  - {{ id: it, type: manual, instructions: Look, {TAG.replace('[', '[human, ')} }}\n{END}",
    "manual, another key": "  - { id: it, type: manual, instructions: Look, contract: { reads: [harmless] } }\n" + END,
}


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path)


def policy(gert: Gert, *rules: dict) -> tuple[str, ...]:
    gert.write(policy=json.dumps({"apiVersion": "policy/v0", "meta": {"name": "p"}, "rules": rules}))
    return ("exec", "book.yaml", "--policy", "policy.yaml", "--json")


ALLOW = {"effects": ["harmless"], "action": "allow"}
READS = {"contract": {"reads": ["harmless"]}, "action": "allow"}


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        ("end", {"outcome": ["resolved"], "action": "deny"}),
        ("approval", {"effects": ["human"], "action": "deny"}),
        ("assert", {"risk": ["low"], "action": "deny"}),
        ("manual, added", {"effects": ["human"], "action": "deny"}),
        ("manual, another key", {"effects": ["human"], "action": "deny"}),
    ],
)
def test_a_tag_that_a_step_adds_reaches_no_allow(gert, step, rule):
    gert.write(book=HEAD + STEPS[step])
    said = gert(*policy(gert, ALLOW, READS, rule), answers="y\ny\ny\n")
    assert said.code != 0, said.all
    assert (said.document["failure"]["kind"], said.document["failure"]["step_id"]) == ("governance_denied", "it"), (
        said.all
    )
    explained = gert("policy", "explain", "book.yaml", "--policy", "policy.yaml")
    assert "deny" in explained.out, explained.all


def test_a_contract_that_replaces_that_of_a_manual_step_is_what_policies_decide_about(gert):
    gert.write(book=HEAD + f"  - {{ id: it, type: manual, instructions: Look, {TAG} }}\n{END}")
    said = gert(*policy(gert, {"effects": ["human"], "action": "deny"}), answers="y\n")
    assert said.code == 0, said.all
    said = gert(*policy(gert, {"effects": ["harmless"], "action": "deny"}), answers="y\n")
    assert "governance_denied" in said.all, said.all
