"""A project that asks a service, and the service."""

from __future__ import annotations

import pytest
from callback_server import CallbackServer
from messaging import CALLBACKS, REQUESTS, Messaging

from gert_core.testing.receivers import Receiver

PEOPLE = {
    "alice": {"login": "alice@corp"},
    "bob": {"login": "bob@corp"},
    "mallory": {"login": "mallory@corp"},
    "olga": {"os": "olga", "login": "olga@corp"},
}


@pytest.fixture
def service():
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def project(tmp_path, service):
    config = {"url": service.url("/requests"), "base_url": "http://127.0.0.1:1"}
    made = Messaging(tmp_path, "http", config, PEOPLE)
    made.environ["GERT_WEBHOOK_SIGNING_KEY"] = REQUESTS
    made.secrets = {"GERT_CALLBACK_VERIFY_KEY": CALLBACKS}
    return made


@pytest.fixture
def door(project):
    """The server to which answers are posted; requests have its address."""
    with project.host() as host, CallbackServer(host) as server:
        project.config["base_url"] = server.url("").removesuffix("/callbacks/")
        project.settle()
        yield server
