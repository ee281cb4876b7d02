"""Answers that other systems take for people: who may answer, what is refused, and where that is kept."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor

import pytest
from gertproc import Gert
from people import BOOK, TOOL, pair

from gert_core.api import ApprovalResponse, GertError
from gert_core.hosting import Host
from gert_core.kit.links import read_link
from gert_core.kit.tickets import TicketStore

WEB, WEB_KEY = pair(4)
_, ALICE_KEY = pair(1)
EVE, _ = pair(3)
BY_ALICE = {"provider": "web", "user": "alice@corp"}
IN_SLACK = {"provider": "slack", "tenant": "T1", "user": "U1"}
PEOPLE = {
    "alice": {"login": "alice@corp", "slack": "T1/U1"},
    "bob": {"login": "bob@corp"},
    "olga": {"login": "olga@corp", "os": "olga"},
}


class House:
    """A project with people, in which a run waits for an approval."""

    def __init__(self, root, *, rule=None, **more):
        self.gert = Gert(root)
        self.gert.write(tool_act=TOOL, book=BOOK)
        policy = {
            "apiVersion": "policy/v0",
            "meta": {"name": "house"},
            "rules": [{"effects": ["danger"], "action": "require-approval", **(rule or {})}],
            "people": PEOPLE,
            **more,
        }
        (root / "house.yaml").write_text(json.dumps(policy))
        (root / "gert-project.yaml").write_text("policies: [house.yaml]\n")
        self.root = root

    def start(self) -> str:
        said = self.gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
        assert said.code == 0, said.all
        self.run_id = said.document["run_id"]
        self.ticket = said.document["pending"][0]["ticket_id"]
        return self.ticket

    def host(self, **environ) -> Host:
        return Host(self.root, environ={"PATH": "/usr/bin:/bin", "HOME": str(self.root), **environ}, actor="server")

    def resume(self):
        return self.gert("resume", "--run", self.run_id, "--json")

    def refused(self, host) -> list[dict]:
        with host._site.store.open(self.run_id) as run:
            return TicketStore(run).refused(self.ticket)


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


def kind_of(call) -> str:
    with pytest.raises(GertError) as caught:
        call()
    return caught.value.kind


def test_an_answer_of_an_identified_person_lets_the_run_go_on(house):
    ticket = house.start()
    evidence = hashlib.sha256(b"what came").hexdigest()
    with house.host() as host:
        given = host.decide(ticket, approved=True, identity=IN_SLACK, evidence=evidence, reason="looked at it")
        assert (given.approver_id, given.method, given.evidence) == ("alice", "slack", evidence)
        assert host.ticket(ticket).status == "answered"
    assert house.resume().document["status"] == "completed"
    text = (house.root / "runs" / house.run_id / "trace.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    (response,) = [line["data"] for line in lines if line["type"] == "approval_response"]
    assert response["identity"] == IN_SLACK
    assert response["evidence"] == evidence
    assert (house.root / "acted").exists()


@pytest.mark.parametrize(
    ("identity", "kind"),
    [
        ({"provider": "slack", "tenant": "T2", "user": "U1"}, "approver_unknown"),
        ({"provider": "slack", "tenant": "T1", "user": "alice"}, "approver_unknown"),
        ({"provider": "slack", "user": "U1"}, "approver_unknown"),
        ({"provider": "web", "user": "alice"}, "approver_unknown"),
        ({"provider": "web", "user": "T1/U1"}, "approver_unknown"),
        ({"provider": "web", "user": ""}, "approver_unknown"),
        ({}, "approver_unknown"),
        ({"user": "alice@corp"}, "approver_unknown"),
        ({"provider": "", "user": "alice@corp"}, "approver_unknown"),
        ({"provider": "web", "user": "bob@corp"}, "approval_not_allowed"),
        ({"provider": "web", "user": "olga@corp"}, "ticket_own_actor"),
    ],
)
@pytest.mark.parametrize("approved", [True, False])
def test_who_may_not_approve_neither_approves_nor_rejects(tmp_path, identity, kind, approved):
    house = House(tmp_path, rule={"approvers": ["alice", "olga"], "exclude_actor": True})
    ticket = house.start()
    with house.host() as host:
        if kind == "ticket_own_actor" and not approved:  # who started the run may stop it
            assert host.decide(ticket, approved=False, identity=identity).approver_id == "olga"
            return
        assert kind_of(lambda: host.decide(ticket, approved=approved, identity=identity)) == kind
        assert host.ticket(ticket).entry.answers == ()
        (kept,) = house.refused(host)
        assert (kept["kind"], kept["approved"]) == (kind, approved)
        assert host.decide(ticket, approved=True, identity=IN_SLACK).approver_id == "alice"


@pytest.mark.parametrize(
    "identity",
    [
        {"provider": "web", "user": ["alice@corp"]},
        {"provider": ["web"], "user": "alice@corp"},
        {"provider": None, "user": "alice@corp"},
        {"provider": "web", "user": 3},
        {"provider": "slack", "tenant": {"T1": 1}, "user": "U1"},
        {"provider": "web", "user": "alice@corp", "more": [1]},
        {"provider": "web", "user": "alice@corp", 7: "x"},
        {"provider": "web", "user": "alice@corp\udcff"},
        {"provider": "\ud800", "user": "alice@corp"},
        {"provider": "web", "user": "alice@corp", "more": "\ud800"},
        "alice@corp",
        ["web", "alice@corp"],
    ],
    ids=ascii,
)
def test_an_identity_that_is_not_text_is_refused(house, identity):
    ticket = house.start()
    with house.host() as host:
        answer = {"method": "web", "timestamp": "2026-01-01T00:00:00Z", "identity": identity}
        given = ApprovalResponse(ticket_id=ticket, approved=True, approver_id="alice", **answer)
        for call in (
            lambda: host.decide(ticket, approved=True, identity=identity),
            lambda: host.take(given),
            lambda: host.person_of(identity),
        ):
            assert kind_of(call) == "approval_malformed"
        assert host.ticket(ticket).entry.answers == ()


def test_evidence_that_is_not_utf_8_is_kept_as_text(house):
    ticket = house.start()
    with house.host() as host:
        refused = {"provider": "web", "user": "nobody@corp"}
        assert kind_of(lambda: host.decide(ticket, approved=True, identity=refused, evidence="\udcff"))
        given = host.decide(ticket, approved=True, identity=BY_ALICE, evidence="\udcff")
        assert given.evidence == "\ufffd"
        assert host.decide(ticket, approved=True, identity=BY_ALICE, evidence="\udcff").timestamp == given.timestamp
    assert house.resume().document["status"] == "completed"


def test_refused_answers_use_nothing_up_and_are_bounded(house):
    ticket = house.start()
    stranger = {"provider": "slack", "tenant": "T9", "user": "U9"}
    with house.host() as host:
        for _ in range(30):
            assert kind_of(lambda: host.decide(ticket, approved=False, identity=stranger)) == "approver_unknown"
        assert len(house.refused(host)) == 20
        host.decide(ticket, approved=True, identity=IN_SLACK)
    assert house.resume().document["status"] == "completed"


def test_the_same_evidence_is_the_same_answer_and_two_clicks_are_one(tmp_path):
    house = House(tmp_path, rule={"min_approvers": 2})
    ticket = house.start()
    with house.host() as host:
        first = host.decide(ticket, approved=True, identity=IN_SLACK, evidence="e1")
        again = host.decide(ticket, approved=True, identity=IN_SLACK, evidence="e1")
        assert (again.timestamp, again.evidence) == (first.timestamp, "e1")
        assert len(host.ticket(ticket).entry.answers) == 1
        with ThreadPoolExecutor(8) as pool:
            said = list(
                pool.map(
                    lambda n: _kind(lambda: host.decide(ticket, approved=True, identity=BY_ALICE, evidence=f"w{n}")),
                    range(8),
                )
            )
        assert set(said) == {"ticket_duplicate"}
        assert host.ticket(ticket).entry.approvers == ("alice",)


def _kind(call) -> str:
    try:
        call()
    except GertError as error:
        return error.kind
    return ""


def test_without_people_an_identity_is_nobody(tmp_path):
    house = House(tmp_path, people={})
    ticket = house.start()
    with house.host() as host:
        assert kind_of(lambda: host.decide(ticket, approved=True, identity=BY_ALICE)) == "approver_unknown"


def test_where_people_have_keys_a_bridge_needs_the_key_that_the_policy_names(tmp_path):
    people = {**PEOPLE, "alice": {**PEOPLE["alice"], "keys": [ALICE_KEY]}}
    house = House(tmp_path, people=people, bridges={"web": {"keys": [WEB_KEY]}})
    ticket = house.start()
    with house.host() as host:
        assert kind_of(lambda: host.decide(ticket, approved=True, identity=BY_ALICE)) == "key_not_personal"
    with house.host(GERT_BRIDGE_SIGNING_KEY=EVE) as host:
        assert kind_of(lambda: host.decide(ticket, approved=True, identity=BY_ALICE)) == "key_not_personal"
    with house.host(GERT_BRIDGE_SIGNING_KEY_WEB=WEB) as host:
        assert kind_of(lambda: host.decide(ticket, approved=True, identity=IN_SLACK)) == "key_not_personal"
        given = host.decide(ticket, approved=True, identity=BY_ALICE)
        assert given.signature_alg == "ed25519"
    assert house.resume().document["status"] == "completed"


def test_bridges_never_satisfy_personal_keys(tmp_path):
    people = {**PEOPLE, "alice": {**PEOPLE["alice"], "keys": [ALICE_KEY]}}
    house = House(tmp_path, people=people, bridges={"web": {"keys": [WEB_KEY]}}, personal_keys=True)
    ticket = house.start()
    with house.host(GERT_BRIDGE_SIGNING_KEY=WEB) as host:
        assert kind_of(lambda: host.decide(ticket, approved=True, identity=BY_ALICE)) == "key_not_personal"


def test_bad_bridge_keys_are_named_without_being_shown(house):
    ticket = house.start()
    for text in ("hmac-sha256:QUFBQUFBQUFBQUFBQUFBQQ==", "nonsense!", "ed25519:QUFB"):
        with house.host(GERT_BRIDGE_SIGNING_KEY=text) as host:
            with pytest.raises(GertError) as caught:
                host.decide(ticket, approved=True, identity=BY_ALICE)
            assert caught.value.kind == "signature_key_unusable"
            assert text not in f"{caught.value.message} {caught.value.hint}"


def test_comments_are_seen_everywhere_and_answer_nothing(house):
    ticket = house.start()
    said = house.gert("approvals", "comment", ticket, "why <b>now</b>?", "--as", "bob")
    assert (said.code, said.out.strip()) == (0, f"bob about {ticket}: why <b>now</b>?")
    with house.host() as host:
        host.comment(ticket, "because of the alarm", by="alice")
        assert [one.text for one in host.ticket(ticket).comments] == ["why <b>now</b>?", "because of the alarm"]
        assert host.ticket(ticket).state.comments[0].by == "bob"
        assert host.ticket(ticket).status == "pending"
    shown = house.gert("approvals", "show", ticket)
    assert "because of the alarm" in shown.out
    listed = house.gert("approvals", "list", "--json").document["approvals"][0]
    assert [one["by"] for one in listed["comments"]] == ["bob", "alice"]
    assert house.gert("approvals", "comment", ticket, " ").code == 1
    assert house.gert("approvals", "comment", ticket, "x" * 5000).code == 1
    assert house.gert("approvals", "comment", "t-none", "x").code == 2
    assert house.resume().document["status"] == "approval_pending"


def test_personal_links(house):
    ticket = house.start()
    key = house.gert("keys", "new", "links", "--for", "link", "--json").document["private"]
    base = ("--base-url", "https://gert.example")
    assert house.gert("approvals", "link", ticket, "--for", "alice", *base).code == 2
    made = house.gert("approvals", "link", ticket, "--for", "alice", *base, GERT_LINK_SIGNING_KEY=key)
    assert made.code == 0, made.all
    assert made.out.startswith("https://gert.example/a/")
    token, secret = made.out.strip().rpartition("/")[2], b64decode(key.partition(":")[2])
    claims = read_link(token, secret)
    assert (claims.ticket, claims.person) == (ticket, "alice")
    with house.host() as host:
        host.use_link(claims)
        assert host.link_used(claims)
        assert kind_of(lambda: host.use_link(claims)) == "link_used"
    payload, _, mac = token.partition(".")
    for altered in (f"{payload}x.{mac}", f"{payload}.{mac[:-1]}0", payload, f"{payload}.", f"{payload}=.{mac}", "é.x"):
        if altered != token:
            with pytest.raises(ValueError, match="altered"):
                read_link(altered, secret)
    for wrong in (("--for", "eve", *base), ("--for", "alice"), ("--for", "alice", *base, "--expires", "soon")):
        said = house.gert("approvals", "link", ticket, *wrong, GERT_LINK_SIGNING_KEY=key)
        assert (said.code, said.out) == (2, "")


def test_the_key_of_a_bridge_is_made_with_its_place_in_the_policy(house):
    said = house.gert("keys", "new", "slack", "--for", "bridge")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[1].startswith("GERT_BRIDGE_SIGNING_KEY_SLACK=ed25519:")
    assert lines[3].startswith('bridges: {slack: {keys: ["ed25519:')
