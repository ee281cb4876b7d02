"""Clicks over Socket Mode, taken by a real ``gert slack listen``."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from messaging import BRIDGE
from shell import wait_for
from slack_fake import ALICE, buttons, click, refusal, texts
from slack_socket import SlackSocket
from unread import full_pipe


@pytest.fixture
def socket(slack):
    with SlackSocket() as server:
        slack.socket = server
        yield server
        assert server.strange == []


@pytest.fixture
def listening(project, socket):
    running = project.start("slack", "listen", GERT_BRIDGE_SIGNING_KEY=BRIDGE, **project.secrets)
    try:
        assert socket.connected.wait(30)
        yield running
    finally:
        running.terminate()
        _, err = running.communicate(timeout=30)
        assert running.returncode == 0, err
        assert "Traceback" not in err


def test_a_click_is_on_disk_before_it_is_acknowledged(project, slack, socket, listening):
    run = project.execute()
    payload = click(slack.message())
    assert socket.send(payload, "e-17") == "e-17"
    assert len(list(project.root.glob("runs/*/tickets/*.answers/*.json"))) == 1
    slack.until("chat.update")
    assert f"*alice* (<@{ALICE}>) approved" in texts(slack.message())
    assert socket.send(payload, "e-18") == "e-18"
    assert len(list(project.root.glob("runs/*/tickets/*.answers/*.json"))) == 1
    assert project.json("resume", "--run", run["run_id"])["status"] == "completed"
    wait_for(lambda: slack.threads, 30)
    assert "ended: resolved (ok)" in slack.threads[0]["text"]
    assert "*Approved*" in texts(slack.message())


def test_the_same_rules_hold(project, slack, socket, listening):
    project.execute()
    payload = click(slack.message(), user="U0NOBODY1")
    socket.send(payload)
    assert "no policy says" in slack.until("chat.postEphemeral")[0]["text"]
    for other in ({"type": "block_actions"}, {**payload, "actions": [{}]}, "x", None, {"type": "view_submission"}):
        assert socket.send(other, "e-2") == "e-2"
    assert list(project.root.glob("runs/*/tickets/*.answers/*.json")) == []
    assert len(buttons(slack.message())) == 2


def test_a_connection_that_ends_is_opened_again(project, slack, socket, listening):
    project.execute()
    socket.drop()
    assert socket.connected.wait(30)
    assert socket.send(click(slack.message())) == "e-1"
    slack.until("chat.update")


def test_what_slack_refuses_is_said_in_a_sentence(project, slack):
    slack.mischief["apps.connections.open"] = [refusal("invalid_auth")]
    done = project.gert("slack", "listen", code=2, GERT_BRIDGE_SIGNING_KEY=BRIDGE, **project.secrets)
    assert "error: cannot listen to Slack: Slack answered invalid_auth" in done.stderr
    assert "app-level token" in done.stderr
    assert "Listening" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "gert slack takes one word, listen, and nothing was given"),
        (("speak",), "gert slack takes one word, listen, not 'speak'"),
        (("listen", "--root", "missing"), "--root missing is not a directory"),
        (("listen", "--port", "1"), "there is no option --port"),
    ],
)
def test_a_command_line_that_makes_no_sense(project, words, said):
    done = project.gert("slack", *words, code=None)
    assert done.returncode in (1, 2)
    assert said in done.stderr


def test_without_the_app_token_it_says_which_setting_is_missing(project):
    done = project.gert("slack", "listen", code=None)
    assert "approvals.config.app_token_env names SLACK_APP_TOKEN, which is not set" in done.stderr
    del project.config["app_token_env"]
    project.settle()
    assert "approvals.config.app_token_env is missing" in project.gert("slack", "listen", code=None).stderr


def test_help(project):
    assert "gert slack listen [OPTIONS]" in project.gert("slack", "--help").stdout


def test_a_signal_ends_it_where_nobody_reads_what_it_says(project, slack, socket):
    words = project.command("slack", "listen")
    environ = {**project.environ, "GERT_BRIDGE_SIGNING_KEY": BRIDGE, **project.secrets}
    with full_pipe() as full:
        running = subprocess.Popen(words, cwd=project.root, env=environ, stdout=full, stderr=full)
        try:
            assert socket.connected.wait(30)
            time.sleep(1)  # it says that it listens
            running.send_signal(signal.SIGTERM)
            assert running.wait(14) == 0
        finally:
            running.kill()
            running.wait()


def test_a_signal_ends_it_while_nobody_reads_why_it_cannot_listen(project):
    words = project.command("slack", "listen")
    with full_pipe() as full:
        running = subprocess.Popen(words, cwd=project.root, env=project.environ, stdout=full, stderr=full)
        try:
            time.sleep(3)
            assert running.poll() is None
            running.send_signal(signal.SIGTERM)
            assert running.wait(14) == -signal.SIGTERM
        finally:
            running.kill()
            running.wait()
