"""Who somebody is: the address that is printed, the header of a proxy, and personal links; each with its cheats."""

from __future__ import annotations

import base64
import json
import re

import httpx2
import pytest
from webs import BEHIND, ME, PROXY_SECRET, policy, proxied

from gert_core.kit.links import sign_link

LINK_KEY = "hmac-sha256:" + base64.b64encode(b"k" * 32).decode()


# -- token: one person, by an address that is printed ------------------------------------------------------------


def test_the_printed_address_opens_one_session(served):
    _, _, server, _ = served
    first = server.login
    browser = server.browser()
    assert first != server.login
    cookie = next(cookie for cookie in browser.cookies.jar if cookie.name.endswith("_login"))
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "lax"
    other = server.browser(login=False)
    assert other.get(first).status_code == 410
    assert other.get("/tickets").status_code == 401
    assert browser.get(first).status_code == 303  # it has a session already


@pytest.mark.parametrize("path", ["/tickets", "/runs", "/outcomes", "/api/runs", "/api/tickets", "/runs/latest"])
def test_without_a_session_there_is_nothing_to_see(served, path):
    _lab, ticket, server, _ = served
    stranger = server.browser(login=False)
    for headers in ({}, {"X-User": "alice"}, {"X-Forwarded-User": "alice"}, {"Authorization": "Bearer x"}):
        answer = stranger.get(path, headers=headers)
        assert answer.status_code == 401, path
        assert ticket not in answer.text


def test_a_wrong_token_opens_nothing(served):
    _, _, server, _ = served
    stranger = server.browser(login=False)
    for token in ("x", "%00", "ä"):
        assert stranger.get(f"/login/{token}").status_code in (404, 410)
    assert not list(stranger.cookies.jar)


# -- header: people whom a proxy names ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    """A server behind a proxy, and a ticket of olga's that two people decide."""
    from webs import WebLab

    lab = WebLab(tmp_path_factory.mktemp("behind"))
    lab.gated(policy(min_approvers=2, exclude_actor=True))
    ticket = lab.pending("--as", "olga")
    with lab.web(*BEHIND, PS=PROXY_SECRET) as server:
        yield lab, ticket, server
    lab.close()


def test_the_proxy_says_who_it_is(behind):
    _, ticket, server = behind
    page = proxied(server, "alice@corp").get(f"/tickets/{ticket}")
    assert page.status_code == 200
    assert "You decide as alice@corp" in page.text


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("X-User", "alice@corp")],
        [("X-User", "alice@corp"), ("Gert-Proxy-Secret", "guess")],
        [("X-User", "alice@corp"), ("Gert-Proxy-Secret", "")],
        [("Gert-Proxy-Secret", PROXY_SECRET)],
        [("X-User", ""), ("Gert-Proxy-Secret", PROXY_SECRET)],
        [("X-User", "alice@corp"), ("X-User", "bob@corp"), ("Gert-Proxy-Secret", PROXY_SECRET)],
        [("X-User", "alice@corp"), ("X-User", "alice@corp"), ("Gert-Proxy-Secret", PROXY_SECRET)],
        [("X_User", "bob@corp"), ("Gert-Proxy-Secret", PROXY_SECRET)],
        [("X-User", "alice@corp"), ("X_User", "bob@corp"), ("Gert-Proxy-Secret", PROXY_SECRET)],
        [("X-User", "alice@corp"), ("Gert-Proxy-Secret", PROXY_SECRET), ("Gert_Proxy_Secret", PROXY_SECRET)],
        [("X-User", b"al\xffice"), ("Gert-Proxy-Secret", PROXY_SECRET)],
        [("X-User", "al\u200bice@corp".encode()), ("Gert-Proxy-Secret", PROXY_SECRET)],
    ],
)
def test_a_header_that_is_foreign_doubled_or_empty_is_refused(behind, headers):
    _, ticket, server = behind
    answer = httpx2.get(f"{server.base}/tickets/{ticket}", headers=headers, trust_env=False)
    assert answer.status_code == 403
    assert "change disk" not in answer.text


def test_a_peer_that_is_not_the_proxy_is_refused(lab):
    words = ("--auth", "header", "--trust-header", "X-User", "--trusted-proxy", "10.1.2.3/32")
    lab.gated(policy())
    with lab.web(*words) as server:
        answer = server.browser(login=False).get(
            "/tickets", headers={"X-User": "alice@corp", "X-Forwarded-For": "10.1.2.3"}
        )
        assert answer.status_code == 403
        assert "did not come through the proxy" in answer.text
        assert server.browser(login=False).get("/healthz").status_code == 200
        assert server.browser(login=False).get("/login/x").status_code == 404


def test_two_people_decide_and_the_trace_says_who(behind):
    lab, ticket, server = behind
    for user, name in (
        ("eve@corp", "no policy says who"),
        ("olga@corp", "somebody else decides"),
        ("agent:x", "no policy"),
    ):
        refused = _decided(proxied(server, user), ticket)
        assert refused.status_code == 403, user
        assert name in refused.text
    first = _decided(proxied(server, "alice@corp"), ticket)
    assert first.status_code == 303
    assert _decided(proxied(server, "alice@corp"), ticket, reason="again").status_code == 409
    assert _decided(proxied(server, "bob@corp"), ticket).status_code == 303
    assert _decided(proxied(server, "bob@corp"), ticket, reason="late").status_code == 410
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    lab.gert("resume", "--run", run)
    answers = lab.events("approval_response")
    assert [one["data"]["approver_id"] for one in answers] == ["alice", "bob"]
    assert answers[0]["data"]["identity"] == {"provider": "web", "user": "alice@corp"}
    assert re.fullmatch("[0-9a-f]{64}", answers[0]["data"]["evidence"])


def _decided(browser, ticket, **fields):
    """Approve with the forms of this person; one without a form on the page uses that of the comments."""
    hidden = browser.form(f"/tickets/{ticket}")
    return browser.submit(f"/tickets/{ticket}/decide", hidden | {"decision": "approve", "read": "yes"} | fields)


def test_the_form_of_one_person_is_not_that_of_another(behind):
    _, ticket, server = behind
    alice, bob = proxied(server, "alice@corp"), proxied(server, "bob@corp")
    hidden = alice.form(f"/tickets/{ticket}")
    bob.form(f"/tickets/{ticket}")
    taken = bob.submit(f"/tickets/{ticket}/comment", hidden | {"text": "I am bob"})
    assert taken.status_code == 403


# -- signed links: one person, one ticket, one use ---------------------------------------------------------------


@pytest.fixture
def linked(lab):
    lab.gated(policy(min_approvers=2))  # so that one answer does not close the ticket
    ticket = lab.pending("--as", "olga")
    said = lab.gert(
        "approvals", "link", ticket, "--for", "alice", "--base-url", "http://x", GERT_LINK_SIGNING_KEY=LINK_KEY
    )
    path = re.search(r"http://x(/a/\S+)", said.stdout)[1]
    with lab.web(GERT_LINK_SIGNING_KEY=LINK_KEY) as server:
        yield lab, ticket, path, server


def test_a_link_shows_and_then_decides_once(linked):
    lab, ticket, path, server = linked
    browser = server.browser(login=False)
    for _ in range(3):  # scanners of mail follow links
        page = browser.get(path)
        assert page.status_code == 200
    assert "You decide as alice" in page.text
    assert 'href="/runs' not in page.text
    assert browser.get(f"/tickets/{ticket}").status_code == 401
    fields = browser.form(path) | {"decision": "approve", "read": "yes", "reason": "by phone"}
    assert browser.submit(path, fields).status_code == 303
    used = browser.get(path)
    assert used.status_code == 410
    assert "This link was used" in used.text
    assert "by phone" in used.text  # how it ended
    assert browser.submit(path, fields).status_code == 410
    assert browser.submit(path, fields | {"decision": "reject"}).status_code == 410
    assert lab.json("approvals", "show", ticket)["approvers"] == ["alice"]


def test_a_link_that_is_used_by_two_at_once_decides_once(linked):
    from concurrent.futures import ThreadPoolExecutor

    lab, ticket, path, server = linked
    browser = server.browser(login=False)
    fields = browser.form(path) | {"decision": "approve", "read": "yes"}
    said = [fields | {"reason": str(number)} for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda one: browser.submit(path, one).status_code, said))
    assert sorted(codes) == [303, 410, 410, 410]
    assert len(list((lab.root / "runs").glob(f"*/tickets/{ticket}.answers/*"))) == 1


def test_an_altered_link_is_a_conflict(linked):
    lab, ticket, path, server = linked
    browser = server.browser(login=False)
    payload, _, mac = path.removeprefix("/a/").partition(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    other = base64.urlsafe_b64encode(json.dumps(claims | {"person": "bob"}).encode()).decode().rstrip("=")
    again = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")  # the same, encoded anew
    key = b"another key that is long enough....."
    from datetime import UTC, datetime, timedelta

    forged = sign_link(ticket, "alice", expires=datetime.now(UTC) + timedelta(hours=1), key=key)
    cheats = [
        f"{other}.{mac}",
        f"{again}.{mac}",
        f"{payload}=.{mac}",
        f"{payload}.{mac.upper()}",
        f"{payload}.",
        payload,
    ]
    for token in (*cheats, forged, "x", f"{payload}.{mac}x"):
        answer = browser.get(f"/a/{token}")
        assert answer.status_code == 409, token
        assert "change disk" not in answer.text
    assert lab.status(ticket) == "pending"


def test_a_stale_link_is_over(linked):
    from datetime import UTC, datetime, timedelta

    _lab, ticket, _, server = linked
    token = sign_link(ticket, "alice", expires=datetime.now(UTC) - timedelta(seconds=2), key=b"k" * 32)
    answer = server.browser(login=False).get(f"/a/{token}")
    assert answer.status_code == 410
    assert "too old" in answer.text


def test_a_link_is_for_its_ticket_and_its_form_needs_its_cookie(linked):
    lab, ticket, path, server = linked
    browser = server.browser(login=False)
    fields = browser.form(path) | {"decision": "approve", "read": "yes"}
    assert server.browser(login=False).submit(path, fields).status_code == 403
    assert browser.submit(path, fields, Origin="https://evil.example").status_code == 403
    assert browser.submit(f"/tickets/{ticket}/decide", fields).status_code == 401
    assert browser.submit(f"/tickets/{ticket}/comment", fields | {"text": "x"}).status_code == 401
    assert lab.status(ticket) == "pending"


def test_without_a_key_there_are_no_links(served):
    _, _ticket, server, _ = served
    assert server.browser(login=False).get("/a/x.y").status_code == 404


def test_the_person_with_the_token_is_the_user_of_the_process(served):
    _, _, _, browser = served
    assert f">{ME}</p>" in browser.get("/tickets").text
