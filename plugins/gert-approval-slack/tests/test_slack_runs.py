"""Whole runs: a message in the channel, a click, and the run goes on."""

from __future__ import annotations

import json
import re
import signal
import time

import pytest
from callback_server import CallbackServer
from slack_fake import ALICE, BOB, CHANNEL, MALLORY, buttons, click, form, post, signed, texts


def answer(door, message, action="gert_approve", **who):
    body = form(click(message, action, **who))
    return post(door, body, signed(body))


def resumed(project, run, code=0):
    return project.json("resume", "--run", run["run_id"], code=code)


def test_a_click_approves_the_step_and_the_message_says_who(project, slack, door):
    run = project.execute()
    message = slack.message()
    assert [button["action_id"] for button in buttons(message)] == ["gert_approve", "gert_reject"]
    assert {button["value"] for button in buttons(message)} == {f"{run['run_id']}|{project.ticket()}"}
    assert "change disk" in texts(message)
    assert f"<https://gert.example.com/tickets/{project.ticket()}|" in texts(message)
    assert answer(door, message) == (200, b"")
    slack.until("chat.update")
    shown = slack.message()
    assert buttons(shown) == []
    assert f"*alice* (<@{ALICE}>) approved" in texts(shown)
    done = resumed(project, run)
    assert (done["status"], done["outcome"]["code"], project.changed()) == ("completed", "ok", True)
    (given,) = project.events("approval_response")
    assert given["data"]["approver_id"] == "alice"
    assert given["data"]["identity"] == {"provider": "slack", "tenant": "T0ACME01", "user": ALICE}
    assert len(given["data"]["evidence"]) == 64
    assert given["data"]["verified"] is True


def test_a_click_rejects_the_step(project, slack, door):
    run = project.execute()
    assert answer(door, slack.message(), "gert_reject", user=BOB) == (200, b"")
    slack.until("chat.update")
    assert f"*bob* (<@{BOB}>) rejected" in texts(slack.message())
    assert resumed(project, run, code=None)["status"] == "failed"
    assert not project.changed()


def test_two_people_have_to_click(project, slack, door):
    project.settle(rule={"min_approvers": 2})
    run = project.execute()
    answer(door, slack.message())
    slack.until("chat.update", 1)
    assert len(buttons(slack.message())) == 2, "one is missing"
    assert "*alice*" in texts(slack.message())
    answer(door, slack.message())
    assert "has answered" in slack.until("chat.postEphemeral")[0]["text"]
    answer(door, slack.message(), user=BOB)
    slack.until("chat.update", 2)
    assert buttons(slack.message()) == []
    assert resumed(project, run)["status"] == "completed"


def test_a_grave_step_asks_once_more(project, slack):
    project.execute()
    assert "`critical`" in texts(slack.message())
    for button in buttons(slack.message()):
        assert button["confirm"]["confirm"]["text"] in ("Approve", "Reject")
        assert "critical" in button["confirm"]["text"]["text"]
    contract = "{ effects: [network], writes: [service], idempotent: true, inputs: { what: { type: any } } }"
    project.tool("change", '["change", "{{ .what }}"]', contract=contract)
    project.execute()
    assert [button.get("confirm") for button in buttons(slack.message())] == [None, None]


def test_a_later_request_says_what_changed(project, slack, door):
    run = project.execute()
    assert "No earlier approval" in texts(slack.message())
    answer(door, slack.message())
    resumed(project, run)
    project.runbook("network")
    project.execute()
    assert "Since the approval by alice" in texts(slack.message())
    assert "inputs" in texts(slack.message())


def test_messages_follow_what_happens_elsewhere(project, slack):
    """Answered by web, expired, cancelled: whoever looks at the channel sees it, and how the run ended."""
    run = project.execute()
    with project.host() as host:
        host.update_messages()
        assert slack.of("chat.update") == []
        host.decide(project.ticket(), approved=True, identity={"provider": "slack", "tenant": "T0ACME01", "user": BOB})
        host.update_messages()
        assert "*bob*" in texts(slack.message())
        assert "gert resume" in texts(slack.message())
        assert buttons(slack.message()) == []
        resumed(project, run)
        host.update_messages()
        host.update_messages()
    assert "*Approved*" in texts(slack.message())
    (end,) = slack.threads
    assert (end["thread_ts"], end["channel"]) == (slack.message()["ts"], CHANNEL)
    assert "ended: resolved (ok)" in end["text"]
    assert project.sent()[0]["settled"] is True


def test_a_message_takes_reasons_and_names_of_any_length(project, slack):
    """Slack refuses a section of more than 3,000 characters: the message would keep its buttons for ever."""
    project.settle(require_signed_approvals=False, bridges={}, people={}, rule={"min_approvers": 12})
    project.execute()
    ticket = project.ticket()
    with project.host() as host:
        for number in range(11):
            project.gert("approve", ticket, "--as", f"{number}-{'a' * 300}", "--reason", "<&>" * 2000)
        host.update_messages()
        assert len(buttons(slack.message())) == 2
        assert re.search(r"\nand \d+ more$", texts(slack.message()), re.MULTILINE)
        project.gert("reject", ticket, "--as", "bob", "--reason", "not now " + "&" * 5000)
        host.update_messages()
    shown = texts(slack.message())
    assert buttons(slack.message()) == []
    assert "*Answered.*" in shown
    assert "*bob* rejected" in shown
    assert ": not now &amp;" in shown


def test_the_message_of_a_cancelled_run_has_no_buttons_and_gets_them_again(project, slack):
    project.config["wait"] = 60
    project.settle()
    running = project.start("exec", "book.yaml")
    slack.until("chat.postMessage")
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    project.config["wait"] = 0
    project.settle()
    (run,) = project.runs()
    with project.host() as host:
        host.update_messages()
        assert (buttons(slack.message()), "cancelled" in texts(slack.message())) == ([], True)
        assert slack.threads == []
        assert resumed(project, {"run_id": run.name}, code=None)["status"] == "approval_pending"
        host.update_messages()
        assert len(buttons(slack.message())) == 2
        project.gert("resume", "--run", run.name, "--abort", code=None)
        host.update_messages()
    assert (buttons(slack.message()), "*The run was aborted*" in texts(slack.message())) == ([], True)
    assert len(slack.messages) == 1
    assert "ended" in slack.threads[0]["text"]


def test_the_message_of_an_expired_ticket_has_no_buttons(project, slack, door):
    project.settle(approval_timeout="1s")
    project.execute()
    message = slack.message()
    time.sleep(1.2)
    with project.host() as host:
        host.update_messages()
    assert (buttons(slack.message()), "*Expired*" in texts(slack.message())) == ([], True)
    assert answer(door, message) == (200, b"")
    (told,) = slack.until("chat.postEphemeral")
    assert (told["user"], "expired" in told["text"]) == (ALICE, True)


def test_a_request_that_changed_points_to_the_message_before(project, slack, door):
    run = project.execute()
    first = slack.message()
    answer(door, first)
    slack.until("chat.update")
    project.program("change", 'echo "$1" more >> changed')
    assert resumed(project, run, code=None)["status"] == "approval_pending"
    assert len(slack.messages) == 2
    assert f"p{first['ts'].replace('.', '')}|the request before>" in texts(slack.message())
    with project.host() as host:
        host.update_messages()
    assert "*Void*" in texts(slack.messages[first["ts"]])
    assert buttons(slack.messages[first["ts"]]) == []
    assert answer(door, first) == (200, b"")
    assert "does not count" in slack.until("chat.postEphemeral")[0]["text"]
    assert not project.changed()


def test_a_run_waits_for_the_click_when_it_is_told_to(project, slack, door):
    project.config["wait"] = 60
    project.settle()
    running = project.start("exec", "book.yaml", "--json")
    slack.until("chat.postMessage")
    answer(door, slack.message())
    out, err = running.communicate(timeout=60)
    assert (running.returncode, json.loads(out)["status"]) == (0, "completed"), err


@pytest.mark.parametrize(
    ("user", "said"),
    [
        (MALLORY, "is not one of those who may approve"),
        ("U0NOBODY1", "no policy says"),
    ],
)
def test_who_may_not_approve_is_told_alone(project, slack, door, user, said):
    project.settle(rule={"approvers": ["alice", "olga"]})
    run = project.execute()
    for action in ("gert_approve", "gert_reject"):
        assert answer(door, slack.message(), action, user=user) == (200, b"")
    told = slack.until("chat.postEphemeral", 2)
    assert [(one["user"], one["channel"]) for one in told] == [(user, CHANNEL)] * 2
    assert all(said in one["text"] for one in told), told
    assert slack.of("chat.update") == []
    assert len(list(project.root.glob("runs/*/tickets/*.refused/**/*.json"))) == 2
    assert resumed(project, run, code=None)["status"] == "approval_pending"


def test_who_started_the_run_may_not_approve_it(project, slack, door):
    project.execute()
    assert answer(door, slack.message(), user="U0OLGA001") == (200, b"")
    assert "started the run" in slack.until("chat.postEphemeral")[0]["text"]


def test_a_message_whose_sending_was_interrupted_is_rewritten_once_it_is_clicked(project, slack):
    """The first message arrived, but nothing is known of it: a click on it tells which one it is."""
    project.settle(rule={"min_approvers": 2})
    run = project.execute()
    first = slack.message()
    (kept,) = project.root.glob("runs/*/tickets/*.sent.json")
    kept.write_text(json.dumps({"provider": "slack", "tried": "2026-01-01T00:00:00Z", "unsure": True}))
    assert resumed(project, run, code=None)["status"] == "approval_pending"
    assert "There may be an earlier message" in texts(slack.message())
    with project.host() as host, CallbackServer(host) as server:
        answer(server.url("slack"), first)
        slack.until("chat.update")
        answer(server.url("slack"), slack.message(), user=BOB)
        slack.until("chat.update", 2)
        host.update_messages()
    assert [buttons(message) for message in slack.messages.values()] == [[], []]
    assert all("*bob*" in texts(message) for message in slack.messages.values())
