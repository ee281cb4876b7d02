"""http keeps to what every approval provider promises."""

from __future__ import annotations

import gert_approval_http
import pytest

from gert_core.api import ApprovalResponse
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun
from gert_core.testing.conformance import ApprovalProviderConformance


class TestHttpConformance(ApprovalProviderConformance):
    plugin = gert_approval_http

    @pytest.fixture(autouse=True)
    def asked(self, service, monkeypatch):
        config = {"url": service.url("/requests"), "base_url": "https://gert.example.com"}
        monkeypatch.setattr(type(self), "config", config)

    def approve(self, request, tmp_path, session):
        answer = ApprovalResponse(
            ticket_id=request.ticket_id,
            approved=True,
            approver_id="alice",
            method="http",
            timestamp="2026-01-01T00:00:00Z",
        )
        TicketStore(DirectoryRun(tmp_path)).answer(answer)
