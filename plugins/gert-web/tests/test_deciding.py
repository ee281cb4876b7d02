"""Approve and reject by forms: what is written, what the page says, and what is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from webs import ME

TWO = """
apiVersion: policy/v0
meta: { name: lab }
rules: [{ writes: [service], action: require-approval, min_approvers: 2 }]
"""


def test_a_person_approves_and_the_run_goes_on(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server:
        browser = server.browser()
        assert ticket in browser.get("/tickets").text
        page = browser.get(f"/tickets/{ticket}").text
        assert "change disk" in page
        answer = browser.decide(ticket, reason="change 4711")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/tickets/{ticket}")
        after = browser.get(f"/tickets/{ticket}").text
        assert "gert resume --run" in after
        assert "change 4711" in after
        assert ticket not in browser.get("/tickets").text
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    lab.gert("resume", "--run", run)
    assert lab.path("changed").read_text() == "disk\n"
    (answer,) = [*lab.events("approval_response")]
    assert (answer["data"]["approver_id"], answer["data"]["reason"]) == (ME, "change 4711")


def test_a_person_rejects_and_the_step_is_not_run(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server:
        assert server.browser().decide(ticket, "reject", reason="not today").status_code == 303
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    lab.gert("resume", "--run", run, code=1)
    assert not lab.path("changed").exists()


def test_two_people_are_needed(lab):
    lab.gated(TWO)
    ticket = lab.pending()
    with lab.web() as server:
        browser = server.browser()
        assert browser.decide(ticket).status_code == 303
        assert "1 of 2" in browser.get(f"/tickets/{ticket}").text
        again = browser.decide(ticket)
        assert again.status_code == 409
        assert "has answered" in again.text
    lab.gert("approve", ticket, "--as", "bob")
    assert lab.status(ticket) == "answered"


def test_two_clicks_at_once_count_once(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server:
        browser = server.browser()
        fields = browser.form(f"/tickets/{ticket}") | {"decision": "approve", "read": "yes"}
        with ThreadPoolExecutor(4) as pool:
            answers = list(
                pool.map(lambda _: browser.submit(f"/tickets/{ticket}/decide", fields).status_code, range(4))
            )
    assert answers.count(303) == 1
    assert set(answers) <= {303, 409, 410}
    assert lab.json("approvals", "show", ticket)["approvers"] == [ME]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"decision": "maybe"}, 400),
        ({"decision": ["approve", "reject"]}, 400),
        ({}, 400),
    ],
)
def test_a_form_that_says_nothing_decides_nothing(served, fields, status):
    lab, ticket, _, browser = served
    hidden = browser.form(f"/tickets/{ticket}")
    assert browser.submit(f"/tickets/{ticket}/decide", hidden | {"read": "yes"} | fields).status_code == status
    assert lab.status(ticket) == "pending"


def test_a_critical_step_is_approved_by_somebody_who_read_it(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server:
        browser = server.browser()
        risk = lab.json("approvals", "show", ticket)["request"]["risk_level"]
        assert risk in ("high", "critical")
        refused = browser.decide(ticket, read="")
        assert refused.status_code == 422
        assert "read" in refused.text
        assert lab.status(ticket) == "pending"
        assert browser.decide(ticket, "reject", read="").status_code == 303


def test_what_is_over_says_how_it_ended(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server:
        browser = server.browser()
        fields = browser.form(f"/tickets/{ticket}") | {"decision": "approve", "read": "yes"}
        lab.gert("reject", ticket, "--as", "bob", "--reason", "no")
        late = browser.submit(f"/tickets/{ticket}/decide", fields)
        assert late.status_code == 410
        page = browser.get(f"/tickets/{ticket}")
        assert page.status_code == 200
        assert "bob</b> rejected" in page.text
        assert 'value="approve"' not in page.text


def test_a_ticket_that_was_altered_is_a_conflict(lab):
    lab.gated()
    ticket = lab.pending()
    (file,) = (lab.root / "runs").glob(f"*/tickets/{ticket}.json")
    file.write_text(file.read_text().replace("disk", "dusk"))
    with lab.web() as server:
        browser = server.browser()
        assert browser.get(f"/tickets/{ticket}").status_code == 409
        assert browser.get("/tickets").status_code == 200


def test_the_requester_has_no_buttons_and_is_refused(lab):
    lab.gated()
    ticket = lab.pending("--as", ME.upper())
    other = lab.pending("--as", "olga")
    with lab.web() as server:
        browser = server.browser()
        page = browser.get(f"/tickets/{ticket}").text
        assert "somebody else decides" in page
        assert 'value="approve"' not in page
        hidden = browser.form(f"/tickets/{other}")
        refused = browser.submit(f"/tickets/{ticket}/decide", hidden | {"decision": "approve", "read": "yes"})
        assert refused.status_code == 403
        assert lab.status(ticket) == "pending"


def test_a_project_leaves_it_to_the_rules_who_decides(lab):
    lab.gated()
    text = lab.path("gert-project.yaml").read_text()
    lab.write("gert-project.yaml", text.replace("provider: inbox", "provider: inbox, config: { allow_self: true }"))
    ticket = lab.pending("--as", ME)
    with lab.web() as server:
        assert server.browser().decide(ticket).status_code == 303
    assert lab.status(ticket) == "answered"


def test_a_rule_that_leaves_out_the_actor_means_the_user_who_started_it_too(lab):
    lab.gated(TWO.replace("min_approvers: 2", "exclude_actor: true"))
    ticket = lab.pending("--as", "olga")  # a claim: the user is this one
    with lab.web() as server:
        browser = server.browser()
        assert "somebody else decides" in browser.get(f"/tickets/{ticket}").text


def test_people_talk_about_a_ticket_and_that_is_no_answer(lab):
    lab.gated()
    ticket = lab.pending()
    lab.gert("approvals", "comment", ticket, "Why <b>now</b>?", "--as", "bob")
    with lab.web() as server:
        browser = server.browser()
        hidden = browser.form(f"/tickets/{ticket}")
        said = browser.submit(f"/tickets/{ticket}/comment", hidden | {"text": "Because of\nchange 4711"})
        assert said.status_code == 303
        page = browser.get(f"/tickets/{ticket}").text
        assert "Why &lt;b&gt;now&lt;/b&gt;?" in page
        assert "Because of\nchange 4711" in page
        assert "2 remarks" in browser.get("/tickets").text
        assert browser.submit(f"/tickets/{ticket}/comment", hidden | {"text": "  "}).status_code == 422
    assert lab.status(ticket) == "pending"
    assert [one["by"] for one in lab.json("approvals", "show", ticket)["comments"]] == ["bob", ME]
