"""When Slack refuses, is slow or silent, or the run dies: nothing is lost, and nobody is asked in vain."""

from __future__ import annotations

import json
import os
import shlex
import signal
import time

import pytest
from slack_fake import CHANNEL, buttons, ratelimited, refusal, texts

from gert_core.testing.receivers import DRIBBLE, HANG, RESET


def pending(project, *words, code=None, **environ):
    """What a run said that is pending."""
    done = project.gert("exec", "book.yaml", *words, code=code, **environ)
    assert "Approval pending" in done.stdout, done.stdout + done.stderr
    return done.stderr


def test_a_short_wait_that_slack_asks_for_is_waited_for(project, slack):
    slack.mischief["chat.postMessage"] = [ratelimited(1)]
    began = time.monotonic()
    assert "no person was told" not in pending(project)
    assert time.monotonic() - began >= 1
    assert len(slack.messages) == 1


def test_a_long_one_is_not(project, slack):
    slack.mischief["chat.postMessage"] = [ratelimited(30)]
    began = time.monotonic()
    said = pending(project)
    assert time.monotonic() - began < 9
    assert "no person was told about ticket t-" in said
    assert "ratelimited" in said
    assert slack.messages == {}


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("channel_not_found", "approvals.config.channel"),
        ("not_in_channel", "/invite"),
        ("invalid_auth", "bot token"),
        ("missing_scope", "chat:write"),
    ],
)
def test_what_slack_refuses_for_good_is_said_at_once_with_what_to_do(project, slack, code, hint):
    slack.mischief["chat.postMessage"] = [refusal(code)]
    began = time.monotonic()
    said = pending(project)
    assert time.monotonic() - began < 5
    assert f"Slack answered {code} (" in said
    assert hint in said
    assert len(slack.of("chat.postMessage")) == 0, "it is not tried again"


@pytest.mark.parametrize("fault", [500, RESET, refusal("internal_error"), (200, {"body": b"<html>"})])
def test_three_tries_that_fail_leave_a_ticket_that_can_be_answered_and_is_sent_again(project, slack, fault):
    slack.mischief["chat.postMessage"] = [fault] * 3
    said = pending(project)
    assert "no person was told about ticket t-" in said
    assert "gert approve t-" in said
    assert slack.messages == {}
    (run,) = project.runs()
    project.gert("resume", "--run", run.name, code=None)
    assert len(buttons(slack.message())) == 2
    assert "There may be an earlier message" in texts(slack.message())
    project.gert("resume", "--run", run.name, code=None)
    assert len(slack.messages) == 1


def test_gert_approve_answers_a_ticket_nobody_was_told_of(project, slack):
    project.settle(require_signed_approvals=False, bridges={})
    slack.mischief["chat.postMessage"] = [refusal("channel_not_found")]
    pending(project)
    project.gert("approve", project.ticket(), "--as", "alice")
    (run,) = project.runs()
    assert project.json("resume", "--run", run.name)["status"] == "completed"
    assert slack.messages == {}


@pytest.mark.parametrize("fault", [HANG, DRIBBLE])
def test_a_slow_slack_holds_a_run_for_ten_seconds_at_most(project, slack, fault):
    slack.mischief["chat.postMessage"] = [fault] * 3
    began = time.monotonic()
    said = pending(project)
    assert 8 < time.monotonic() - began < 20
    assert "did not answer" in said


def test_a_slack_that_cannot_be_reached_is_said(project, slack):
    project.config["api_url"] = "http://127.0.0.1:9/api"
    project.settle()
    assert "Slack cannot be reached (ConnectionRefusedError)" in pending(project)


def test_a_crash_between_ticket_and_message_is_made_good_by_the_next_process(project, slack):
    slack.mischief["chat.postMessage"] = [HANG]
    running = project.start("exec", "book.yaml")
    end = time.monotonic() + 30
    while slack.mischief["chat.postMessage"] and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    assert slack.messages == {}
    (run,) = project.runs()
    project.gert("resume", "--run", run.name, code=None)
    (message,) = slack.messages.values()
    assert "There may be an earlier message" in texts(message)
    assert project.sent()[0]["messages"] == [{"channel": CHANNEL, "ts": message["ts"]}]


def test_the_token_reaches_no_tool_and_no_file(project, slack):
    project.program("change", 'env >> changed; echo "$SLACK_BOT_TOKEN"')
    project.settle(require_signed_approvals=False, bridges={})
    pending(project)
    project.gert("approve", project.ticket(), "--as", "alice")
    (run,) = project.runs()
    done = project.gert("resume", "--run", run.name)
    assert "SLACK_BOT_TOKEN" not in (project.root / "changed").read_text()
    held = [file for file in run.rglob("*") if file.is_file() and b"xoxb-fake-bot" in file.read_bytes()]
    assert (held, "xoxb" in done.stdout + done.stderr) == ([], False)


def test_nothing_in_a_request_is_markup_or_breaks_out_of_its_place(project, slack):
    project.runbook("```\n<!channel> *Risk* <https://evil|safe> & `x` \u202e\u200b end")
    project.execute()
    shown = texts(slack.message())
    assert "<!channel>" not in shown
    assert "<https://evil" not in shown
    assert "&lt;!channel&gt;" in shown
    assert r"\u202e\u200b" in shown
    command = next(b["text"]["text"] for b in slack.message()["blocks"] if "*Command*" in str(b))
    assert command.count("```") == 2


def test_a_long_command_is_cut_and_says_how_long_it_is(project, slack):
    project.runbook("<&>" * 3000)
    project.execute()
    command = next(b["text"]["text"] for b in slack.message()["blocks"] if "*Command*" in str(b))
    assert len(command) <= 2_950
    assert "characters, SHA-256" in command


def test_a_message_shows_what_a_command_reads_and_gets(project, slack):
    """``sh`` does what it reads, and a server is somewhere: the words of a command do not tell that."""
    action = '{argv: [sh], stdin: "rm -rf /data\\n", env: {LD_PRELOAD: /tmp/x.so}}'
    contract = "{effects: [network], writes: [service], inputs: {what: {type: any}}}"
    head = f"apiVersion: tool/v0\nmeta: {{name: change, transport: stdio}}\ncontract: {contract}\n"
    project.write("tools/change.tool.yaml", f"{head}actions: {{do: {action}}}\n")
    project.execute()
    shown = texts(slack.message())
    assert "```\nsh\n" in shown
    assert r"stdin: rm -rf /data\u000a" in shown
    assert "LD_PRELOAD" in shown
    assert f"cwd: {project.root}" in shown


@pytest.mark.parametrize("word", ["--quiet", "&", "```"])
def test_a_long_command_leaves_nothing_out_that_belongs_to_it(project, slack, word):
    """It pushed out what the command reads and gets; of a command with markup the length and hash were wrong."""
    argv = ["sh", "-s", *[word] * 1200]
    action = {"argv": argv, "stdin": "rm -rf /data", "env": {"LD_PRELOAD": "/tmp/x.so"}}
    contract = "{effects: [network], writes: [service], inputs: {what: {type: any}}}"
    head = f"apiVersion: tool/v0\nmeta: {{name: change, transport: stdio}}\ncontract: {contract}\n"
    project.write("tools/change.tool.yaml", f"{head}actions: {{do: {json.dumps(action)}}}\n")
    project.execute()
    shown = texts(slack.message())
    for part in ("stdin: rm -rf /data", "LD_PRELOAD", f"cwd: {project.root}"):
        assert part in shown, shown
    if word != "```":  # which is spelled out in Slack
        assert f"({len(shlex.join(argv))} characters, SHA-256" in shown, shown


def test_a_message_shows_where_a_server_is(project, slack):
    tool = 'apiVersion: tool/v0\nmeta: {name: change, transport: jsonrpc, connect: "unix:/tmp/there.sock"}\n'
    contract = "contract: {effects: [network], writes: [service], inputs: {what: {type: any}}}\n"
    project.write("tools/change.tool.yaml", f"{tool}{contract}actions: {{do: {{method: wipe.all}}}}\n")
    project.execute()
    assert "connect: unix:/tmp/there.sock" in texts(slack.message())


@pytest.mark.parametrize("page", [True, False])
def test_a_message_says_where_everything_is_that_it_cuts(project, slack, page):
    """The end of a long script is where it would hide what it does."""
    script = "echo x\n" * 300 + "rm -rf /data\n"
    action = {"argv": ["sh"], "stdin": script, "env": {"A": "y" * 3000}}
    contract = "{effects: [network], writes: [service], inputs: {what: {type: any}}}"
    head = f"apiVersion: tool/v0\nmeta: {{name: change, transport: stdio}}\ncontract: {contract}\n"
    project.write("tools/change.tool.yaml", f"{head}actions: {{do: {json.dumps(action)}}}\n")
    project.runbook("z" * 1000)
    if not page:
        del project.config["base_url"]
        project.settle()
    project.execute()
    shown, ticket = texts(slack.message()), project.ticket()
    assert shown.count("characters, SHA-256") == 3, shown
    where = f"<https://gert.example.com/tickets/{ticket}|Open the ticket>: it"
    where = where if page else f"`gert approvals show {ticket} --json`"
    assert f"{where} has all that is approved. What is cut here ends in its length and hash." in shown, shown
    whole = project.json("approvals", "show", ticket)["request"]["document"]
    assert whole["command"]["stdin"] == script
