"""What goes on because of the web: runs that are resumed here, questions that are answered, runs that are started."""

from __future__ import annotations

from html import unescape

from people import pair
from shell import wait_for
from webs import BEHIND, ME, PROXY_SECRET, policy, proxied

ASK = """
- id: look
  type: manual
  instructions: Look at the <dashboard>.
  required_evidence:
    - { name: order, kind: text }
    - { name: seen, kind: checklist, items: [price, mail] }
"""


def ended(lab, status="completed"):
    return wait_for(lambda: lab.json("runs", "list")["runs"][0]["status"] == status)


def test_a_run_is_resumed_here_when_its_ticket_is_decided(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web("--resume") as server:
        browser = server.browser()
        assert browser.decide(ticket).status_code == 303
        ended(lab)
        assert "approved" in browser.get(f"/tickets/{ticket}").text
    assert lab.path("changed").read_text() == "disk\n"


def test_a_run_is_resumed_here_when_it_was_answered_elsewhere(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web("--resume") as server:
        assert server.base
        lab.gert("approve", ticket, "--as", "bob")
        ended(lab)


def test_without_resume_the_page_shows_the_command(lab):
    lab.gated()
    ticket = lab.pending()
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    with lab.web() as server:
        browser = server.browser()
        hidden = browser.form(f"/tickets/{ticket}")
        assert browser.decide(ticket).status_code == 303
        assert f"gert resume --run {run}" in browser.get(f"/tickets/{ticket}").text
        assert "Resume the run here" not in browser.get(f"/runs/{run}").text
        assert browser.submit(f"/runs/{run}/resume", hidden).status_code == 403
    assert lab.json("runs", "show", run)["status"] == "approval_pending"


def test_the_command_names_the_secrets_that_the_run_needs_again(lab):
    lab.gated()
    text = lab.path("book.yaml").read_text()
    lab.path("book.yaml").write_text(
        text.replace("inputs: {", "inputs: { pw: { type: string, secret: true, required: true },", 1)
    )
    ticket = lab.pending("--var", "pw=hunter2hunter2")
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    with lab.web() as server:
        browser = server.browser()
        assert browser.decide(ticket).status_code == 303
        assert f"gert resume --run {run} --var 'pw=…'" in unescape(browser.get(f"/tickets/{ticket}").text)


def test_what_cannot_be_resumed_is_said_on_its_page(lab):
    lab.gated()
    ticket = lab.pending()
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    lab.book("- { id: fix, type: tool, tool: change, inputs: { what: other } }", tools="change")  # it drifted
    with lab.web("--resume") as server:
        browser = server.browser()
        assert browser.decide(ticket).status_code == 303
        wait_for(lambda: "could not be resumed here" in browser.get(f"/tickets/{ticket}").text)
        assert "could not be resumed here" in browser.get(f"/runs/{run}").text
    assert not lab.path("changed").exists()


def test_questions_are_answered_and_the_run_goes_on(lab):
    lab.book(ASK)
    lab.gert("exec", "book.yaml", "--questions", "suspend", code=None)
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    with lab.web("--resume") as server:
        browser = server.browser()
        assert f"/runs/{run}/answer/look" in browser.get(f"/runs/{run}").text
        page = browser.get(f"/runs/{run}/answer/look").text
        assert "Look at the &lt;dashboard&gt;." in page
        hidden = browser.form(f"/runs/{run}/answer/look")
        nothing = browser.submit(f"/runs/{run}/answer/look", {"form_token": hidden["form_token"]})
        assert nothing.status_code == 422
        said = hidden | {"answer:order": "4711", "answer:seen": "sent", "item:seen": ["1", "2"]}
        assert browser.submit(f"/runs/{run}/answer/look", said).status_code == 303
        ended(lab)
        assert browser.get(f"/runs/{run}/answer/look").status_code == 404
    (answered, *_) = lab.events("question_answered")
    assert answered["data"]["by"] == ME
    (done,) = [event for event in lab.events("step_complete") if event["step_key"] == "look"]
    assert done["data"]["outputs"] == {"order": "4711", "seen": {"price": True, "mail": True}}


def test_a_run_is_resumed_here_when_its_questions_were_answered_elsewhere(lab):
    lab.book(ASK)
    lab.gert("exec", "book.yaml", "--questions", "suspend", code=None)
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    with lab.web("--resume") as server:
        assert server.base
        lab.gert("answer", run, "look", "order=4711", "seen=all", "--as", "bob")
        ended(lab)


def test_a_person_declines(lab):
    lab.book(ASK)
    lab.gert("exec", "book.yaml", "--questions", "suspend", code=None)
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    with lab.web("--resume") as server:
        browser = server.browser()
        hidden = browser.form(f"/runs/{run}/answer/look")
        assert browser.submit(f"/runs/{run}/answer/look", hidden | {"decision": "decline"}).status_code == 422
        said = browser.submit(f"/runs/{run}/answer/look", hidden | {"decision": "decline", "reason": "not now"})
        assert said.status_code == 303
        ended(lab, "failed")


def test_a_person_starts_a_run_that_is_theirs(lab):
    lab.gated(policy())
    lab.write("other/broken.yaml", "apiVersion: kernel/v0\nmeta: { name: broken }\nsteps: [{ type: nope }]\n")
    with lab.web(*BEHIND, "--start", "--resume", PS=PROXY_SECRET) as server:
        alice, bob = proxied(server, "alice@corp"), proxied(server, "bob@corp")
        assert "book.yaml" in alice.get("/start").text
        hidden = alice.form("/start?runbook=book.yaml")
        for wrong in ("../book.yaml", "/etc/passwd", "gert-project.yaml", ""):
            assert alice.submit("/start", hidden | {"runbook": wrong, "mode": "real"}).status_code == 404
        assert alice.submit("/start", hidden | {"mode": "replay"}).status_code == 400
        assert alice.get("/start?runbook=other/broken.yaml").status_code == 422
        dry = alice.submit("/start", hidden | {"mode": "dry-run", "input:what": "tape"})
        assert dry.status_code == 200
        assert "Nothing was done" in dry.text
        went = alice.submit("/start", hidden | {"mode": "real", "input:what": "tape"})
        assert went.status_code == 303
        run = wait_for(lambda: lab.json("runs", "list")["runs"])[0]
        assert went.headers["location"] == f"/runs/{run['run_id']}"
        assert run["actor"] == "alice"
        ticket = wait_for(lambda: lab.json("approvals", "list")["approvals"])[0]["ticket_id"]
        assert "somebody else decides" in alice.get(f"/tickets/{ticket}").text
        assert bob.decide(ticket).status_code == 303
        ended(lab)
    assert lab.path("changed").read_text() == "tape\n"


def test_a_login_that_no_policy_knows_does_nothing_under_its_own_name(lab):
    lab.gated(policy(exclude_actor=True))
    ticket = lab.pending("--as", "olga")
    lab.write("ask.yaml", lab.path("book.yaml").read_text())
    lab.book(ASK)
    lab.gert("exec", "book.yaml", "--questions", "suspend", code=None)
    (asking,) = (one for one in lab.json("runs", "list")["runs"] if one["status"] == "answer_pending")
    page = f"/runs/{asking['run_id']}/answer/look"
    with lab.web(*BEHIND, "--start", "--resume", PS=PROXY_SECRET) as server:
        for user in ("bob", "olga", "ALICE@CORP", "eve@corp", "agent:boss"):
            stranger = proxied(server, user)
            hidden = stranger.form(f"/tickets/{ticket}")  # looking is not refused
            run = hidden | {"runbook": "ask.yaml", "input:what": "x"}
            for path, fields in (
                ("/start", run | {"mode": "real"}),
                ("/start", run | {"mode": "dry-run"}),
                (page, hidden | {"answer:order": "4711"}),
                (page, hidden | {"decision": "decline", "reason": "no"}),
                (f"/tickets/{ticket}/comment", hidden | {"text": "fine by me"}),
                (f"/runs/{asking['run_id']}/resume", hidden),
            ):
                refused = stranger.submit(path, fields)
                assert refused.status_code == 403, (user, path, refused.text)
                assert "No policy says who login" in refused.text
            assert stranger.get("/start").status_code == 403
        assert len(lab.json("runs", "list")["runs"]) == 2
        alice = proxied(server, "alice@corp")
        hidden = alice.form(f"/tickets/{ticket}")
        assert "The run is yours: alice." in alice.get("/start?runbook=ask.yaml").text
        assert alice.submit(f"/tickets/{ticket}/comment", hidden | {"text": "looks right"}).status_code == 303
        said = hidden | {"answer:order": "4711", "answer:seen": "sent", "item:seen": ["1", "2"]}
        assert alice.submit(page, said).status_code == 303
        ended(lab)
    assert {one["data"]["by"] for one in lab.events("question_answered")} == {"alice"}
    (comment,) = lab.json("approvals", "show", ticket)["comments"]
    assert comment["by"] == "alice"


def test_no_tool_is_given_the_secrets_of_the_server(lab):
    lab.program("tell", "env | sort > told; cat given")
    lab.tool("tell", '["tell"]', contract="{ effects: [network], writes: [service] }")
    lab.path("given").write_text(f"it is {PROXY_SECRET}, really")
    lab.gated(policy())
    lab.book("- { id: tell, type: tool, tool: tell }", tools="tell")
    ticket = lab.pending("--as", "olga")
    key, _ = pair(4)
    keys = {"GERT_LINK_SIGNING_KEY": "hmac-sha256:" + "a2tr" * 11 + "a2s=", "GERT_BRIDGE_SIGNING_KEY_WEB": key}
    with lab.web(*BEHIND, "--resume", PS=PROXY_SECRET, **keys) as server:
        assert proxied(server, "alice@corp").decide(ticket).status_code == 303
        ended(lab)
    told = lab.path("told").read_text()
    assert "PATH=" in told
    for secret in (PROXY_SECRET, *keys.values(), "GERT_LINK", "GERT_BRIDGE"):
        assert secret not in told
    kept = "".join(file.read_text() for file in lab.root.glob("runs/**/*") if file.is_file())
    assert "it is <REDACTED:GERT_WEB_PROXY_KEY>, really" in kept
    assert PROXY_SECRET not in kept


def test_nothing_is_started_without_the_option(served):
    _, _, _, browser = served
    assert browser.get("/start").status_code == 404
    assert 'href="/start"' not in browser.get("/runs").text
