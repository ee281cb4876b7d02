"""A project that asks in a channel of Teams."""

from __future__ import annotations

import pytest
from messaging import Messaging
from teams_fake import TeamsFake

PEOPLE = {"alice": {"login": "alice@corp", "teams": "tenant/object"}, "olga": {"os": "olga"}}


@pytest.fixture
def teams():
    with TeamsFake() as fake:
        yield fake


@pytest.fixture
def project(tmp_path, teams):
    config = {"webhook_env": "TEAMS_WEBHOOK", "base_url": "https://gert.example.com/"}
    made = Messaging(tmp_path, "teams", config, PEOPLE)
    made.environ["TEAMS_WEBHOOK"] = teams.url
    return made
