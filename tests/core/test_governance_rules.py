"""Which rules match which contracts, and what a source and all sources together decide."""

from __future__ import annotations

import itertools

import pytest

from gert_core.api import PURE, Contract
from gert_core.governance import Policies, Rule, Source
from gert_core.governance.policies import policies_of

READ = Contract(effects=("network",), reads=("dns",))
MEDIUM = Contract(effects=("kubernetes",), writes=("staging",), idempotent=True)
HIGH = Contract(effects=("kubernetes",), writes=("production",), deterministic=True)
CRITICAL = Contract(effects=("kubernetes",), writes=("production", "audit"))
BLIND = Contract(_assumed_writing=True)
ACTIONS = ("allow", "require-approval", "deny")


def source(*rules, name="a", **more):
    return Source.parse({"rules": list(rules), **more}, kind="file", name=name, title=f"the policy {name}")


def policies(*sources) -> Policies:
    return policies_of(sources, digest="sha256:0")


def matches(raw, contract, outcome=None):
    return policies(source({**raw, "action": "deny"})).decide(contract, outcome=outcome).denied


@pytest.mark.parametrize(
    ("raw", "contract", "expected"),
    [
        ({}, PURE, True),
        ({"risk": ["low"]}, READ, True),
        ({"risk": ["medium"]}, MEDIUM, True),
        ({"risk": ["high"]}, HIGH, True),
        ({"risk": ["critical"]}, CRITICAL, True),
        ({"risk": ["high", "critical"]}, CRITICAL, True),
        ({"risk": ["high", "medium"]}, CRITICAL, False),
        ({"risk": "critical"}, CRITICAL, True),
        ({"risk": ["critical"]}, BLIND, True),
        ({"effects": ["kubernetes"]}, READ, False),
        ({"effects": ["kubernetes", "network"]}, READ, True),
        ({"writes": ["audit"]}, CRITICAL, True),
        ({"writes": ["audit"]}, HIGH, False),
        ({"reads": ["dns"]}, READ, True),
        ({"effects": ["kubernetes"], "writes": ["production"]}, CRITICAL, True),
        ({"effects": ["kubernetes"], "writes": ["staging"]}, CRITICAL, False),
        ({"effects": ["network"], "writes": ["production"]}, CRITICAL, False),
        ({"contract": {"writes": ["production"]}}, CRITICAL, True),
        ({"contract": {"writes": ["production"]}}, MEDIUM, False),
        ({"writes": ["audit"], "contract": {"writes": ["production"]}}, CRITICAL, True),
        ({"writes": ["audit"], "contract": {"writes": ["production"]}}, HIGH, False),
        ({"idempotent": True}, MEDIUM, True),
        ({"idempotent": False}, MEDIUM, False),
        ({"deterministic": True, "idempotent": False}, HIGH, True),
        ({"deterministic": True, "idempotent": False}, CRITICAL, False),
        ({"contract": {"deterministic": True}}, HIGH, True),
        ({"effects": ["unknown"]}, BLIND, True),
        ({"effects": ["unknown"]}, Contract(writes=("x",)), True),
        ({"effects": ["unknown"]}, PURE, False),
        ({"effects": ["unknown"]}, CRITICAL, False),
    ],
)
def test_a_rule_matches_when_all_its_fields_match_and_a_list_when_any_item_does(raw, contract, expected):
    assert matches(raw, contract) is expected


def test_outcome_rules_match_only_steps_that_end_the_run():
    rule = {"outcome": ["escalated", "needs_rca"]}
    assert matches(rule, PURE, outcome="escalated")
    assert not matches(rule, PURE, outcome="resolved")
    assert not matches(rule, PURE)


def test_the_first_matching_rule_of_a_source_decides():
    both = policies(
        source(
            {"effects": ["network"], "action": "allow"},
            {"risk": ["low"], "action": "deny"},
            {"default": "require-approval"},
        )
    )
    assert both.decide(READ).action == "allow"
    assert both.decide(READ).rule == 1
    assert both.decide(PURE).action == "deny"
    assert both.decide(PURE).rule == 2
    assert both.decide(MEDIUM).action == "require-approval"
    assert both.decide(MEDIUM).rule == 3


def test_no_opinion_anywhere_is_allow_and_names_nobody():
    decision = policies(source({"risk": ["critical"], "action": "deny"})).decide(PURE)
    assert (decision.action, decision.source, decision.rule) == ("allow", None, None)
    assert decision.matches[0].action is None
    assert policies().decide(CRITICAL).action == "allow"


@pytest.mark.parametrize(("first", "second"), list(itertools.product((None, *ACTIONS), repeat=2)))
def test_the_most_restrictive_of_two_sources_wins_whatever_their_order(first, second):
    rules = [[{"default": action}] if action else [] for action in (first, second)]
    decision = policies(source(*rules[0], name="a"), source(*rules[1], name="b")).decide(CRITICAL)
    given = [action for action in (first, second) if action]
    expected = max(given, key=ACTIONS.index, default="allow")
    assert decision.action == expected
    if given:
        winner = "a" if first == expected else "b"
        assert (decision.source, decision.rule) == (winner, 1)
        assert f"the policy {winner}" in decision.reason
    assert [opinion.action for opinion in decision.matches] == [first, second]


def test_min_approvers_takes_the_highest_and_one_exclusion_is_enough():
    decision = policies(
        source({"default": "require-approval", "min_approvers": 3}),
        source({"default": "require-approval", "exclude_actor": True}, name="b"),
        source({"default": "allow", "min_approvers": 9}, name="c"),
    ).decide(CRITICAL)
    assert decision.min_approvers == 3
    assert decision.exclude_actor
    assert decision.source == "a"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "applies: require-approval for every step"),
        ({"exclude_actor": True}, "require-approval by an approver other than the run's actor for"),
        ({"min_approvers": 2}, "require-approval by 2 approvers for"),
        ({"min_approvers": 2, "exclude_actor": True}, "by 2 approvers other than the run's actor for"),
    ],
)
def test_the_reason_says_who_has_to_approve(fields, words):
    assert words in policies(source({"default": "require-approval", **fields})).decide(CRITICAL).reason


def test_the_shortest_timeout_holds_and_one_demand_for_signatures_is_enough():
    both = policies(
        source(approval_timeout="10m"), source(approval_timeout=90.0, require_signed_approvals=True, name="b")
    )
    assert both.approval_timeout == 90
    assert both.require_signed
    assert policies().approval_timeout == 1800
    assert not policies().require_signed


def test_a_rule_with_contract_violations_never_decides_before_execution():
    strict = policies(source({"contract_violations": "deny"}, {"default": "allow"}))
    assert strict.decide(CRITICAL).action == "allow"
    assert strict.decide(CRITICAL).rule == 2
    assert strict.denies_violations(CRITICAL)
    assert not policies(source({"default": "deny"})).denies_violations(CRITICAL)


def test_violations_follow_the_other_fields_of_the_rule_and_the_strictest_source():
    mild = source({"writes": ["staging"], "contract_violations": "allow"}, {"contract_violations": "deny"})
    assert not policies(mild).denies_violations(MEDIUM)
    assert policies(mild).denies_violations(CRITICAL)
    other = source({"risk": ["medium"], "contract_violations": "deny"}, name="b")
    assert policies(mild, other).denies_violations(MEDIUM)
    assert policies(mild, other).violation_rule(MEDIUM) == ("b", 1)


def test_serialize_is_asked_by_any_source_and_may_stand_alone():
    alone = source({"effects": ["kubernetes"], "serialize": True}, {"default": "allow"})
    assert policies(alone).serializes(CRITICAL)
    assert policies(alone).decide(CRITICAL).action == "allow"
    assert not policies(alone).serializes(READ)
    after = source({"default": "allow"}, {"effects": ["kubernetes"], "serialize": True, "action": "allow"})
    assert not policies(after).serializes(CRITICAL)
    assert policies(after, alone).serializes(CRITICAL)


def test_equal_contracts_share_one_decision():
    some = policies(source({"default": "deny"}))
    assert some.decide(Contract(writes=("x",))) is some.decide(Contract(writes=("x",)))


def test_the_event_names_source_rule_reason_risk_and_digest():
    some = policies(source({"risk": ["critical"], "action": "require-approval", "min_approvers": 2}))
    assert some.decide(CRITICAL).to_json() == {
        "risk_level": "critical",
        "decision": "require-approval",
        "source": "a",
        "rule": 1,
        "reason": "Rule 1 of the policy a applies: require-approval by 2 approvers for risk critical.",
        "policy_digest": "sha256:0",
        "min_approvers": 2,
    }


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"action": "maybe"}, "unknown action 'maybe'"),
        ({"risk": ["low"]}, "no action"),
        ({"default": "allow", "action": "deny"}, "keep one"),
        ({"idempotent": True, "contract": {"idempotent": False}, "action": "deny"}, "both true and false"),
        ({"action": "require-approval", "min_approvers": -1}, "at least 1"),
    ],
)
def test_a_rule_that_cannot_be_understood_is_refused(raw, words):
    with pytest.raises(ValueError, match=words):
        Rule.parse(4, raw)
