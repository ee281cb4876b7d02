"""Before a real run: an approval that cannot be given, because too few people may approve."""

from __future__ import annotations

import json

import pytest
from people import pair
from shell import Shell

ALICE, BOB, WEB = (pair(number)[1] for number in (1, 2, 4))
LOOK = "{ id: look, type: tool, tool: look }"
DROP = "{ id: drop, type: tool, tool: drop }"
LEFT = "drop: "
WHO = "inputs: { who: { type: string, default: carol } }"


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.program("look", "touch looked\n")
    made.tool("look", "[look]", contract="{ effects: [network], writes: [] }")
    made.tool("drop", "[look]", contract="{ effects: [db], writes: [db] }")
    made.book(f"- {LOOK}\n- {DROP}", tools="look, drop")
    return made


def policy(shell, *rules, **more):
    document = {"apiVersion": "policy/v0", "meta": {"name": "p"}, **more}
    document["rules"] = [{"writes": ["db"], "action": "require-approval", **rule} for rule in rules]
    (shell.root / "p.yaml").write_text(json.dumps(document))
    return "--policy", "p.yaml", "--approval", "inbox"


def refused(shell, *args):
    error = shell.json("exec", "book.yaml", "--as", "olga", *args, code=2)["error"]
    assert error["kind"] == "preflight"
    assert not (shell.root / "looked").exists()
    assert shell.runs() == []
    (found,) = error["diagnostics"]
    assert found["rule"] == "approval_impossible"
    assert found["hint"]
    return found["message"].removeprefix("step ")


IMPOSSIBLE = [
    ({"approvers": ["bob"], "min_approvers": 2}, {}, "2 people must approve it, and only 'bob' can"),
    ({"approvers": ["bob", "Bob"], "min_approvers": 2}, {}, "2 people must approve it, and only 'bob' can"),
    (
        {"approvers": ["bob", "robert"], "min_approvers": 2},
        {"people": {"bob": {"login": "robert"}}},
        "2 people must approve it, and only 'bob' can",
    ),
    (
        {"approvers": ["group:sre"], "min_approvers": 3},
        {"people": {"bob": {}, "carol": {}}, "groups": {"sre": ["bob", "carol"]}},
        "3 people must approve it, and only 'bob' and 'carol' can",
    ),
    (
        {"approvers": ["olga"], "exclude_actor": True},
        {},
        "it cannot be approved: 'olga' starts the run and may not approve it",
    ),
    (
        {"approvers": ["boss"], "exclude_actor": True},
        {"people": {"boss": {"login": "olga"}}},
        "it cannot be approved: 'boss' starts the run and may not approve it",
    ),
    (
        {},
        {"people": {"alice": {}}, "personal_keys": True},
        "it cannot be approved: 'alice' has no key in a policy that proves the answer",
    ),
    (
        {"min_approvers": 2},
        {"people": {"alice": {"keys": [ALICE]}, "bob": {"slack": "T/B"}}, "personal_keys": True},
        "2 people must approve it, and only 'alice' can: 'bob' has no key in a policy that proves the answer",
    ),
    (
        {"approvers": ["carol"]},
        {"people": {"alice": {"keys": [ALICE]}}, "require_signed_approvals": True},
        "it cannot be approved: 'carol' has no key in a policy that proves the answer",
    ),
    (
        {"approvers": ["bob"]},
        {
            "people": {"bob": {"slack": "T/B"}},
            "bridges": {"web": {"keys": [WEB]}},
            "require_signed_approvals": True,
        },
        "it cannot be approved: 'bob' has no key in a policy that proves the answer",
    ),
]


@pytest.mark.parametrize(("rule", "more", "why"), IMPOSSIBLE)
def test_an_approval_that_nobody_can_give_is_refused_before_the_run(shell, rule, more, why):
    assert refused(shell, *policy(shell, rule, **more)) == LEFT + why


@pytest.mark.parametrize(("rule", "more", "why"), IMPOSSIBLE)
def test_policy_explain_says_it_of_the_step(shell, rule, more, why):
    flags = policy(shell, rule, **more)[:2]
    document = shell.json("policy", "explain", "book.yaml", *flags, GERT_ACTOR="olga")
    assert document["approvals_impossible"] == [f"step drop: {why}"]
    shown = shell.gert("policy", "explain", "book.yaml", *flags, GERT_ACTOR="olga").stdout
    assert f"  {why}" in shown.partition("\ndrop (")[2].partition("\n\n")[0].splitlines()


@pytest.mark.parametrize(("rule", "more", "why"), IMPOSSIBLE)
def test_a_dry_run_says_it_of_the_step(shell, rule, more, why):
    flags = policy(shell, rule, **more)[:2]
    shown = shell.gert("exec", "book.yaml", "--mode", "dry-run", "--as", "olga", *flags).stdout
    assert f"    approvers: {why}" in shown.partition("· drop ")[2].partition("\nPossible")[0].splitlines()


@pytest.mark.parametrize("mode", ["dry-run", "probe"])
def test_a_dry_run_says_it_of_what_a_step_and_a_policy_demand_together(shell, mode):
    shell.book("- { id: ask, type: approval, message: May it?, approvers: ['{{ who }}'] }", meta=WHO)
    flags = policy(shell, people={"alice": {}}, groups={"sre": ["alice"]})[:2]
    text = (shell.root / "p.yaml").read_text()
    rule = '{"effects": ["human"], "action": "require-approval", "approvers": ["group:sre"]}'
    (shell.root / "p.yaml").write_text(text.replace('"rules": []', f'"rules": [{rule}]'))
    shown = shell.gert("exec", "book.yaml", "--mode", mode, *flags).stdout
    assert "approvers: it cannot be approved: no person is named by all that require it" in shown
    shown = shell.gert("exec", "book.yaml", "--mode", mode, *flags, "--var", "who=alice").stdout
    assert "    approvers: " not in shown


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        ({"min_approvers": 5}, {}),
        ({"min_approvers": 5}, {"people": {"alice": {"keys": [ALICE]}}}),
        ({"approvers": ["olga"]}, {}),
        ({"approvers": ["olga", "bob"], "exclude_actor": True}, {}),
        ({"approvers": ["agent:scout"]}, {}),
        ({"min_approvers": 2}, {"people": {"alice": {"keys": [ALICE]}, "bob": {"keys": [BOB]}}, "personal_keys": True}),
        (
            {"approvers": ["bob"]},
            {
                "people": {"bob": {"login": "bob@x"}},
                "bridges": {"web": {"keys": [WEB]}},
                "require_signed_approvals": True,
            },
        ),
        ({"approvers": ["bob"], "action": "deny"}, {}),
    ],
)
def test_what_can_be_approved_is_asked_for(shell, rule, more):
    flags = policy(shell, {"min_approvers": 1, **rule}, **more)
    done = shell.gert("exec", "book.yaml", "--as", "olga", *flags, code=None)
    assert not any(words in done.stderr + done.stdout for words in ("must approve", "cannot be approved"))
    assert shell.json("policy", "explain", "book.yaml", *flags[:2])["approvals_impossible"] == []
    assert len(shell.runs()) == 1


def test_rules_of_two_sources_that_name_nobody_in_common(shell):
    one = policy(shell, {"approvers": ["alice"]})
    (shell.root / "p.yaml").rename(shell.root / "q.yaml")
    policy(shell, {"approvers": ["bob"]})
    why = "it cannot be approved: no person is named by all that require it"
    assert refused(shell, "--policy", "q.yaml", *one) == LEFT + why


def test_who_would_answer_for_a_bridge_is_not_known_to_be_another_than_the_actor(shell):
    people = {"bob": {"login": "bob@x"}}
    more = {"people": people, "bridges": {"web": {"keys": [WEB]}}, "require_signed_approvals": True}
    flags = policy(shell, {"approvers": ["bob"], "exclude_actor": True}, **more)
    assert refused(shell, *flags).startswith(LEFT + "it cannot be approved: 'bob' has no key")
    people["olga"] = {"login": "olga@x"}
    policy(shell, {"approvers": ["bob"], "exclude_actor": True}, **more)
    assert shell.json("exec", "book.yaml", "--as", "olga", *flags)["status"] == "approval_pending"


@pytest.mark.parametrize("more", ['when: "{{ false }}"', "continue_on_fail: true"], ids=["guarded", "caught"])
def test_what_only_some_paths_need_is_a_warning(shell, more):
    shell.book(f"- {LOOK}\n- {{ id: drop, type: tool, tool: drop, {more} }}", tools="look, drop")
    flags = policy(shell, {"approvers": ["bob"], "min_approvers": 2})
    done = shell.gert("exec", "book.yaml", *flags)
    why = "2 people must approve it, and only 'bob' can"
    assert f"warning: step drop cannot be approved if it is reached: {why}" in done.stderr


def test_without_preflight_it_is_asked_for(shell):
    flags = policy(shell, {"approvers": ["bob"], "min_approvers": 2})
    assert shell.json("exec", "book.yaml", *flags, "--no-preflight")["status"] == "approval_pending"


def test_a_step_that_demands_it_of_a_group_with_too_few_people(shell):
    ask = "{ id: ask, type: approval, message: May it?, approvers: [GROUP], min_approvers: 2 }"
    shell.book("- " + ask.replace("GROUP", '"group:sre"'))
    flags = policy(shell, people={"alice": {}}, groups={"sre": ["alice"]})
    why = "2 people must approve it, and only 'alice' can"
    assert refused(shell, *flags) == f"ask: {why}"


def test_whom_a_template_stands_for_is_not_known_before(shell):
    ask = "- { id: ask, type: approval, message: May it?, approvers: ['{{ who }}'] }"
    shell.book(ask, meta=WHO)
    policy(shell, {"approvers": ["bob"], "effects": ["human"]})
    text = (shell.root / "p.yaml").read_text().replace('"writes": ["db"], ', "")
    (shell.root / "p.yaml").write_text(text)
    done = shell.gert("exec", "book.yaml", "--policy", "p.yaml", "--approval", "inbox", code=None)
    assert "approval_impossible" not in done.stderr
    assert len(shell.runs()) == 1


def test_an_agent_never_approves_what_it_asks_for(shell):
    flags = policy(shell, {"approvers": ["agent:scout"]})
    said = shell.json("exec", "book.yaml", "--as", "agent:scout", *flags, code=2)["error"]["diagnostics"][0]["message"]
    assert said == f"step {LEFT}it cannot be approved: 'agent:scout' starts the run and may not approve it"


KEYS = {"people": {"alice": {"keys": [ALICE]}, "bob": {}}, "personal_keys": True}


@pytest.mark.parametrize(
    ("rule", "more", "why"),
    [
        ({"approvers": ["bob"], "min_approvers": 2}, {}, "2 people must approve it, and only 'bob' can"),
        (
            {"approvers": ["bob"]},
            KEYS,
            "it cannot be approved: 'bob' has no key in a policy that proves the answer",
        ),
        ({"approvers": ["alice"]}, KEYS, None),
        ({"approvers": ["carol"]}, KEYS, None),
        ({"min_approvers": 2}, KEYS, None),
        ({"approvers": ["group:sre"], "min_approvers": 2}, {"groups": {"ops": ["bob"]}}, None),
        ({"approvers": ["olga"], "exclude_actor": True}, {}, None),
        ({"approvers": ["bob"]}, {"people": KEYS["people"], "require_signed_approvals": True}, None),
    ],
)
def test_validation_says_what_a_policy_alone_decides(shell, rule, more, why):
    policy(shell, {"action": "allow"}, rule, **more)
    found = shell.json("validate", "p.yaml")["diagnostics"]
    said = [(one["severity"], one["message"]) for one in found if one["rule"] == "approval-impossible"]
    assert said == ([] if why is None else [("warning", f"a step to which rule 2 applies is never executed: {why}")])


@pytest.mark.parametrize(
    ("rule", "gate", "why"),
    [
        ("approvers: [alice]", "approvers: [bob]", "it cannot be approved: no person is named by all that require it"),
        ("approvers: [alice]", "min_approvers: 2", "2 people must approve it, and only 'alice' can"),
        ("min_approvers: 2", "approvers: [bob]", "2 people must approve it, and only 'bob' can"),
        (
            "approvers: [alice, bob], min_approvers: 2",
            "approvers: [bob]",
            "2 people must approve it, and only 'bob' can",
        ),
        ("approvers: [alice]", "approvers: [Alice, bob]", None),
        ("approvers: [alice]", "approvers: ['{{ .who }}']", None),
        ("approvers: [alice]", "approvers: ['group:sre']", None),
        ("min_approvers: 2", "min_approvers: 3", None),
        ("approvers: [alice], risk: critical", "approvers: [bob]", None),
    ],
)
def test_validation_combines_what_a_step_demands_with_the_rules_of_its_runbook(shell, rule, gate, why):
    own = f"governance: {{ rules: [{{ effects: [human], action: require-approval, {rule} }}] }}"
    shell.book(f"- {{ id: ask, type: approval, message: May it?, {gate} }}", meta=f"{own}\n{WHO}")
    found = shell.json("validate", "book.yaml")["diagnostics"]
    said = [(one["line"], one["message"]) for one in found if one["rule"] == "approval-impossible"]
    before = "the step is never executed, because rule 1 applies to it too: "
    assert said == ([] if why is None else [(8, before + why)])


def test_validation_of_a_runbook_knows_the_groups_of_its_project(shell):
    ask = '{ id: ask, type: approval, message: May it?, approvers: ["group:sre"], min_approvers: 2 }'
    rule = "governance: { rules: [{ effects: [human], action: require-approval, approvers: ['group:sre', bob] }] }"
    shell.book(f"- {ask}", meta=rule.replace("bob]", "bob], min_approvers: 3"))
    policy(shell, people={"alice": {}, "bob": {}}, groups={"sre": ["alice"]})
    assert "approval-impossible" not in shell.gert("validate", "book.yaml").stdout
    (shell.root / "gert-project.yaml").write_text("policies: [p.yaml]\n")
    found = shell.json("validate", "book.yaml")["diagnostics"]
    assert [(one["line"], one["message"]) for one in found if one["rule"] == "approval-impossible"] == [
        (
            4,
            "a step to which rule 1 applies is never executed: 3 people must approve it, and only 'alice' and 'bob' can",
        ),
        (7, "the step is never executed: 2 people must approve it, and only 'alice' can"),
    ]


def test_who_only_resumes_a_run_may_approve_it(shell):
    """Who started it is what counts: an approval that they alone could give cannot be given, whoever goes on."""
    shell.book(f"- {{ id: m, type: manual, instructions: x }}\n- {DROP}", tools="look, drop")
    flags = policy(shell, {"approvers": ["zed"], "exclude_actor": True})
    waits = ("exec", "book.yaml", *flags, "--no-preflight", "--questions", "suspend", "--as")
    for starts, goes_on, code in (("olga", "zed", 0), ("zed", "olga", 2)):
        run = shell.json(*waits, starts)["run_id"]
        assert shell.gert("answer", run, "m", "confirm=yes", "--as", "ann").returncode == 0
        said = shell.json("resume", "--run", run, "--as", goes_on, code=code)
        if code:
            assert said["error"]["diagnostics"][0]["rule"] == "approval_impossible"
        else:
            assert said["status"] == "approval_pending"
