"""stdin keeps to what every approval provider promises."""

from __future__ import annotations

import gert_approval_stdin

from gert_core.testing.conformance import ApprovalProviderConformance


class TestStdinConformance(ApprovalProviderConformance):
    plugin = gert_approval_stdin
    answers = ("y alice: fine",)
