"""Who approves: people, keys, groups, bridges and agents of policies, and ids that look like another one's."""

from __future__ import annotations

import json
import time
from base64 import b64decode, b64encode

import pytest
from gertproc import Gert
from hypothesis import given, settings
from hypothesis import strategies as st
from people import BOOK, TOOL, pair

from gert_core.api import ApprovalRequest, ApprovalResponse
from gert_core.approvals.checks import AnswerResult, Approvals, Tally, assess
from gert_core.approvals.signing import sign_response
from gert_core.governance.people import id_fault, parse_people
from gert_core.plugin.registry import Registry

ALICE, ALICE_KEY = pair(1)
BOB, BOB_KEY = pair(2)
EVE, EVE_KEY = pair(3)
WEB, WEB_KEY = pair(4)


SMALL_ORDER = (
    "01" + "00" * 31,
    "00" * 31 + "80",
    "ec" + "ff" * 30 + "7f",
    "ee" + "ff" * 31,
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
)
"""Public keys under which everybody can sign, in usual and unusual spellings."""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL, book=BOOK)
    return made


def policy(gert: Gert, *, rule: str = "", **more: object) -> tuple[str, str]:
    document = {
        "apiVersion": "policy/v0",
        "meta": {"name": "floor"},
        "rules": [{"effects": ["danger"], "action": "require-approval"} | json.loads(rule or "{}")],
        **more,
    }
    (gert.root / "floor.yaml").write_text(json.dumps(document))
    return "--policy", "floor.yaml"


def start(gert: Gert, *flags: str) -> str:
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json", *flags)
    assert said.code == 0, said.all
    return said.document["pending"][0]["ticket_id"]


def approve(gert: Gert, ticket: str, who: str, key: str = "") -> None:
    keys = {"GERT_APPROVAL_SIGNING_KEY": key} if key else {}
    said = gert("approve", ticket, "--as", who, **keys)
    assert said.code == 0, said.all


def put(gert: Gert, ticket: str, *people: str) -> None:
    """Write answers into the run directory, as somebody who can write there could."""
    folder = gert.run() / "tickets" / f"{ticket}.answers"
    folder.mkdir(mode=0o700)
    for number, name in enumerate(people):
        answer = {"ticket_id": ticket, "approved": True, "approver_id": name, "method": "inbox"}
        made = gert.events()[-1]["timestamp"]
        (folder / f"{number:04}-x.json").write_text(json.dumps(answer | {"timestamp": made}))


def problems(gert: Gert) -> list[str | None]:
    return [event["data"].get("problem") for event in gert.events() if event["type"] == "approval_response"]


def resume(gert: Gert) -> str:
    return gert("resume", "--run", gert.run().name, "--json").document["status"]


def test_a_person_with_a_key_is_believed_by_its_signature_only(gert):
    ticket = start(gert, *policy(gert, people={"alice": {"keys": [ALICE_KEY]}}))
    approve(gert, ticket, "alice")
    assert resume(gert) == "approval_pending"
    assert problems(gert) == ["key_not_personal"]
    (gert.run() / "tickets" / f"{ticket}.answers").rename(gert.root / "unsigned")
    approve(gert, ticket, "alice", EVE)
    assert resume(gert) == "approval_pending"
    (gert.run() / "tickets" / f"{ticket}.answers").rename(gert.root / "forged")
    approve(gert, ticket, "alice", ALICE)
    assert resume(gert) == "completed"
    assert problems(gert) == ["key_not_personal", "key_not_personal", None]


def test_whoever_resumes_does_not_choose_the_key(gert):
    """With people in a policy no key of the environment counts."""
    ticket = start(gert, *policy(gert, people={"alice": {"keys": [ALICE_KEY]}}, require_signed_approvals=True))
    approve(gert, ticket, "alice", EVE)
    said = gert("resume", "--run", gert.run().name, "--json", GERT_APPROVAL_VERIFY_KEY=EVE_KEY)
    assert said.document["status"] == "approval_pending"
    assert not (gert.root / "acted").exists()


def test_without_people_it_is_said_that_keys_come_from_the_environment(gert):
    flags = policy(gert, require_signed_approvals=True)
    said = gert("exec", "book.yaml", "--approval", "inbox", *flags)
    assert "the person who resumes the run chooses the keys" in said.err
    assert gert.events()[0]["data"]["approval_keys"] == "environment"
    assert "the person who resumes the run chooses the keys" in gert("policy", "explain", "book.yaml", *flags).out


@pytest.mark.parametrize(
    ("rule", "people", "said"),
    [
        ({"exclude_actor": True}, {}, "no policy says which person 'olga' or "),
        ({"exclude_actor": True}, {"bob": {"slack": "T1/U1"}}, "no policy says which person 'olga' or "),
        ({"exclude_actor": True}, {"olga": {"slack": "T1/U1"}}, None),
        ({"exclude_actor": True}, {"boss": {"login": "olga"}}, None),
        ({"approvers": ["bob", "carol"]}, {"bob": {}}, "no policy declares 'carol', who may approve, as a person"),
        ({"approvers": ["bob"]}, {"bob": {}}, None),
        ({}, {"bob": {}}, None),
    ],
)
def test_it_is_said_whose_answers_cannot_count_before_anything_runs(gert, rule, people, said):
    """Answers that come with an identity need people; who is not declared is named before the run."""
    flags = policy(gert, rule=json.dumps(rule), **({"people": people} if people else {}))
    ran = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", *flags)
    assert ran.code == 0, ran.all
    explained = gert("policy", "explain", "book.yaml", *flags, GERT_ACTOR="olga")
    as_json = gert("policy", "explain", "book.yaml", "--json", *flags, GERT_ACTOR="olga").document["approvers_unknown"]
    if said is None:
        assert "set aside" not in ran.all + explained.out
        assert as_json == []
        return
    for text in (ran.err, explained.out, "\n".join(as_json)):
        assert said in text
        assert "is set aside (approver_unknown)" in text
    asked_here = gert("exec", "book.yaml", "--approval", "stdin", "--as", "olga", *flags)
    assert "set aside" not in asked_here.all, "who answers at the terminal has no other identity"


def test_policy_explain_says_that_no_people_are_declared(gert):
    said = gert("policy", "explain", "book.yaml", *policy(gert)).out
    assert "no policy declares people: an answer that comes with an identity" in said
    gert.write(book=BOOK.replace("tools: [act]", "").replace("- {id: act, type: tool, tool: act}", ""))
    assert "no policy declares people" not in gert("policy", "explain", "book.yaml").out


def test_one_key_is_not_two_people(gert):
    refused = gert("exec", "book.yaml", *policy(gert, people={n: {"keys": [ALICE_KEY]} for n in ("alice", "bob")}))
    assert (refused.code, "have a key in common" in refused.err) == (2, True), refused.all
    assert gert.runs() == []


def test_a_key_of_a_person_is_not_that_of_a_bridge(gert):
    """Who holds it would be one person by its own key, and everybody else by the bridge."""
    people = {"alice": {"keys": [ALICE_KEY]}, "bob": {"slack": "T1/U2"}}
    refused = gert("exec", "book.yaml", *policy(gert, people=people, bridges={"slack": {"keys": [ALICE_KEY]}}))
    assert (refused.code, "bridge 'slack' have a key in common" in refused.err) == (2, True), refused.all
    assert gert.runs() == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"people": {"alice": {"keys": ["hmac-sha256:" + b64encode(b"k" * 16).decode()]}}}, "must be a public key"),
        ({"people": {"alice": {"keys": [b64encode(b"k" * 32).decode()]}}}, "must be a public key"),
        (
            {"people": {"alice": {"keys": ["ed25519:AAAA"]}}},
            "key 1 of person 'alice' cannot be used: an Ed25519 public key",
        ),
        ({"bridges": {"web": {"keys": ["ed25519:AAAA"]}}}, "key 1 of bridge 'web' cannot be used"),
        (
            {"people": {"alice": {"keys": [WEB_KEY.replace("ed25519", "foo")]}}},
            "'foo', which no installed plugin supports",
        ),
        *(
            (
                {"people": {"alice": {"keys": [f"ed25519:{b64encode(bytes.fromhex(point)).decode()}"]}}},
                "everybody can sign",
            )
            for point in SMALL_ORDER
        ),
        ({"people": {"alice\u200b": {}}}, "cannot be seen"),
        ({"people": {"agent:x": {}}}, "is an agent's"),
        ({"people": {"alice": {}}, "groups": {"sre": ["bob"]}}, "that no policy declares: bob"),
        ({"people": {"alice": {"slack": "T1/U1"}, "bob": {"slack": "T1/U1"}}}, "identity slack/T1/U1 in common"),
    ],
)
def test_people_that_prove_nothing_are_a_broken_policy(gert, more, said):
    refused = gert("exec", "book.yaml", *policy(gert, **more))
    assert (refused.code, said in refused.err) == (2, True), refused.all
    assert gert.runs() == []


def test_two_policies_that_disagree_about_a_person_are_refused(gert):
    policy(gert, people={"alice": {"keys": [ALICE_KEY]}})
    (gert.root / "floor.yaml").rename(gert.root / "one.yaml")
    policy(gert, people={"alice": {"keys": [EVE_KEY]}})
    refused = gert("exec", "book.yaml", "--policy", "one.yaml", "--policy", "floor.yaml")
    assert (refused.code, "defined differently by another policy" in refused.err) == (2, True), refused.all


def test_only_the_approvers_of_the_rule_count(gert):
    flags = policy(
        gert, rule='{"approvers": ["group:sre"]}', people={"alice": {}, "bob": {}}, groups={"sre": ["alice"]}
    )
    ticket = start(gert, *flags)
    refused = gert("approve", ticket, "--as", "bob")
    assert (refused.code, "is not one of those who may approve" in refused.err) == (1, True), refused.all
    put(gert, ticket, "bob")
    assert resume(gert) == "approval_pending"
    approve(gert, ticket, "Alice")
    assert resume(gert) == "completed"
    assert problems(gert) == ["approval_not_allowed", None]


def test_rules_without_an_approver_in_common_are_met_by_nobody(gert):
    policy(gert, rule='{"approvers": ["alice"]}')
    (gert.root / "floor.yaml").rename(gert.root / "one.yaml")
    policy(gert, rule='{"approvers": ["bob"]}')
    ticket = start(gert, "--no-preflight", "--policy", "one.yaml", "--policy", "floor.yaml")
    put(gert, ticket, "alice", "bob")
    assert resume(gert) == "approval_pending"
    assert problems(gert) == ["approval_not_allowed"] * 2


GROUPS = """\
apiVersion: policy/v0
meta: {name: floor}
groups: {sre: [alice]}
rules:
  - effects: [danger]
    action: require-approval
    approvers: ["group:SRE"]
"""


def test_a_group_that_no_policy_declares_stops_the_run(gert):
    """Policies may declare groups for each other: runs are refused where none does, and validation warns."""
    (gert.root / "floor.yaml").write_text(GROUPS)
    for command in (("exec",), ("policy", "explain")):
        said = gert(*command, "book.yaml", "--policy", "floor.yaml")
        assert said.code == 2, said.all
        assert "names the group 'SRE', which no policy declares" in said.err
        assert "floor.yaml:7" in said.err
        assert "did you mean `group:sre`?" in said.err
    assert gert.runs() == []
    checked = gert("validate", "floor.yaml")
    assert (checked.code, "7:17" in checked.all, "group-unknown" in checked.all) == (0, True, True)
    (gert.root / "more.yaml").write_text(
        "apiVersion: policy/v0\nmeta: {name: more}\nrules: []\ngroups: {SRE: [alice]}\n"
    )
    ticket = start(gert, "--policy", "floor.yaml", "--policy", "more.yaml")
    approve(gert, ticket, "alice")
    assert resume(gert) == "completed"


def test_mistakes_about_people_have_a_place(gert):
    people = "people:\n  alice:\n    keys:\n      - KEY\n"
    floor = "apiVersion: policy/v0\nmeta: {name: floor}\nrules: []\n" + people
    for key in ("hmac-sha256:AAAA", "ed25519:AAAA", "ed25519:!"):
        (gert.root / "floor.yaml").write_text(floor.replace("KEY", key))
        said = gert("exec", "book.yaml", "--policy", "floor.yaml")
        assert (said.code, "floor.yaml:7" in said.err) == (2, True), said.all
    assert gert.runs() == []


def test_validation_names_the_keys_that_a_run_refuses(gert):
    """Every one of them with its place, and what two people have in common."""
    head = "apiVersion: policy/v0\nmeta: {name: floor}\nrules: []\n"
    bad = (
        "people:\n  alice:\n    keys:\n      - ed25519:AAAA\n  bob:\n    keys:\n      - hmac-sha256:" + "A" * 24 + "\n"
    )
    (gert.root / "floor.yaml").write_text(f'{head}{bad}bridges:\n  web: {{keys: ["ed25519:!"]}}\n')
    said = gert("validate", "floor.yaml")
    assert said.code == 1, said.all
    assert [place in said.all for place in ("7:9", "10:9", "12:16")] == [True] * 3, said.all
    assert "key 1 of person 'alice' cannot be used" in said.all
    assert "key 1 of person 'bob' must be a public key" in said.all
    both = f"people:\n  alice: {{keys: [{ALICE!r}]}}\n  bob: {{keys: [{ALICE!r}]}}\n"
    (gert.root / "floor.yaml").write_text(head + both)
    said = gert("validate", "floor.yaml")
    assert (said.code, "'alice' and 'bob' have a key in common" in said.all, "6:8" in said.all) == (1, True, True)
    (gert.root / "floor.yaml").write_text(head + both.replace(repr(ALICE), repr(BOB), 1))
    assert gert("validate", "floor.yaml").code == 0


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


def test_a_group_of_a_step_that_no_policy_declares_stops_the_run(gert):
    (gert.root / "floor.yaml").write_text(
        "apiVersion: policy/v0\nmeta: {name: floor}\nrules: []\ngroups: {sre: [bob]}\n"
    )
    (gert.root / "gert-project.yaml").write_text("name: here\npolicies: [floor.yaml]\n")
    gert.write(gate=GATE.replace("NAME", "group:SRE"))
    checked = gert("validate", "gate.yaml")
    assert "7:24" in checked.all, checked.all
    assert "group-unknown" in checked.all
    assert "did you mean `group:sre`?" in checked.all
    for command in (("exec", "--approval", "inbox", "--no-preflight"), ("policy", "explain")):
        said = gert(*command, "gate.yaml")
        assert said.code == 2, said.all
        assert "step 'ask' names the group 'SRE', which no policy declares" in said.err
        assert "gate.yaml:7" in said.err
        assert "did you mean `group:sre`?" in said.err
    assert gert.runs() == []
    gert.write(
        around="apiVersion: kernel/v0\nmeta: {name: around}\nsteps:\n  - {id: in, type: runbook, runbook: gate.yaml}\n"
        "  - {type: end, outcome: {category: resolved, code: x}}\n"
    )
    said = gert("exec", "around.yaml", "--approval", "inbox")
    assert (said.code, "names the group 'SRE', which no policy declares" in said.err) == (2, True), said.all
    gert.write(gate=GATE.replace("NAME", "group:sre"))
    assert gert("validate", "gate.yaml", "--strict").code == 0
    assert gert("exec", "gate.yaml", "--approval", "inbox").code == 0
    (asked,) = [e["data"] for e in gert.events() if e["type"] == "approval_submitted"]
    assert asked["request"]["approvers"] == ["alice", "bob"]


def test_a_group_that_a_template_gives_is_refused_when_the_step_is_reached(gert):
    gert.write(gate=GATE.replace("NAME", '"group:{{ .team }}"'))
    said = gert("exec", "gate.yaml", "--approval", "inbox")
    assert said.code == 1, said.all
    told = "its approvers name the group 'sre', which no policy declares; declare it under `groups` of a policy"
    assert told in said.all
    assert [e for e in gert.events() if e["type"] == "approval_submitted"] == []


@pytest.mark.parametrize("field", ["effects", "writes", "reads", "risk", "outcome", "approvers"])
def test_an_empty_list_in_a_rule_stops_the_run(gert, field):
    """It would match nothing, or everything."""
    (gert.root / "floor.yaml").write_text(
        f"apiVersion: policy/v0\nmeta: {{name: floor}}\nrules:\n  - action: deny\n    {field}: []\n"
    )
    for argv in (("validate", "floor.yaml"), ("exec", "book.yaml", "--policy", "floor.yaml")):
        said = gert(*argv)
        assert (said.code, f"`{field}` must not be empty" in said.all) == (1 if argv[0] == "validate" else 2, True)
        assert (f"5:{7 + len(field)}" if argv[0] == "validate" else "floor.yaml:5") in said.all


def test_a_group_without_people_is_not_everybody(gert):
    policy(gert, groups={"sre": ["alice"], "empty": []}, rule='{"approvers": ["group:empty"]}')
    ticket = start(gert, "--no-preflight", "--policy", "floor.yaml")
    put(gert, ticket, "eve")
    assert resume(gert) == "approval_pending"


def test_an_agent_approves_only_where_the_rule_names_it(gert):
    ticket = start(gert, *policy(gert))
    approve(gert, ticket, "agent:helper")
    assert resume(gert) == "approval_pending"
    assert problems(gert) == ["approval_agent"]
    (answer,) = [event for event in gert.events() if event["type"] == "approval_response"]
    assert answer["principal"] == {"kind": "agent", "id": "helper"}


def test_an_agent_of_one_rule_does_not_meet_a_rule_that_names_none(gert):
    policy(gert, rule='{"approvers": ["agent:helper", "alice"]}')
    (gert.root / "floor.yaml").rename(gert.root / "one.yaml")
    policy(gert)
    ticket = start(gert, "--no-preflight", "--policy", "one.yaml", "--policy", "floor.yaml")
    put(gert, ticket, "agent:helper")
    assert resume(gert) == "approval_pending"
    approve(gert, ticket, "alice")
    assert resume(gert) == "completed"


@pytest.mark.parametrize("who", ["Agent:helper", "AGENT:helper", "aGent: helper"])
def test_an_agent_is_one_in_every_spelling(gert, who):
    ticket = start(gert, *policy(gert))
    refused = gert("approve", ticket, "--as", who)
    assert (refused.code, "is an agent's id in another spelling" in refused.err) == (2, True), refused.all
    assert gert("exec", "book.yaml", "--as", who).code == 2
    declared = gert("exec", "book.yaml", *policy(gert, people={who: {"keys": [ALICE_KEY]}}))
    assert (declared.code, "is an agent's" in declared.err) == (2, True), declared.all
    policy(gert)
    put(gert, ticket, who)
    assert resume(gert) == "approval_pending"
    assert problems(gert) == ["approval_malformed"]


def test_no_id_stands_for_approvers_in_common(gert):
    """Two rules that have no approver in common name somebody whom nobody can be."""
    policy(gert, rule='{"approvers": ["alice"]}')
    (gert.root / "one.yaml").write_text((gert.root / "floor.yaml").read_text().replace("alice", "bob"))
    ticket = start(gert, "--no-preflight", "--policy", "one.yaml", "--policy", "floor.yaml")
    refused = gert("approve", ticket, "--as", "(no person)")
    assert (refused.code, "stands for no person" in refused.err) == (2, True), refused.all
    put(gert, ticket, "(no person)", "(No Person)")
    assert resume(gert) == "approval_pending"
    assert problems(gert) == ["approval_malformed"] * 2
    named = gert("exec", "book.yaml", *policy(gert, rule='{"approvers": ["(no person)"]}'))
    assert (named.code, "cannot be an approver's id" in named.err) == (2, True), named.all


@pytest.mark.parametrize("names", [("alice", "al"), ("al", "alice"), ("alice", "AL"), ("al", "alos")])
@pytest.mark.parametrize("keys", [[ALICE_KEY], []])
def test_one_person_counts_once_under_all_their_names(gert, names, keys):
    """Signed under one name, signed or unsigned under another: it is the same person with the same keys."""
    people = {"alice": {"login": "al", "os": "alos", **({"keys": keys} if keys else {})}}
    ticket = start(gert, *policy(gert, rule='{"min_approvers": 2}', people=people))
    approve(gert, ticket, names[0], ALICE if keys else "")
    approve(gert, ticket, names[1])
    assert resume(gert) == "approval_pending"
    assert problems(gert) == [None, "key_not_personal" if keys else "approval_duplicate"]
    assert not (gert.root / "acted").exists()


@pytest.mark.parametrize("who", ["eve", "carl"])
@pytest.mark.parametrize("required", [{"require_signed_approvals": True}, {"personal_keys": True}])
def test_where_people_have_keys_no_other_signature_is_enough(gert, who, required):
    """Eve is not declared and Carl has no key: neither a key that the person who resumes chose counts, nor none."""
    ticket = start(gert, *policy(gert, people={"alice": {"keys": [ALICE_KEY]}, "carl": {}}, **required))
    approve(gert, ticket, who, EVE if "require_signed_approvals" in required else "")
    said = gert("resume", "--run", gert.run().name, "--json", GERT_APPROVAL_VERIFY_KEY=EVE_KEY)
    assert said.document["status"] == "approval_pending", said.all
    assert problems(gert) == ["key_not_personal"]
    assert "approval_keys" not in gert.events()[0]["data"]
    (gert.run() / "tickets" / f"{ticket}.answers").rename(gert.root / "refused")
    approve(gert, ticket, "alice", ALICE)
    assert resume(gert) == "completed"


def test_who_started_the_run_is_known_by_all_their_names(gert):
    """``olga`` started it as the operating system's user, who is Alice."""
    ticket = start(gert, *policy(gert, rule='{"exclude_actor": true}', people={"alice": {"login": "olga"}}))
    approve(gert, ticket, "alice")
    assert resume(gert) == "approval_pending"
    assert problems(gert) == ["approval_own_actor"]


def test_a_rejection_is_final_whatever_the_files_are_called(gert):
    """An approval that was written later, into a file whose name comes first."""
    ticket = start(gert, *policy(gert))
    assert gert("reject", ticket, "--as", "alice").code == 0
    answer = {"ticket_id": ticket, "approved": True, "approver_id": "bob", "method": "inbox"}
    folder = gert.run() / "tickets" / f"{ticket}.answers"
    (folder / "0000-a.json").write_text(json.dumps(answer | {"timestamp": gert.events()[-1]["timestamp"]}))
    assert resume(gert) == "failed"
    assert problems(gert) == ["approval_rejected"]
    assert not (gert.root / "acted").exists()


def test_an_unsigned_answer_that_was_written_too_late_does_not_count(gert):
    """It states a time before the ticket expired; the file was written after that."""
    ticket = start(gert, *policy(gert, approval_timeout="1s"))
    time.sleep(1.2)
    put(gert, ticket, "alice")
    assert resume(gert) == "failed"
    assert problems(gert) == ["approval_timeout"]
    assert not (gert.root / "acted").exists()


LOOKALIKES = [
    "alice\u200b",
    "\ufeffalice",
    "al\u00adice",
    "\uff41lice",
    "alice ",
    " alice",
    "a  lice",
    "alice\u2060",
    "ali\u034fce",
    "ali\ufffdce",
    "group:ops",
    "Group:ops",
    "",
]


@pytest.mark.parametrize("who", LOOKALIKES)
def test_ids_that_look_like_another_are_refused(gert, who):
    assert id_fault(who) is not None
    ticket = start(gert, *policy(gert, rule='{"min_approvers": 2}'))
    refused = gert("approve", ticket, "--as", who)
    assert (refused.code, "cannot be an approver's id" in refused.err) == (2, True), refused.all
    assert gert("exec", "book.yaml", "--as", who or " ").code == 2
    put(gert, ticket, "alice", who)
    assert resume(gert) in ("approval_pending", "failed")
    assert not (gert.root / "acted").exists()


# -- the one function, under every combination of faults ----------------------------------------------------------------

SCHEMES = Registry.build().signature_scheme
PEOPLE = {
    "people": {"alice": {"keys": [ALICE_KEY], "slack": "T1/U1"}, "bob": {"keys": [BOB_KEY], "os": "rob"}, "carl": {}},
    "bridges": {"slack": {"keys": [WEB_KEY]}},
}
CREATED, EXPIRES = "2026-03-01T12:00:00Z", "2026-03-01T12:30:00Z"
answers = st.fixed_dictionaries(
    {
        "ticket": st.sampled_from(["t-1", "t-2"]),
        "approved": st.booleans(),
        "who": st.sampled_from(["alice", "Alice", "bob", "carl", "eve", "agent:x", "olga", "rob", "alice\u200b"]),
        "when": st.sampled_from([CREATED, EXPIRES, "2026-03-01T11:00:00Z", "2026-03-01T12:30:01Z", "never"]),
        "key": st.sampled_from([None, ALICE, BOB, EVE, WEB]),
        "identity": st.sampled_from([None, ("slack", "T1", "U1"), ("slack", "T1", "U2"), ("web", "", "alice")]),
        "tampered": st.booleans(),
    }
)


def respond(facts: dict) -> ApprovalResponse:
    identity = facts["identity"]
    made = ApprovalResponse(
        ticket_id=facts["ticket"],
        approved=facts["approved"],
        approver_id=facts["who"],
        method="test",
        timestamp=facts["when"],
        identity=dict(zip(("provider", "tenant", "user"), identity, strict=True)) if identity else None,
    )
    if facts["key"]:
        key = b64decode(facts["key"].partition(":")[2])
        over = "other" if facts["tampered"] else "h"
        made = sign_response(made, request_hash=over, scheme=SCHEMES("ed25519"), key=key)
    return made


@settings(deadline=None)
@given(given=st.lists(answers, max_size=5), exclude=st.booleans(), personal=st.booleans(), named=st.booleans())
def test_nothing_counts_that_has_a_fault(given, exclude, personal, named):
    """Whatever is wrong with an answer, it does not count; and people count once, by their own proof."""
    people = parse_people([("the policy", {**PEOPLE, "personal_keys": personal})])
    request = ApprovalRequest(
        **dict.fromkeys(("run_id", "step_id", "step_key", "runbook_name", "step_type", "description", "risk_level"), "x"),
        ticket_id="t-1", contract={}, inputs={}, request_hash="h", created=CREATED, expires_at=EXPIRES,
        requested_by="olga", exclude_actor=exclude, approvers=("alice", "carl") if named else (),
    )  # fmt: skip
    known = Approvals(actors=frozenset({"olga", "rob"}), schemes=SCHEMES, environ={}, people=people)
    tally = Tally()
    for facts in given:
        answer = respond(facts)
        found = assess(answer, request, known, tally=tally)
        if found.result is not AnswerResult.COUNTED:
            continue
        who = {"rob": "bob"}.get(facts["who"], facts["who"].casefold())
        assert who not in tally.approvers
        tally.add(answer, found)
        assert facts["approved"]
        assert facts["ticket"] == "t-1"
        assert facts["when"] in (CREATED, EXPIRES)
        assert who in ("alice", "bob", "carl", "eve", "olga")
        assert not personal or who in ("alice", "bob")
        assert not named or who in ("alice", "carl")
        assert not exclude or who not in ("olga", "bob")
        if who in ("alice", "bob"):
            own = facts["key"] == {"alice": ALICE, "bob": BOB}[who]
            bridge = facts["key"] == WEB and not personal and facts["identity"] == ("slack", "T1", "U1")
            assert own or (bridge and who == "alice")
            assert not facts["tampered"]
        if facts["identity"] is not None:
            assert (who, facts["identity"]) == ("alice", ("slack", "T1", "U1"))


def test_an_id_that_looks_like_a_masked_secret_is_not_a_person(gert):
    # Read again from the trace it would be the secret, so one approval would count as two and show the secret.
    rule = '{"min_approvers": 2}'
    ticket = start(gert, *policy(gert, rule=rule))
    said = gert("approve", ticket, "--as", "<REDACTED:GERT_TRACE_SIGNING_KEY>")
    assert said.code == 2
    assert "give another with --as" in said.all
    put(gert, ticket, "<REDACTED:TOKEN>")
    assert resume(gert) == "approval_pending"
    assert resume(gert) == "approval_pending"
    assert "<REDACTED:TOKEN>" not in [
        event["data"].get("approver_id")
        for event in gert.events()
        if event["type"] == "approval_response" and not event["data"].get("problem")
    ]
