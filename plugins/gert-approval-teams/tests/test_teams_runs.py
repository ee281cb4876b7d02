"""Whole runs: a card in the channel, an answer in the web inbox, and the run goes on."""

from __future__ import annotations

import json
import time

import pytest
from teams_fake import text_of

from gert_core.testing.receivers import DRIBBLE, RESET


def pending(project):
    """What a run said that is pending."""
    done = project.gert("exec", "book.yaml", code=None)
    assert "Approval pending" in done.stdout, done.stdout + done.stderr
    return done.stderr


def test_a_card_opens_the_page_of_the_ticket_where_it_is_answered(project, teams):
    run = project.execute()
    (card,) = teams.cards
    ticket = project.ticket()
    assert card["actions"] == [
        {"type": "Action.OpenUrl", "title": "Open the ticket", "url": f"https://gert.example.com/tickets/{ticket}"}
    ]
    assert "Approval needed: fix of book" in text_of(card)
    assert "Risk: critical" in text_of(card)
    assert "change disk" in text_of(card)
    assert "No earlier approval" in text_of(card)
    with project.host() as host:
        host.decide(ticket, approved=True, identity={"provider": "web", "user": "alice@corp"})
    assert project.json("resume", "--run", run["run_id"])["status"] == "completed"
    assert len(teams.cards) == 1


def test_no_link_in_a_card_decides_anything(project, teams):
    """The channel sees the card: the page asks who you are, a signed link would not."""
    project.settle(rule={"approvers": ["alice"]})
    project.environ["GERT_LINK_SIGNING_KEY"] = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
    project.execute()
    assert "/a/" not in json.dumps(teams.cards)
    assert "token" not in json.dumps(teams.cards)


def test_nothing_in_a_request_is_markup(project, teams):
    project.runbook(
        "**bold** [safe](https://evil) {{DATE()}} <at>all</at> \u202e".replace("{{", "{").replace("}}", "}")
    )
    project.execute()
    (card,) = teams.cards
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}, "text runs know no markup"
    assert r"\u202e" in text_of(card)


def test_a_long_command_leaves_nothing_out_that_belongs_to_it(project, teams):
    contract = "contract: {effects: [network], writes: [service], inputs: {what: {type: any}}}\n"
    action = json.dumps({"argv": ["sh", "-s", *["--quiet"] * 400], "stdin": "rm -rf /data", "env": {"A": "x" * 3000}})
    tool = f"apiVersion: tool/v0\nmeta: {{name: change, transport: stdio}}\n{contract}actions: {{do: {action}}}\n"
    project.write("tools/change.tool.yaml", tool)
    project.execute()
    (card,) = teams.cards
    shown = text_of(card)
    for part in ("sh -s --quiet", "stdin: rm -rf /data", 'env: {"A": "xxx', f"cwd: {project.root}"):
        assert part in shown, shown


def test_a_card_shows_what_a_command_reads_and_where_a_server_is(project, teams):
    contract = "contract: {effects: [network], writes: [service], inputs: {what: {type: any}}}\n"
    for meta, action in (
        ("transport: stdio", "{argv: [sh], stdin: rm -rf /data}"),
        ('transport: jsonrpc, connect: "unix:/tmp/there.sock"', "{method: wipe.all}"),
    ):
        tool = f"apiVersion: tool/v0\nmeta: {{name: change, {meta}}}\n{contract}actions: {{do: {action}}}\n"
        project.write("tools/change.tool.yaml", tool)
        project.execute()
    command, server = (text_of(card).splitlines() for card in teams.cards)
    assert command[command.index("Command") + 1 :][:2] == ["sh", "stdin: rm -rf /data"]
    assert server[server.index("Command") + 1 :][:2] == ["change wipe.all", "connect: unix:/tmp/there.sock"]


@pytest.mark.parametrize("fault", [503, 429, RESET])
def test_three_tries_that_fail_leave_a_ticket_that_is_sent_again(project, teams, fault):
    teams.mischief = [fault] * 3
    said = pending(project)
    assert "no person was told about ticket t-" in said
    assert "secret-signature" not in said
    assert (teams.calls, teams.cards) == (3, [])
    (run,) = project.runs()
    project.gert("resume", "--run", run.name, code=None)
    project.gert("resume", "--run", run.name, code=None)
    (card,) = teams.cards
    assert ("There may be an earlier card" in text_of(card)) == (fault != 429)


@pytest.mark.parametrize("fault", [(429, {"Retry-After": "60"}), 400, 404, 302])
def test_what_is_refused_for_good_or_for_long_is_said_at_once(project, teams, fault):
    teams.mischief = [fault]
    began = time.monotonic()
    said = pending(project)
    assert (teams.calls, time.monotonic() - began < 8) == (1, True)
    assert f"Teams answered with {fault if isinstance(fault, int) else fault[0]}" in said


def test_a_slow_workflow_holds_a_run_for_ten_seconds_at_most(project, teams):
    teams.mischief = [DRIBBLE] * 3
    began = time.monotonic()
    assert "no person was told" in pending(project)
    assert time.monotonic() - began < 20


def test_the_address_of_the_workflow_is_in_no_file_and_reaches_no_tool(project, teams):
    project.settle(require_signed_approvals=False, bridges={})
    project.program("change", "env >> changed")
    pending(project)
    project.gert("approve", project.ticket(), "--as", "alice")
    (run,) = project.runs()
    project.gert("resume", "--run", run.name)
    files = [file for file in [*run.rglob("*"), project.root / "changed"] if file.is_file()]
    assert [file for file in files if b"secret-signature" in file.read_bytes()] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"webhook_env": None}, "approvals.config.webhook_env is missing"),
        ({"webhook_env": "NOT_SET"}, "approvals.config.webhook_env names NOT_SET, which is not set"),
        ({"webhook_env": "https://x/y"}, "approvals.config.webhook_env is not the name of a variable"),
        ({"base_url": None}, "approvals.config.base_url is missing"),
        ({"base_url": "http://gert.example.com"}, "approvals.config.base_url must begin with https://"),
        ({"channel": "C1"}, "approvals.config has 'channel', which the provider teams does not know"),
    ],
)
def test_a_mistake_is_one_sentence_before_the_run_and_in_doctor(project, teams, change, said):
    project.config.update(change)
    for name in [name for name, value in change.items() if value is None]:
        del project.config[name]
    project.settle()
    done = project.gert("exec", "book.yaml", code=2)
    assert (said in done.stderr, project.runs(), teams.calls) == (True, [], 0)
    assert (doctor(project)["status"], said in doctor(project)["message"]) == ("fail", True)


def doctor(project):
    found = json.loads(project.gert("doctor", "--json", code=None).stdout)
    return next(one for one in found["checks"] if one["check"] == "approval-teams/settings")


def test_doctor_sends_nothing(project, teams):
    assert (doctor(project)["status"], teams.calls) == ("ok", 0)


def test_personal_keys_refuse_the_provider_before_the_run(project, teams):
    from people import pair

    project.people["alice"]["keys"] = [pair(3)[1]]
    project.settle(personal_keys=True)
    assert "approval provider 'teams' cannot be used here" in project.gert("exec", "book.yaml", code=2).stderr
    assert teams.calls == 0


def test_a_setting_of_the_web_inbox_is_no_mistake(project, teams):
    project.config["allow_self"] = True
    project.settle()
    pending(project)
    assert len(teams.cards) == 1


def test_a_card_says_where_everything_is_that_it_cuts(project, teams):
    contract = "contract: {effects: [network], writes: [service], inputs: {what: {type: any}}}\n"
    action = json.dumps({"argv": ["sh"], "stdin": "echo x\n" * 300 + "rm -rf /data\n", "env": {"A": "y" * 3000}})
    tool = f"apiVersion: tool/v0\nmeta: {{name: change, transport: stdio}}\n{contract}actions: {{do: {action}}}\n"
    project.write("tools/change.tool.yaml", tool)
    project.runbook("z" * 1000)
    project.execute()
    (card,) = teams.cards
    assert text_of(card).count("characters, SHA-256") == 3
    assert "The ticket has all that is approved. What is cut here ends in its length and hash." in text_of(card)
