"""slack keeps to what every approval provider promises."""

from __future__ import annotations

import gert_approval_slack
import pytest
from slack_fake import BOT_TOKEN, CHANNEL

from gert_core.api import ApprovalResponse
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun
from gert_core.testing.conformance import ApprovalProviderConformance


class TestSlackConformance(ApprovalProviderConformance):
    plugin = gert_approval_slack
    environ = {"TOKEN": BOT_TOKEN}

    @pytest.fixture(autouse=True)
    def channel(self, slack, monkeypatch):
        config = {"channel": CHANNEL, "token_env": "TOKEN", "api_url": slack.url}
        monkeypatch.setattr(type(self), "config", config)

    def approve(self, request, tmp_path, session):
        answer = ApprovalResponse(
            ticket_id=request.ticket_id,
            approved=True,
            approver_id="alice",
            method="slack",
            timestamp="2026-01-01T00:00:00Z",
        )
        TicketStore(DirectoryRun(tmp_path)).answer(answer)

    def test_one_ticket_is_one_message(self, tmp_path, slack):
        for _ in range(3):
            self.session(tmp_path).submit(self.request())
        assert len(slack.messages) == 1
