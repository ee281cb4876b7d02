"""The notifier ``pagerduty``: the events that it sends, by the shapes of Events API v2."""

from __future__ import annotations

import gert_notify_pagerduty
import pytest

from gert_core.testing.conformance import NotifierConformance
from gert_core.testing.notifiers import DOCUMENT
from gert_core.testing.receivers import Receiver

KEY = "R0UT1NGKEY0123456789"


class TestPagerDuty(NotifierConformance):
    plugin = gert_notify_pagerduty
    value = "critical"
    accepted = 202
    config = {"routing_key": "env/PD_KEY", "endpoint": "{url}"}
    environ = {"PD_KEY": KEY}

    def sent(self, tmp_path, **changes):
        with Receiver(answers=[202]) as receiver:
            found = self.send(receiver, tmp_path, **changes)
        assert found.status == "delivered", found
        return receiver.got[0]

    def test_what_happened_triggers_an_incident(self, tmp_path):
        got = self.sent(tmp_path)
        assert got.path.endswith("/v2/enqueue")
        assert got.document == {
            "routing_key": KEY,
            "event_action": "trigger",
            "dedup_key": "gert/ops/disk-check/0123456789ab",
            "payload": {
                "summary": "disk-check: escalated (disk_full)",
                "source": "disk-check",
                "severity": "critical",
                "timestamp": DOCUMENT["timestamp"],
                "class": "disk_full",
                "custom_details": {
                    name: DOCUMENT[name]
                    for name in (
                        "run_id",
                        "event",
                        "status",
                        "outcome",
                        "failure",
                        "duration",
                        "pending",
                        "next",
                        "trace",
                    )
                },
            },
        }

    @pytest.mark.parametrize("event", ["resolved", "no_action"])
    def test_an_outcome_that_leaves_nothing_to_do_resolves_it(self, tmp_path, event):
        assert self.sent(tmp_path, event=event).document == {
            "routing_key": KEY,
            "event_action": "resolve",
            "dedup_key": "gert/ops/disk-check/0123456789ab",
        }

    def test_a_rule_may_have_another_key_and_keys_are_short(self, tmp_path):
        assert self.sent(tmp_path, options={"dedup": "disk/web-1"}).document["dedup_key"] == "disk/web-1"
        assert len(self.sent(tmp_path, subject="s" * 400).document["dedup_key"]) == 255

    def test_there_is_a_link_to_the_run_where_it_has_an_address(self, tmp_path):
        got = self.sent(tmp_path, document={**DOCUMENT, "url": "https://runs.example.com/runs/r1"})
        assert got.document["links"] == [{"href": "https://runs.example.com/runs/r1", "text": "The run"}]

    def test_another_severity_is_refused_before_anything_is_sent(self, tmp_path):
        with Receiver() as receiver:
            found = self.send(receiver, tmp_path, value="urgent")
        assert (found.status, receiver.got) == ("refused", [])

    def test_without_a_key_it_is_tried_again_when_there_may_be_one(self, tmp_path, monkeypatch):
        monkeypatch.setattr(type(self), "environ", {})
        with Receiver() as receiver:
            found = self.send(receiver, tmp_path)
        assert (found.status, receiver.got) == ("failed", [])
        assert "notifiers.pagerduty.routing_key" in found.error
