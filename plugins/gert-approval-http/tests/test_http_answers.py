"""Whole runs: a request to a service, its answer by signature, by token or fetched, and the run goes on."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request

import pytest
from gert_approval_http.answers import read_answer
from gert_http import is_signed, signature
from messaging import CALLBACKS, REQUESTS
from people import pair

from gert_core.api import ApprovalResponse
from gert_core.approvals import sign_response
from gert_core.testing.receivers import RESET


def post(url, document, headers=None):
    """Post an answer, and return status and document."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    request = urllib.request.Request(url, data=body, headers=headers or {}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"{}")


def by_service(document, *, key=CALLBACKS, at=None):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return {"Gert-Signature": signature(key, body, at=int(time.time() if at is None else at))}


def answer(ticket, who="alice@corp", approved=True, **more):
    return {"ticket_id": ticket, "approved": approved, "approver_id": who, **more}


def bearer(sent):
    return {"Authorization": f"Bearer {sent['callback']['token']}"}


@pytest.fixture
def asked(project, service, door):
    """A run that waits, and the request that the service got."""
    project.run = project.execute()
    (got,) = service.got
    return got.document


def resumed(project):
    return project.json("resume", "--run", project.run["run_id"], code=None)["status"]


def untouched(project):
    assert list(project.root.glob("runs/*/tickets/*.answers/*.json")) == []
    assert (resumed(project), project.changed()) == ("approval_pending", False)


def test_the_service_gets_the_whole_request_signed(project, service, asked, door):
    ticket = project.ticket()
    (got,) = service.got
    assert got.path == "/requests"
    assert is_signed(REQUESTS, got.body, got.headers["gert-signature"], now=time.time())
    assert got.headers["gert-delivery"] == ticket
    assert (asked["event"], asked["repeat"], asked["since_last"]) == ("approval_requested", False, None)
    assert asked["callback"]["url"] == door.url(f"http/{ticket}")
    request = asked["request"]
    assert (request["ticket_id"], request["command"], request["risk_level"]) == (ticket, ["change", "disk"], "critical")
    held = [
        file for file in project.root.rglob("*") if file.is_file() and asked["callback"]["token"] in file.read_text()
    ]
    assert held == [], "only the hash of the token is kept"


def test_a_signed_answer_of_the_service_approves(project, asked):
    document = answer(project.ticket(), reason="looked at it")
    said = post(asked["callback"]["url"], document, by_service(document))
    assert said == (200, {"status": "answered", "approvers": ["alice"]})
    assert post(asked["callback"]["url"], document, by_service(document))[0] == 200
    assert resumed(project) == "completed"
    (given,) = project.events("approval_response")
    assert given["data"]["identity"] == {"provider": "http", "user": "alice@corp"}
    assert (given["data"]["verified"], given["data"]["reason"]) == (True, "looked at it")


def test_a_signed_answer_of_the_service_rejects(project, asked):
    document = answer(project.ticket(), approved=False)
    assert post(asked["callback"]["url"], document, by_service(document))[0] == 200
    assert (resumed(project), project.changed()) == ("failed", False)


def test_the_token_alone_counts_where_no_signature_is_wanted(project, service, door):
    project.settle(require_signed_approvals=False, bridges={})
    project.run = project.execute()
    sent = service.got[-1].document
    ticket = sent["request"]["ticket_id"]
    document = answer(ticket)
    assert post(sent["callback"]["url"], document, bearer(sent))[0] == 200
    again = post(sent["callback"]["url"], answer(ticket, "bob@corp"), bearer(sent))
    assert (again[0], again[1]["error"]["kind"]) == (410, "ticket_resolved")
    assert resumed(project) == "completed"
    assert post(sent["callback"]["url"], answer(ticket, "bob@corp"), bearer(sent))[0] == 410, "the run is over"


@pytest.mark.parametrize("resumes", [0, 1, 2])
def test_every_token_counts_that_was_sent_for_a_ticket(project, service, door, resumes):
    """The reply to the first request was lost: the service has its token, and may have another one since."""
    project.settle(require_signed_approvals=False, bridges={})
    service.answers = [RESET] * 3 + [503] * 3 + [200]
    project.run = project.execute()
    for _ in range(resumes):
        assert resumed(project) == "approval_pending"
    first, last = service.got[0].document, service.got[-1].document
    ticket = first["request"]["ticket_id"]
    other = {"Authorization": "Bearer " + "x" * 43}
    assert post(first["callback"]["url"], answer(ticket), other)[0] == 401
    assert post(first["callback"]["url"], answer(ticket), bearer(first))[0] == 200
    assert post(first["callback"]["url"], answer(ticket, "bob@corp"), bearer(last))[0] == 410
    assert resumed(project) == "completed"
    tokens = {got.document["callback"]["token"] for got in service.got}
    assert len(tokens) == resumes + 1
    held = [
        file for file in project.root.rglob("*") if file.is_file() and any(one in file.read_text() for one in tokens)
    ]
    assert held == []


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("mark", ["", "AAAA"])
def test_a_signature_that_nothing_verifies_makes_nobody_of_a_claim(project, service, door, mark, approved):
    """What is signed is taken as it is, with the person and the identity in it."""
    project.settle(require_signed_approvals=False, bridges={})
    project.run = project.execute()
    sent = service.got[-1].document
    signed = {"signature": mark, "signature_alg": "ed25519", "key_id": "mine", "method": "slack"}
    document = answer(sent["request"]["ticket_id"], "alice", approved, **signed)
    status, said = post(sent["callback"]["url"], document, bearer(sent))
    assert (status, said["error"]["kind"]) == (403, "key_not_personal")
    untouched(project)


def test_the_token_alone_does_not_where_one_is(project, asked):
    """The run made the token: who starts a run could answer for anybody."""
    status, said = post(asked["callback"]["url"], answer(project.ticket()), bearer(asked))
    assert (status, said["error"]["kind"]) == (403, "key_not_personal")
    untouched(project)


def test_an_answer_that_the_person_signed_counts_with_the_token(project, service, door):
    from gert_signature_ed25519 import gert_signature_schemes

    from gert_core.keys import parse_key
    from gert_core.plugin.lazy import load_target

    private, public = pair(3)
    project.people["alice"]["keys"] = [public]
    project.settle()
    project.run = project.execute()
    sent = service.got[-1].document
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    given = ApprovalResponse(
        ticket_id=project.ticket(), approved=True, approver_id="alice", method="http", timestamp=stamp
    )
    (scheme,) = gert_signature_schemes()
    assert load_target(scheme.sign)
    key = parse_key(private, name="x").data
    mine = sign_response(given, request_hash=sent["request"]["request_hash"], scheme=scheme, key=key)
    forged = {**mine.to_json(), "approved": True, "timestamp": stamp.replace("T", "t")}
    assert post(sent["callback"]["url"], forged, bearer(sent))[0] == 403
    other = sign_response(given, request_hash="0" * 64, scheme=scheme, key=key)
    assert post(sent["callback"]["url"], other.to_json(), bearer(sent))[0] == 403
    assert post(sent["callback"]["url"], mine.to_json(), bearer(sent))[0] == 200
    assert post(sent["callback"]["url"], mine.to_json(), bearer(sent))[0] == 200
    assert len(list(project.root.glob("runs/*/tickets/*.answers/*.json"))) == 1
    assert resumed(project) == "completed"


# -- ten ways to cheat -------------------------------------------------------------------------------------------


def test_without_token_or_signature(project, asked):
    url, document = asked["callback"]["url"], answer(project.ticket())
    token = asked["callback"]["token"]
    for headers in (
        {},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer x"},
        {"Authorization": token},
        {"Authorization": f"bearer {token}"},
        {"Authorization": f"Bearer {token} "[:-2]},
        {"Authorization": f"Basic {token}"},
        {"Gert-Signature": "t=1,v1=" + "0" * 64},
        {"Cookie": f"token={token}"},
    ):
        assert post(url, document, headers)[0] == 401, headers
    assert post(f"{url}?token={token}", document)[0] in (401, 404)
    untouched(project)


def test_a_forged_stale_or_future_signature(project, asked):
    url, document = asked["callback"]["url"], answer(project.ticket())
    for headers in (
        by_service(document, key=REQUESTS),
        by_service(document, at=time.time() - 301),
        by_service(document, at=time.time() + 301),
        by_service({**document, "approver_id": "bob@corp"}),
        {"Gert-Signature": by_service(document)["Gert-Signature"].upper()},
        {"Gert-Signature": by_service(document)["Gert-Signature"] + ",v1=" + "0" * 64},
    ):
        assert post(url, document, headers)[0] == 401, headers
    spaced = json.dumps(document, indent=1).encode()
    assert post(url, spaced, by_service(document))[0] == 401, "encoded anew"
    untouched(project)


def test_the_token_or_the_answer_of_another_ticket(project, service, asked):
    project.runbook("other")
    other = project.execute()
    second = service.got[-1].document
    assert second["callback"]["url"] != asked["callback"]["url"]
    mine = answer(asked["request"]["ticket_id"])
    assert post(asked["callback"]["url"], mine, bearer(second))[0] == 401
    document = answer(second["request"]["ticket_id"])
    assert post(asked["callback"]["url"], document, by_service(document))[0] == 400
    assert other["run_id"] != project.run["run_id"]
    project.runbook("disk")
    untouched(project)


@pytest.mark.parametrize(
    ("who", "status", "kind"),
    [
        ("alice", 403, "approver_unknown"),
        ("nobody@corp", 403, "approver_unknown"),
        ("olga@corp", 403, "ticket_own_actor"),
        ("agent:bot", 403, "approver_unknown"),
        ("", 403, "approver_unknown"),
        ("mallory@corp", 403, "approval_not_allowed"),
        ("alice@corp\u200b", 403, "approver_unknown"),
    ],
)
def test_who_may_not_approve(project, service, door, who, status, kind):
    project.settle(rule={"approvers": ["alice", "olga"]})
    project.run = project.execute()
    sent = service.got[-1].document
    document = answer(project.ticket(), who)
    said = post(sent["callback"]["url"], document, by_service(document))
    assert (said[0], said[1]["error"]["kind"]) == (status, kind)
    untouched(project)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"ticket_id": 1}',
        b"\xff",
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_what_is_not_an_answer(project, asked, body):
    assert post(asked["callback"]["url"], body, by_service(body))[0] in (400, 413)
    untouched(project)


@pytest.mark.parametrize(
    "change",
    [
        {"approved": "true"},
        {"approved": 1},
        {"approved": None},
        {"uid": 0},
        {"written": "2026-01-01T00:00:00Z"},
        {"extra": 1},
        {"approver_id": None},
        {"reason": "x" * 3000},
    ],
)
def test_fields_of_other_types_or_names(project, asked, change):
    document = {**answer(project.ticket()), **change}
    assert post(asked["callback"]["url"], document, by_service(document))[0] == 400
    untouched(project)


def twice(ticket, more):
    """Return an answer as bytes, with what stands in it a second time."""
    return json.dumps(answer(ticket, approved=False)).removesuffix("}").encode() + b", " + more + b"}"


TWICE = [
    b'"approved": true',
    b'"approved": false',
    b'"\\u0061pproved": true',
    b'"approver_id": "bob@corp"',
    b'"identity": {"provider": "http", "user": "olga@corp", "user": "alice@corp"}',
]


@pytest.mark.parametrize("more", TWICE)
def test_a_field_that_is_given_twice(project, asked, more):
    body = twice(project.ticket(), more)
    status, said = post(asked["callback"]["url"], body, by_service(body))
    assert (status, said["error"]["message"]) == (400, "it is not an ApprovalResponse, or has a field twice")
    untouched(project)


def test_the_identity_in_an_answer_is_not_believed(project, asked):
    document = answer(project.ticket(), "nobody@corp", identity={"provider": "http", "user": "alice@corp"})
    assert post(asked["callback"]["url"], document, by_service(document))[0] == 403
    untouched(project)


@pytest.mark.parametrize("approved", [True, False])
def test_a_planted_answer_keeps_none_of_the_service_out(project, asked, approved):
    """What a service will post can be guessed: an answer in these words that was written before is not that answer."""
    ticket, body = project.ticket(), json.dumps(answer(project.ticket(), approved=approved)).encode()
    planted = {"ticket_id": ticket, "approved": True, "approver_id": "alice", "method": "http"}
    planted |= {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    planted |= {"identity": {"provider": "http", "user": "alice@corp"}, "evidence": read_answer(body, ticket).evidence}
    (tickets,) = project.root.glob("runs/*/tickets")
    file = tickets / f"{ticket}.answers" / "0001-aaaaaaaaaaaa.json"
    file.parent.mkdir(mode=0o700)
    file.write_text(json.dumps(planted))
    said = post(asked["callback"]["url"], body, by_service(body))
    assert said == (200, {"status": "answered", "approvers": ["alice"] if approved else []})
    assert post(asked["callback"]["url"], body, by_service(body)) == said
    assert len(list(file.parent.glob("*.json"))) == 2, "the answer that was received, once, beside the planted one"
    assert (resumed(project), project.changed()) == (("completed", True) if approved else ("failed", False))


def test_other_paths(project, asked, door):
    document = answer(project.ticket())
    for path in ("http", "http/", "http/t-0123", "http/..%2Fx", f"http/{project.ticket()}/x"):
        assert post(door.url(path), document, by_service(document))[0] in (400, 404), path
    untouched(project)


def test_refused_answers_do_not_fill_the_disk(project, asked):
    for number in range(30):
        post(asked["callback"]["url"], answer(project.ticket(), f"nobody{number}@corp"), bearer(asked))
    assert len(list(project.root.glob("runs/*/tickets/*.refused/**/*.json"))) == 20
    untouched(project)


# -- polling -----------------------------------------------------------------------------------------------------


@pytest.fixture
def polled(project, service):
    project.config.clear()
    project.config.update({"url": service.url("/requests"), "poll": {"url": service.url("/answers")}})
    project.settle(require_signed_approvals=False, bridges={})
    return project


def fetched(found):
    """What the service answers: requests are taken, answers are as given."""

    def reply(got):
        if got.method == "POST":
            return 200
        return found if not isinstance(found, (dict, list)) else (200, {"body": json.dumps(found).encode()})

    return reply


def test_answers_are_fetched_when_the_run_is_resumed(polled, service):
    service.answers = [fetched(404)]
    polled.run = polled.execute()
    assert "callback" not in service.got[0].document
    assert service.got[1].path == f"/answers/{polled.ticket()}"
    service.answers = [fetched(answer(polled.ticket()))]
    assert resumed(polled) == "completed"


def test_a_run_waits_for_an_answer_that_is_fetched(polled, service):
    polled.config["wait"] = 30
    polled.settle(require_signed_approvals=False, bridges={})
    service.answers = [fetched(204)]
    running = polled.start("exec", "book.yaml", "--json")
    service.until(2)
    service.answers = [fetched([answer(service.got[0].document["request"]["ticket_id"])])]
    out, err = running.communicate(timeout=60)
    assert json.loads(out)["status"] == "completed", err


@pytest.mark.parametrize(
    "found",
    [500, RESET, (200, {"body": b"x"}), {"ticket_id": "t-other", "approved": True, "approver_id": "alice@corp"}, 302],
)
def test_what_cannot_be_fetched_is_said_and_the_ticket_stays_open(polled, service, found):
    service.answers = [fetched(found)]
    done = polled.gert("exec", "book.yaml", code=None)
    assert "Approval pending" in done.stdout
    assert "cannot be fetched" in done.stderr
    assert not polled.changed()


def test_what_is_fetched_has_no_field_twice(polled, service):
    service.answers = [fetched(404)]
    polled.run = polled.execute()
    one = twice(polled.ticket(), b'"approved": true')
    for body in (one, b"[" + one + b"]"):
        service.answers = [fetched((200, {"body": body}))]
        untouched(polled)


def test_fetched_answers_count_with_the_persons_signature_only_where_that_is_wanted(polled, service):
    polled.settle()
    service.answers = [fetched(404)]
    polled.run = polled.execute()
    service.answers = [fetched(answer(polled.ticket()))]
    assert (resumed(polled), polled.changed()) == ("approval_pending", False)
