"""teams keeps to what every approval provider promises."""

from __future__ import annotations

import gert_approval_teams
import pytest

from gert_core.api import ApprovalResponse
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun
from gert_core.testing.conformance import ApprovalProviderConformance


class TestTeamsConformance(ApprovalProviderConformance):
    plugin = gert_approval_teams
    config = {"webhook_env": "HOOK", "base_url": "https://gert.example.com"}

    @pytest.fixture(autouse=True)
    def channel(self, teams, monkeypatch):
        monkeypatch.setattr(type(self), "environ", {"HOOK": teams.url})

    def approve(self, request, tmp_path, session):
        answer = ApprovalResponse(
            ticket_id=request.ticket_id,
            approved=True,
            approver_id="alice",
            method="web",
            timestamp="2026-01-01T00:00:00Z",
        )
        TicketStore(DirectoryRun(tmp_path)).answer(answer)

    def test_one_ticket_is_one_card(self, tmp_path, teams):
        for _ in range(3):
            self.session(tmp_path).submit(self.request())
        assert len(teams.cards) == 1
