"""inbox keeps to what every approval provider promises."""

from __future__ import annotations

import gert_approval_inbox

from gert_core.api import ApprovalResponse
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun
from gert_core.testing.conformance import ApprovalProviderConformance


class TestInboxConformance(ApprovalProviderConformance):
    plugin = gert_approval_inbox

    def approve(self, request, tmp_path, session):
        answer = ApprovalResponse(
            ticket_id=request.ticket_id,
            approved=True,
            approver_id="alice",
            method="inbox",
            timestamp="2026-01-01T00:00:00Z",
        )
        TicketStore(DirectoryRun(tmp_path)).answer(answer)
