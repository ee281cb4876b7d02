"""What the pages show: everything about a ticket and a run, hostile text as text, secrets never, JSON as the commands."""

from __future__ import annotations

import json
from html import unescape

import pytest
from many_runs import write_runs
from webs import INPUTS

EVIL = "</pre></title><script>alert(1)</script><img src=x onerror=alert(1)> \u202eabc\u200b \x1b[31m'\""


@pytest.mark.parametrize(
    "path",
    [
        "/tickets",
        "/tickets?all=1",
        "/runs",
        "/runs?status=approval_pending",
        "/runs?runbook=nope",
        "/runs?from=50",
        "/runs?from=x",
        "/outcomes",
        "/outcomes?since=&by=actor&steps=1",
        "/outcomes?since=24h&by=day",
    ],
)
def test_every_page_is_whole(served, path):
    _, _, _, browser = served
    page = browser.get(path)
    assert page.status_code == 200, page.text
    assert page.text.startswith("<!DOCTYPE html>")
    assert page.text.rstrip().endswith("</html>")
    assert page.headers["content-type"] == "text/html; charset=utf-8"


def test_the_way_in_is_the_inbox(served):
    _, _, _, browser = served
    assert browser.get("/").headers["location"] == "/tickets"


@pytest.mark.parametrize(("path", "status"), [("/outcomes?by=moon", 400), ("/outcomes?since=soon", 422)])
def test_what_makes_no_sense_is_said(served, path, status):
    _, _, _, browser = served
    assert browser.get(path).status_code == status


def test_a_ticket_shows_what_its_approval_means(lab):
    lab.gated()
    first = lab.pending()
    lab.gert("approve", first, "--as", "bob")
    lab.gert("resume", "--run", "latest")
    second = lab.pending("--var", "what=memory")
    shown = lab.json("approvals", "show", second)["request"]
    with lab.web() as server:
        page = unescape(server.browser().get(f"/tickets/{second}").text)
    for text in (
        "change memory",
        str(lab.path("bin/change")),
        "Change the disk",
        f"{shown['risk_level']} risk",
        "service",
        "not idempotent",
        shown["rule"],
        "olga",
        "0 of 1",
        "1 of 1 resolved or no action",
        shown["request_hash"],
        shown["run_id"],
        "change disk",  # before
        "by bob",
        "expires",
    ):
        assert text in page, text


def test_a_run_shows_steps_output_timeline_and_what_is_next(lab):
    lab.book(
        """
        - { id: hello, type: tool, tool: say, inputs: { text: "good morning" } }
        - { id: fail, type: tool, tool: bad }
        """,
        tools="say, bad",
    )
    lab.program("bad", "echo it is broken >&2; exit 3")
    lab.tool("bad", '["bad"]')
    lab.gert("exec", "book.yaml", code=1)
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    with lab.web() as server:
        browser = server.browser()
        page = unescape(browser.get(f"/runs/{run}").text)
        assert browser.get("/runs/latest").headers["location"] == f"/runs/{run}"
    for text in ("good morning", "it is broken", "exit code 3", "started", "olga", f"gert resume --run {run}", "fail"):
        assert text in page, text
    assert "data-events" not in page  # it is over


def test_hostile_text_stays_text_in_every_field(lab):
    lab.write(
        "gert-project.yaml",
        "name: lab\npolicies: [policy.yaml]\napprovals: { provider: inbox }\n",
    )
    lab.write(
        "policy.yaml",
        "apiVersion: policy/v0\nmeta: { name: lab }\nrules: [{ writes: [service], action: require-approval }]\n",
    )
    lab.book(
        f"- {{ id: fix, type: tool, tool: change, description: {json.dumps(EVIL)}, inputs: {{ what: '{{{{ .what }}}}' }} }}",
        tools="change",
        meta=INPUTS + f"\ndescription: {json.dumps(EVIL)}",
    )
    ticket = lab.pending("--var", f"what={EVIL}")
    lab.gert("approvals", "comment", ticket, f"{EVIL} {{{{ 7*7 }}}}", "--as", "bob")
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    with lab.web("--start") as server:
        browser = server.browser()
        assert browser.decide(ticket, "reject", reason=EVIL).status_code == 303
        lab.gert("resume", "--run", run, code=1)
        for path in (
            f"/tickets/{ticket}",
            "/tickets?all=1",
            "/runs",
            f"/runs/{run}",
            "/start?runbook=book.yaml",
            "/outcomes",
        ):
            text = browser.get(path).text
            assert "<script>alert" not in text, path
            assert "<img" not in text, path
            assert "\u202e" not in text, path
            assert "\u200b" not in text, path
            assert "\x1b" not in text, path
        page = browser.get(f"/tickets/{ticket}").text
        assert r"\u202eabc\u200b \u001b[31m" in page
        assert "&lt;script&gt;alert(1)" in page
        assert "{{ 7*7 }}" in page
        searched = browser.get("/runs", params={"runbook": EVIL, "status": EVIL}).text
        assert "<script>alert" not in searched


def test_secrets_are_masked_on_every_page(lab):
    lab.write("gert-project.yaml", "name: lab\npolicies: [policy.yaml]\napprovals: { provider: inbox }\n")
    lab.write(
        "policy.yaml",
        "apiVersion: policy/v0\nmeta: { name: lab }\nrules: [{ writes: [service], action: require-approval }]\n",
    )
    meta = "inputs: { what: { type: string, secret: true, from: env/WHAT } }"
    lab.book(
        """
        - { id: say, type: tool, tool: say, inputs: { text: "{{ .what }}" } }
        - { id: fix, type: tool, tool: change, inputs: { what: "{{ .what }}" } }
        """,
        tools="say, change",
        meta=meta,
    )
    secret = "hunter2-hunter2-hunter2"
    lab.gert("exec", "book.yaml", code=None, WHAT=secret)
    found = lab.json("approvals", "list")["approvals"][0]["request"]
    with lab.web(WHAT=secret) as server:
        browser = server.browser()
        assert (
            browser.submit(
                f"/tickets/{found['ticket_id']}/comment",
                browser.form(f"/tickets/{found['ticket_id']}") | {"text": f"it is {secret}"},
            ).status_code
            == 303
        )
        paths = (f"/tickets/{found['ticket_id']}", f"/runs/{found['run_id']}", "/tickets", "/api/tickets", "/api/runs")
        for path in paths:
            text = browser.get(path).text
            assert secret not in text, path
        assert "REDACTED" in browser.get(paths[0]).text
        told = browser.decide(found["ticket_id"], reason=f"because {secret}")
        assert told.status_code == 422
        assert secret not in told.text


def test_the_answers_of_the_api_are_those_of_the_commands(served):
    lab, _, _, browser = served
    runs = browser.get("/api/runs").json()["runs"]
    told = lab.json("runs", "list")["runs"]
    for one in (*runs, *told):
        one.pop("age_seconds")
    assert runs == told
    tickets = browser.get("/api/tickets").json()
    said = lab.json("approvals", "list")
    for one in tickets["approvals"]:
        one.pop("since_last")
    assert tickets == said


def test_a_run_that_cannot_be_read_is_one_line(lab):
    lab.gated()
    ticket = lab.pending()
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    lab.pending()
    (lab.root / "runs" / run / "trace.jsonl").write_text("rubbish\n")
    with lab.web() as server:
        browser = server.browser()
        assert browser.get("/runs").status_code == 200
        assert "cannot be read" in browser.get(f"/runs/{run}").text
        assert run in browser.get("/tickets").text
        assert browser.get(f"/tickets/{ticket}").status_code in (404, 409, 422)
        assert browser.get("/api/tickets").json()["unreadable"][0]["run_id"] == run


def test_runs_are_listed_in_pages(lab):
    write_runs(lab.root / "runs", 120)
    with lab.web() as server:
        browser = server.browser()
        first, last = browser.get("/runs").text, browser.get("/runs?from=100").text
        assert first.count('<li class="item') == 50
        assert last.count('<li class="item') == 20
        assert "Older" in first
        assert "Older" not in last
