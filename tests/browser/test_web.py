"""``gert web`` in Chromium: every page and flow, without JavaScript, on a phone, with keys alone, and with hostile text."""

from __future__ import annotations

import json

import pytest
from browsing import LOOK, approve, chromium, keep, opened
from many_runs import write_runs
from shell import wait_for
from webs import BEHIND, INPUTS, PROXY_SECRET, WebLab, policy

EVIL = "</title></textarea><script>window.taken = 1</script><img src=x onerror='window.taken = 1'>"
HOLD = '- { id: hold, type: tool, tool: hold, inputs: { until: "{{ .file }}" } }'


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def lab(tmp_path):
    made = WebLab(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A server with something on every page."""
    lab = WebLab(tmp_path_factory.mktemp("full"))
    lab.gated()
    first = lab.pending()
    lab.gert("approve", first, "--as", "bob", "--reason", "change 4711")
    lab.gert("resume", "--run", "latest")
    done = lab.json("runs", "list")["runs"][0]["run_id"]
    ticket = lab.pending("--var", "what=a long name of a disk that does not fit on one line of a small screen")
    lab.gert("approvals", "comment", ticket, "Is it the right disk?", "--as", "bob")
    lab.book(
        "- { id: look, type: manual, instructions: Look., required_evidence: [{ name: seen, kind: checklist, items: [a, b] }] }"
    )
    lab.gert("exec", "book.yaml", "--questions", "suspend", code=None)
    asks = lab.json("runs", "list")["runs"][0]["run_id"]
    write_runs(lab.root / "runs", 60)
    with lab.web("--start", "--resume") as server:
        paths = {
            "inbox": "/tickets",
            "all": "/tickets?all=1",
            "ticket": f"/tickets/{ticket}",
            "decided": f"/tickets/{first}",
            "runs": "/runs",
            "run": f"/runs/{done}",
            "waiting": f"/runs/{asks}",
            "answer": f"/runs/{asks}/answer/look",
            "outcomes": "/outcomes?since=",
            "start": "/start",
            "form": "/start?runbook=book.yaml",
            "missing": "/tickets/t-nope",
        }
        yield server, paths
    lab.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_every_page_fits_and_can_be_read(browser, full, width, scheme):
    server, paths = full
    size = {"width": width, "height": 800}
    with opened(browser, server, viewport=size, color_scheme=scheme) as page:
        told: list[str] = []
        page.on("console", lambda message: told.append(message.text))
        for name, path in paths.items():
            page.goto(path)
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert page.evaluate(LOOK) == [], (name, width, scheme)
            keep(page, f"{name}-{width}-{scheme}")
    assert [text for text in told if "404" not in text] == []  # no style or script that the policy refuses


def test_a_person_approves(browser, lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server, opened(browser, server) as page:
        approve(page, "Change the disk", reason="change 4711")
        page.get_by_text("It has all the answers it needs").wait_for()
        assert "gert resume --run" in page.content()
    assert lab.status(ticket) == "answered"


def test_a_person_rejects(browser, lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server, opened(browser, server) as page:
        page.goto(f"/tickets/{ticket}")
        page.get_by_label("Reason").fill("not today")
        page.get_by_role("button", name="Reject").click()
        page.get_by_text("not today").wait_for()
    lab.gert("resume", "--run", "latest", code=1)
    assert not lab.path("changed").exists()


def test_two_people_approve_and_the_third_comes_late(browser, lab):
    lab.gated(policy(min_approvers=2, exclude_actor=True))
    ticket = lab.pending("--as", "olga")
    with lab.web(*BEHIND, PS=PROXY_SECRET) as server:

        def as_(user):
            headers = {"X-User": user, "Gert-Proxy-Secret": PROXY_SECRET}
            return opened(browser, server, login=False, extra_http_headers=headers)

        with as_("alice@corp") as alice, as_("bob@corp") as bob, as_("olga@corp") as olga:
            olga.goto(f"/tickets/{ticket}")
            assert olga.get_by_role("button", name="Approve").count() == 0
            bob.goto(f"/tickets/{ticket}")  # before alice decides
            approve(alice, "Change the disk")
            alice.get_by_text("1 of 2").wait_for()
            bob.get_by_label("I have read what will be run").check()
            bob.get_by_role("button", name="Approve").click()
            bob.get_by_text("It has all the answers it needs").wait_for()
            alice.goto("/tickets")
            alice.get_by_text("Nothing waits for you").wait_for()
    assert lab.json("approvals", "show", ticket)["approvers"] == ["alice", "bob"]


def test_the_page_of_a_run_follows_another_process(browser, lab):
    lab.book(HOLD, tools="hold", meta="inputs: { file: { type: string, default: go } }")
    process = lab.start("exec", "book.yaml")
    wait_for(lab.path("go.pid").exists)
    with lab.web() as server, opened(browser, server) as page:
        page.goto("/runs/latest")
        page.locator("html[data-live=open]").wait_for()
        assert page.locator(".chip", has_text="running").count() == 1
        page.locator("#step-1 summary").click()
        page.evaluate("window.mine = 1")  # gone if the page is loaded again
        lab.path("go").touch()
        page.locator(".chip", has_text="resolved").wait_for()
        page.get_by_text("went go").wait_for()
        assert page.locator("#step-1[open]").count() == 1  # what was open stays open
        assert page.evaluate("window.mine") == 1
    process.communicate(timeout=30)


def test_everything_works_without_javascript(browser, lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web("--resume", "--start") as server, opened(browser, server, java_script_enabled=False) as page:
        page.goto(f"/tickets/{ticket}")
        page.get_by_label("Ask or say something").fill("Which disk?")
        page.get_by_role("button", name="Send").click()
        page.get_by_text("Which disk?").wait_for()
        approve(page, "Change the disk")
        wait_for(lambda: lab.json("runs", "list")["runs"][0]["status"] == "completed")
        page.goto("/runs/latest")
        page.locator("#step-1 summary").click()
        page.get_by_text("change disk").first.wait_for()
        page.goto("/start")
        page.get_by_role("link", name="book.yaml").click()
        page.get_by_label("what").fill("tape")
        page.get_by_role("button", name="Start the run").click()
        page.get_by_text("waits for approval").first.wait_for()


def test_keys_alone_are_enough(browser, lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server, opened(browser, server) as page:
        page.goto("/tickets")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        tab_to(page, "a.whole")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/tickets/{ticket}")
        tab_to(page, "#reason")
        page.keyboard.type("by keys")
        tab_to(page, "[name=read]")
        page.keyboard.press("Space")
        tab_to(page, "[value=approve]")
        page.keyboard.press("Enter")
        page.get_by_text("by keys").wait_for()
    assert lab.status(ticket) == "answered"


def tab_to(page, selector, most=40):
    """Press Tab until an element has the focus, which can be seen all the way."""
    for _ in range(most):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """selector => {
              const one = document.activeElement, around = one.closest(".item") || one;
              const seen = [one, around].some(e => getComputedStyle(e).outlineStyle !== "none");
              return [one.matches(selector), seen, one.outerHTML.slice(0, 90)];
            }""",
            selector,
        )
        assert found[1], f"the focus cannot be seen: {found[2]}"
        if found[0]:
            return
    raise AssertionError(f"{selector} is not reached")


def test_a_script_in_every_field_runs_nowhere(browser, lab):
    lab.gated()
    text = json.dumps(EVIL)
    lab.book(
        f"- {{ id: fix, type: tool, tool: change, description: {text}, inputs: {{ what: '{{{{ .what }}}}' }} }}",
        tools="change",
        meta=f"{INPUTS}\ndescription: {text}",
    )
    ticket = lab.pending("--var", f"what={EVIL}", "--as", "olga")
    lab.gert("approvals", "comment", ticket, EVIL, "--as", "bob")
    run = lab.json("runs", "list")["runs"][0]["run_id"]
    with lab.web("--start") as server, opened(browser, server) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        page.goto(f"/tickets/{ticket}")
        page.get_by_label("Reason").fill(EVIL)
        page.get_by_role("button", name="Reject").click()
        lab.gert("resume", "--run", run, code=1)
        paths = [
            f"/tickets/{ticket}",
            "/tickets?all=1",
            f"/runs/{run}",
            "/runs",
            "/outcomes",
            "/start?runbook=book.yaml",
        ]
        for path in (*paths, "/runs?runbook=" + "%3Cscript%3Ewindow.taken=1%3C/script%3E"):
            page.goto(path)
            page.wait_for_timeout(100)
            assert page.evaluate("window.taken") is None, path
            assert page.locator("img").count() == 0, path


def test_a_form_on_another_site_decides_nothing(browser, lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web() as server, opened(browser, server) as page:
        page.goto(f"/tickets/{ticket}")
        token = page.locator("[name=form_token]").first.get_attribute("value")
        form = (
            f"<form method=post action='{server.base}/tickets/{ticket}/decide'><input name=form_token value='{token}'>"
            "<input name=decision value=approve><input name=read value=yes><button>go</button></form>"
        )
        page.route("http://evil.example/", lambda route: route.fulfill(body=form, content_type="text/html"))
        page.goto("http://evil.example/")
        page.get_by_role("button").click()
        page.get_by_text("Who are you?").wait_for()  # browsers do not even send who it is
        assert lab.status(ticket) == "pending"
