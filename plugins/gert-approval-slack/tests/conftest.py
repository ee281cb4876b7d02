"""A project that asks in a Slack of its own."""

from __future__ import annotations

import pytest
from callback_server import CallbackServer
from messaging import Messaging
from slack_fake import ALICE, APP_TOKEN, BOB, BOT_TOKEN, CHANNEL, MALLORY, SECRET, TEAM, SlackFake

PEOPLE = {
    "alice": {"slack": f"{TEAM}/{ALICE}"},
    "bob": {"slack": f"{TEAM}/{BOB}"},
    "olga": {"slack": f"{TEAM}/U0OLGA001", "os": "olga"},
    "mallory": {"slack": f"{TEAM}/{MALLORY}"},
}


@pytest.fixture
def slack():
    with SlackFake() as fake:
        yield fake


@pytest.fixture
def project(tmp_path, slack):
    config = {
        "channel": CHANNEL,
        "token_env": "SLACK_BOT_TOKEN",
        "signing_secret_env": "SLACK_SIGNING_SECRET",
        "app_token_env": "SLACK_APP_TOKEN",
        "base_url": "https://gert.example.com",
        "api_url": slack.url,
    }
    made = Messaging(tmp_path, "slack", config, PEOPLE)
    made.environ["SLACK_BOT_TOKEN"] = BOT_TOKEN
    made.secrets = {"SLACK_SIGNING_SECRET": SECRET, "SLACK_APP_TOKEN": APP_TOKEN}
    return made


@pytest.fixture
def door(project):
    """The address at which clicks are received."""
    with project.host() as host, CallbackServer(host) as server:
        yield server.url("slack")
