"""Answers of messengers that a real ``gert web`` process takes, whose messages it rewrites and whose runs it resumes."""

from __future__ import annotations

import json
import time

import pytest
from gert_http import signature
from messaging import BRIDGE, CALLBACKS, REQUESTS, Messaging
from shell import wait_for
from slack_fake import ALICE, BOT_TOKEN, CHANNEL, SECRET, TEAM, SlackFake, click, form, post, signed, texts
from webs import WebLab

from gert_core.testing.receivers import Receiver


class Served(Messaging, WebLab):
    """A project that asks in a messenger, and is served."""

    def __init__(self, root, provider, config, people) -> None:
        Messaging.__init__(self, root, provider, config, people)

    host = Messaging.host


@pytest.fixture
def slack():
    with SlackFake() as fake:
        yield fake


@pytest.mark.parametrize("words", [(), ("--resume",)])
def test_a_click_that_gert_web_takes(tmp_path, slack, words):
    config = {
        "channel": CHANNEL,
        "token_env": "SLACK_BOT_TOKEN",
        "signing_secret_env": "SLACK_SIGNING_SECRET",
        "api_url": slack.url,
    }
    people = {"alice": {"slack": f"{TEAM}/{ALICE}"}, "olga": {"os": "olga"}}
    project = Served(tmp_path, "slack", config, people)
    project.environ["SLACK_BOT_TOKEN"] = BOT_TOKEN
    run = project.execute()
    with project.web(*words, SLACK_SIGNING_SECRET=SECRET, GERT_BRIDGE_SIGNING_KEY=BRIDGE) as server:
        door = f"{server.base}/callbacks/slack"
        body = form(click(slack.message()))
        assert post(door, body, signed(body, secret="0" * 32))[0] == 401
        assert post(door, body, {})[0] == 401
        assert list(project.root.glob("runs/*/tickets/*.answers/*.json")) == []
        assert post(door, body, signed(body)) == (200, b"")
        slack.until("chat.update")
        if not words:
            assert project.json("resume", "--run", run["run_id"])["status"] == "completed"
        wait_for(project.changed)
        wait_for(lambda: slack.threads)
        assert "ended: resolved (ok)" in slack.threads[0]["text"]
        assert "*Approved*" in texts(slack.message())


def test_an_answer_of_a_service_that_gert_web_takes(tmp_path):
    people = {"alice": {"login": "alice@corp"}, "olga": {"os": "olga"}}
    with Receiver() as service:
        config = {"url": service.url("/requests"), "base_url": "https://gert.example.com"}
        project = Served(tmp_path, "http", config, people)
        project.environ["GERT_WEBHOOK_SIGNING_KEY"] = REQUESTS
        run = project.execute()
        ticket = service.got[0].document["request"]["ticket_id"]
        keys = {"GERT_CALLBACK_VERIFY_KEY": CALLBACKS, "GERT_BRIDGE_SIGNING_KEY": BRIDGE}
        with project.web(**keys) as server:
            door = f"{server.base}/callbacks/http/{ticket}"
            body = json.dumps({"ticket_id": ticket, "approved": True, "approver_id": "alice@corp"}).encode()
            assert post(door, body, {})[0] == 401
            said = post(door, body, {"Gert-Signature": signature(CALLBACKS, body, at=int(time.time()))})
            assert (said[0], json.loads(said[1])) == (200, {"status": "answered", "approvers": ["alice"]})
        assert project.json("resume", "--run", run["run_id"])["status"] == "completed"
