"""One function decides whether an answer counts: every combination of faults, and nothing is approved without it."""

from __future__ import annotations

import json
import os
from base64 import b64decode
from itertools import product

import pytest
from binding import acted, approve, bound_gert, kill_at, of, pending, resume
from gertproc import Gert
from msgspec.structs import replace
from people import BOOK, TOOL, pair

from gert_core.api import ApprovalRequest, ApprovalResponse
from gert_core.approvals.checks import AnswerAssessment, AnswerResult, Approvals, Tally, assess, recount
from gert_core.approvals.seals import SEAL, is_sealed, seal_of
from gert_core.approvals.signing import sign_response
from gert_core.governance.people import People, Person, parse_people
from gert_core.keys import parse_key
from gert_core.plugin.registry import Registry

PAIRS = {name: pair(number) for number, name in enumerate(("alice", "bob", "eve", "olga", "slack", "web"), 1)}
SCHEMES = Registry.build().signature_scheme
CREATED, EXPIRES = "2026-03-01T12:00:00Z", "2026-03-01T12:30:00Z"
SLACK = {"provider": "slack", "tenant": "T1", "user": "U1"}
POLICY = {
    "people": {
        "alice": {"keys": [PAIRS["alice"][1]], "slack": ["T1/U0", "T1/U1"], "teams": "M1/A1"},
        "bob": {"keys": [PAIRS["bob"][1]]},
        "carol": {"slack": "T1/U2"},
        "olga": {"keys": [PAIRS["olga"][1]], "login": "ol"},
    },
    "bridges": {"slack": {"keys": [PAIRS["slack"][1]]}, "web": {"keys": [PAIRS["web"][1]]}},
}
PERSONAL = {
    "ticket": ("t-1", "t-2"),
    "approved": (True, False),
    "who": ("alice", "alice\u200b", "agent:alice", "eve", "olga"),
    "key": ("own", None, "other", "bridge", "colleague"),
    "over": ("h", "another request"),
    "identity": (None, SLACK | {"user": "U2"}, {"provider": "web", "tenant": "", "user": "alice"}),
    "when": (CREATED, "2026-03-01T11:00:00Z", "2026-03-01T12:30:01Z", "never"),
    "again": (False, True),
    "changed": ((), (frozenset({"bob"}), frozenset({"alice"}))),
    "seal": ("own", None, "of another run"),
}
"""What may be wrong with an answer that a person signed; the first of each is right."""
BRIDGED = {
    "ticket": ("t-1", "t-2"),
    "approved": (True, False),
    "who": ("alice", "bob", "agent:alice", "olga"),
    "key": ("slack", None, "web", "eve"),
    "over": ("h", "another request"),
    "identity": (SLACK, SLACK | {"user": "U2"}, SLACK | {"user": "U9"}, None, {"provider": "web", "user": "alice"}),
    "personal": (False, True),
    "actors": (("ol", "root"), ("somebody",)),
    "altered": (None, "identity", "evidence"),
    "again": (False, True),
    "seal": ("own", None),
}
"""The same for an answer that a bridge signed for a person: by an identity that a policy gives to them."""


UNSIGNED = {
    "ticket": ("t-1", "t-2"),
    "approved": (True, False),
    "who": ("dora", "dora\u200b", " dora", "agent:dora", "shared", "olga", "alice"),
    "identity": (None, SLACK, {"provider": "web", "tenant": "", "user": "dora"}),
    "when": (CREATED, "2026-03-01T11:00:00Z", "2026-03-01T12:30:01Z"),
    "written": (CREATED, "2026-03-01T12:30:01Z", "never"),
    "required": (False, True),
    "again": (False, True),
    "changed": ((), (frozenset({"dora"}),)),
}
"""The same for somebody without keys, where everybody may approve; where signatures are required theirs is of the
environment's key, which whoever resumes a run chooses."""
PLAIN = POLICY | {
    "people": POLICY["people"] | {"dora": {}, "dan": {"login": "shared"}, "dina": {"os": "shared"}},
}


def sign(message: bytes) -> str:
    return message.hex()


def request() -> ApprovalRequest:
    names = ("step_id", "step_key", "runbook_name", "step_type", "description", "risk_level")
    return ApprovalRequest(
        **dict.fromkeys(names, "x"), run_id="r", ticket_id="t-1", contract={}, inputs={}, request_hash="h",
        created=CREATED, expires_at=EXPIRES, requested_by="ol", exclude_actor=True,
        approvers=("alice", "bob", "olga"),
    )  # fmt: skip


def answer(facts: dict, key: str | None) -> ApprovalResponse:
    made = ApprovalResponse(
        ticket_id=facts["ticket"],
        approved=facts["approved"],
        approver_id=facts["who"],
        method="test",
        timestamp=facts.get("when", CREATED),
        identity=facts["identity"],
        evidence="what it received",
    )
    if key is None:
        return made
    private = b64decode(PAIRS[key][0].partition(":")[2])
    signed = sign_response(made, request_hash=facts["over"], scheme=SCHEMES("ed25519"), key=private)
    altered = facts.get("altered")
    if altered == "evidence":
        return ApprovalResponse(**signed.to_json() | {"evidence": "something else"})
    if altered == "identity":
        other = None if signed.identity is None else {**signed.identity, "name": "Al"}
        return ApprovalResponse(**signed.to_json() | {"identity": other})
    return signed


def counts_unsigned(facts: dict, response: ApprovalResponse, earlier: ApprovalResponse) -> bool:
    """Return whether an answer counts for a request that everybody may approve."""
    environ = {"GERT_APPROVAL_VERIFY_KEY": PAIRS["eve"][1]}
    people, actors = parse_people([("the policy", PLAIN)]), frozenset({"ol", "root"})
    known = Approvals(
        actors=actors, changed_by=facts["changed"], schemes=SCHEMES, environ=environ, people=people, sign=sign
    )
    asked, tally = replace(request(), approvers=(), require_signed=facts["required"]), Tally()
    if facts["again"]:
        tally.add(earlier, AnswerAssessment(result=AnswerResult.COUNTED, person="dora"))
    return assess(replace(response, written=facts["written"]), asked, known, tally=tally).result is AnswerResult.COUNTED


def counts(facts: dict, response: ApprovalResponse, earlier: ApprovalResponse) -> tuple[bool, bool]:
    """Return whether an answer counts when it is fresh, and when it is read from the trace of a signed run."""
    people = parse_people([("the policy", {**POLICY, "personal_keys": facts.get("personal", False)})])
    actors = frozenset(facts.get("actors", ("ol", "root")))
    known = Approvals(
        actors=actors, changed_by=facts.get("changed", ()), schemes=SCHEMES, environ={}, people=people, sign=sign
    )
    asked, tally = request(), Tally()
    if facts["again"]:
        tally.add(earlier, assess(earlier, asked, replace(known, changed_by=()), tally=tally))
    fresh = assess(response, asked, known, tally=tally).result is AnswerResult.COUNTED
    recorded = [response, earlier] if facts["again"] else [response]
    data = [{**one.to_json(), "result": "counted"} for one in reversed(recorded)]
    for one in data:
        one[SEAL] = seal_of(one, run_id="r", request_hash="h", sign=sign)
    if facts["seal"] != "own":
        data[-1].pop(SEAL)
    if facts["seal"] == "of another run":
        data[-1][SEAL] = seal_of(data[-1], run_id="another", request_hash="h", sign=sign)
    approvers, _ = recount(data, asked, known)
    return fresh, len(approvers) > (1 if facts["again"] else 0)


def combinations(axes: dict) -> list[tuple[dict, bool]]:
    """Return every combination with whether nothing is wrong with it; without GERT_FUZZ at most three faults at once."""
    found = []
    for values in product(*(range(len(axis)) for axis in axes.values())):
        faults = sum(map(bool, values))
        if faults <= (len(axes) if os.environ.get("GERT_FUZZ") else 3):
            found.append(({n: axes[n][v] for n, v in zip(axes, values, strict=True)}, faults == 0))
    return found


def test_an_answer_of_a_person_counts_only_without_any_fault():
    keys = {"other": "eve", "bridge": "slack", "colleague": "bob", None: None}
    good = {name: axis[0] for name, axis in PERSONAL.items()}
    seen = [0, 0]
    for facts, right in combinations(PERSONAL):
        own = facts["who"] if facts["who"] in PAIRS else "alice"
        response = answer(facts, own if facts["key"] == "own" else keys[facts["key"]])
        fresh, recorded = counts(facts, response, answer(good, "alice"))
        unsealed_only = facts["seal"] != "own" and all(facts[n] == good[n] for n in PERSONAL if n != "seal")
        assert fresh is (right or unsealed_only), facts
        assert recorded is right, facts
        seen[right] += 1
    assert seen[1] == 1
    assert seen[0] > 500


def test_an_answer_without_a_personal_key_counts_only_without_any_fault():
    good = {name: axis[0] for name, axis in UNSIGNED.items()} | {"over": "h"}
    seen = [0, 0]
    for facts, right in combinations(UNSIGNED):
        response = answer(facts | {"over": "h"}, "eve" if facts["required"] else None)
        assert counts_unsigned(facts, response, answer(good, None)) is right, facts
        seen[right] += 1
    assert seen[1] == 1
    assert seen[0] > 500


def test_an_answer_of_a_bridge_counts_only_without_any_fault():
    good = {name: axis[0] for name, axis in BRIDGED.items()}
    seen = [0, 0]
    for facts, right in combinations(BRIDGED):
        response = answer(facts, facts["key"])
        fresh, recorded = counts(facts, response, answer(good, "slack"))
        unsealed_only = facts["seal"] != "own" and all(facts[n] == good[n] for n in BRIDGED if n != "seal")
        assert fresh is (right or unsealed_only), facts
        assert recorded is right, facts
        seen[right] += 1
    assert seen[1] == 1
    assert seen[0] > 500


@pytest.mark.parametrize(
    ("identity", "known"),
    [
        ({"provider": "slack", "tenant": "T1", "user": "U0"}, True),
        ({"provider": "teams", "tenant": "M1", "user": "A1"}, True),
        ({"provider": "teams", "tenant": "T1", "user": "U0"}, False),
        ({"provider": "slack", "user": "U0"}, False),
    ],
)
def test_a_person_has_identities_in_several_places(identity, known):
    people = parse_people([("the policy", POLICY)])
    facts = {"ticket": "t-1", "approved": True, "who": "alice", "over": "h", "identity": identity}
    known_ = Approvals(actors=frozenset({"ol"}), schemes=SCHEMES, environ={}, people=people)
    found = assess(answer(facts, "alice"), request(), known_, tally=Tally())
    assert (found.result is AnswerResult.COUNTED, found.kind) == (known, "" if known else "approver_unknown")


def test_two_people_with_one_key_count_once():
    """Policies that give one key to two people are refused; whoever got round that would still be counted once."""
    key = parse_key(PAIRS["alice"][1], name="x")
    people = People(persons={name: Person(id=name, keys=(key,)) for name in ("alice", "bob")})
    known, tally = Approvals(actors=frozenset(), schemes=SCHEMES, environ={}, people=people), Tally()
    found = []
    for who in ("alice", "bob"):
        facts = {"ticket": "t-1", "approved": True, "who": who, "over": "h", "identity": None}
        response = answer(facts, "alice")
        checked = assess(response, request(), known, tally=tally)
        found.append(str(checked.result))
        if checked.result is AnswerResult.COUNTED:
            tally.add(response, checked)
    assert found == ["counted", "set_aside"]


SEALED = ("ticket_id", "approved", "approver_id", "timestamp", "signature", "identity", "evidence", "result", "status")


@pytest.mark.parametrize("field", SEALED)
def test_the_seal_of_an_answer_covers_everything_that_counts(field):
    """Neither an answer nor the end of a ticket in the trace of a signed run can be altered in any of it."""
    data: dict[str, object] = dict.fromkeys(SEALED, "x")
    data[SEAL] = seal_of(data, run_id="r", request_hash="h", sign=sign)
    assert is_sealed(data, run_id="r", request_hash="h", sign=sign)
    assert not is_sealed(data, run_id="another", request_hash="h", sign=sign)
    assert not is_sealed(data, run_id="r", request_hash="another", sign=sign)
    assert not is_sealed(data | {field: "y"}, run_id="r", request_hash="h", sign=sign)
    assert not is_sealed(
        {name: value for name, value in data.items() if name != field}, run_id="r", request_hash="h", sign=sign
    )


# -- through the command line ----------------------------------------------------------------------------------------


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=TOOL, book=BOOK)
    return made


def policy(gert: Gert, **more: object) -> tuple[str, str]:
    rules = [{"effects": ["danger"], "action": "require-approval"}]
    document = {"apiVersion": "policy/v0", "meta": {"name": "floor"}, "rules": rules, **more}
    (gert.root / "floor.yaml").write_text(json.dumps(document))
    return "--policy", "floor.yaml"


def answered(gert: Gert, ticket: str, key: str, identity: dict | None) -> None:
    """Write an answer for Alice as a program does that answers for people."""
    (submitted,) = of(gert, "approval_submitted")
    facts = {"ticket": ticket, "approved": True, "who": "alice", "over": submitted["request_hash"]}
    facts |= {"identity": identity, "when": gert.events()[-1]["timestamp"]}
    folder = gert.run() / "tickets" / f"{ticket}.answers"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = f"{len(list(folder.iterdir())):04}-x.json"
    (folder / name).write_text(json.dumps(answer(facts, key).to_json()))


def test_a_bridge_of_a_policy_answers_for_the_person_whose_identity_it_saw(gert):
    ticket = pending(gert, "exec", "book.yaml", "--approval", "inbox", *policy(gert, **POLICY))
    for key, identity in (("web", SLACK), ("eve", SLACK), ("slack", SLACK | {"user": "U2"}), ("slack", None)):
        answered(gert, ticket, key, identity)
    assert resume(gert)["status"] == "approval_pending"
    problems = [one.get("problem") for one in of(gert, "approval_response")]
    assert problems == ["key_not_personal", "key_not_personal", "approver_unknown", "key_not_personal"]
    answered(gert, ticket, "slack", SLACK)
    assert resume(gert)["status"] == "completed"
    assert of(gert, "approval_resolved")[0]["approvers"] == ["alice"]


def test_an_agent_is_no_person_by_an_identity(gert):
    """A policy that gives the name of an agent to Alice as a login does not let the agent approve for her."""
    rules = [{"effects": ["danger"], "action": "require-approval", "approvers": ["alice"]}]
    flags = policy(gert, rules=rules, people={"alice": {"login": ["agent:helper", "al"]}})
    ticket = pending(gert, "exec", "book.yaml", "--approval", "inbox", *flags)
    folder = gert.run() / "tickets" / f"{ticket}.answers"
    folder.mkdir(mode=0o700)
    for number, who in enumerate(("agent:helper", "al")):
        given = {"ticket_id": ticket, "approved": True, "approver_id": who, "method": "inbox"}
        given["timestamp"] = gert.events()[-1]["timestamp"]
        (folder / f"{number:04}-x.json").write_text(json.dumps(given))
    assert resume(gert)["status"] == "completed"
    found = [(one["approver_id"], one.get("problem")) for one in of(gert, "approval_response")]
    assert found == [("agent:helper", "approval_agent"), ("al", None)]


def test_people_who_are_exchanged_in_a_policy_make_the_request_void(gert):
    """Who approves stands in the digest of the policies: others cannot be put in while a ticket waits."""
    people = {"alice": {"keys": [PAIRS["alice"][1]]}}
    ticket = pending(gert, "exec", "book.yaml", "--approval", "inbox", *policy(gert, people=people))
    policy(gert, people={"alice": {"keys": [PAIRS["eve"][1]]}})
    assert gert("approve", ticket, "--as", "alice", GERT_APPROVAL_SIGNING_KEY=PAIRS["eve"][0]).code == 0
    refused = gert("resume", "--run", gert.run().name, "--json")
    assert (refused.code, refused.document["error"]["kind"]) == (1, "drift"), refused.all
    waiting = resume(gert, "--on-drift", "allow")
    assert waiting["status"] == "approval_pending"
    assert waiting["pending"][0]["ticket_id"] != ticket
    assert [void["changed"] for void in of(gert, "approval_void")] == [["policy_digest"]]
    assert not (gert.root / "acted").exists()


NOBODY = """\
from gert_core.approvals import checks, decide, standing

def nobody(*given, **named):
    return checks.AnswerAssessment(result=checks.AnswerResult.SET_ASIDE, kind="nobody", message="nobody counts")

checks.assess = decide.assess = standing.assess = nobody
"""
GATE = """\
apiVersion: kernel/v0
meta: {name: gate}
tools: [act]
steps:
  - {id: ok, type: approval, message: May it?}
  - {id: act, type: tool, tool: act, inputs: {what: one}}
  - {type: end, outcome: {category: resolved, code: acted}}
"""


@pytest.fixture
def alone(tmp_path):
    """Gert in processes of its own, which ``unjudged`` calls without the one function."""
    made = bound_gert(tmp_path)
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(NOBODY)
    return made


def unjudged(gert: Gert, *argv: str, answers: str = "") -> None:
    """Call gert without the one function, and see that it approves nothing."""
    before = [one for run in gert.runs() for one in resolved(run / "trace.jsonl")]
    said = gert(*argv, answers=answers, PYTHONPATH=str(gert.root / "site"))
    assert "Traceback" not in said.err
    assert [one for run in gert.runs() for one in resolved(run / "trace.jsonl")] == before
    assert acted(gert) == []


def resolved(trace) -> list[dict]:
    events = map(json.loads, trace.read_text().splitlines() if trace.exists() else ())
    return [e["data"] for e in events if e["type"] == "approval_resolved" and e["data"]["approved"]]


def test_without_the_one_function_no_answer_approves_anything(alone):
    """At the terminal, from the inbox, from the trace of an open or a resolved ticket, in a replay."""
    unjudged(alone, "exec", "book.yaml", "--approval", "stdin", answers="y ann\ny ann\ny ann\n")
    alone.write(gate=GATE)
    unjudged(alone, "exec", "gate.yaml", "--approval", "stdin", answers="y ann\n")
    scenario = alone.root / "scenarios" / "one"
    scenario.mkdir(parents=True)
    answers = {"act": [{"approved": True, "approver_id": "ann"}]}
    (scenario / "scenario.yaml").write_text(
        json.dumps({"tool_responses": {"act": [{"exit_code": 0}]}, "approvals": answers})
    )
    replay = ("exec", "book.yaml", "--mode", "replay", "--scenario", str(scenario), "--trace", "replayed.jsonl")
    unjudged(alone, *replay)
    assert resolved(alone.root / "replayed.jsonl") == []
    assert alone(*replay[:-1], "judged.jsonl").code == 0
    assert len(resolved(alone.root / "judged.jsonl")) == 1
    for run in alone.runs():
        run.rename(alone.root / run.name)
    approve(alone, pending(alone))
    unjudged(alone, "resume", "--run", alone.run().name)
    assert [one["result"] for one in of(alone, "approval_response")] == ["set_aside"]


@pytest.mark.parametrize("two", [True, False])
def test_without_the_one_function_no_recorded_answer_approves_anything(alone, two):
    """One of two answers is in the trace, or all of them and that they approved; the process was killed then."""
    if two:
        book = (alone.root / "book.yaml").read_text()
        alone.write(book=book.replace("action: require-approval", "action: require-approval, min_approvers: 2"))
    ticket = pending(alone)
    approve(alone, ticket)
    if two:
        assert resume(alone)["status"] == "approval_pending"
        assert [one["result"] for one in of(alone, "approval_response")] == ["counted"]
        approve(alone, ticket, "bob")
    else:
        kill_at(alone, "step_start")
        assert len(resolved(alone.run() / "trace.jsonl")) == 1
    unjudged(alone, "resume", "--run", alone.run().name)
