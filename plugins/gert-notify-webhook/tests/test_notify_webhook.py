"""The notifier ``webhook``: what it posts, signed so that a receiver can check it."""

from __future__ import annotations

import base64
import hmac
import time

import gert_notify_webhook
import pytest

from gert_core.api import Delivery
from gert_core.testing.conformance import NotifierConformance
from gert_core.testing.notifiers import DOCUMENT
from gert_core.testing.receivers import Receiver

KEY = b"a shared key of enough bytes"


class TestWebhook(NotifierConformance):
    plugin = gert_notify_webhook

    def test_the_body_is_the_document_and_the_id_is_the_same_each_time(self, tmp_path):
        with Receiver(answers=[500, 200]) as receiver:
            self.send(receiver, tmp_path)
            self.send(receiver, tmp_path)
        assert [got.document for got in receiver.got] == [DOCUMENT, DOCUMENT]
        assert [got.headers["gert-delivery"] for got in receiver.got] == ["d1", "d1"]
        assert "gert-signature" not in receiver.got[0].headers

    @pytest.mark.parametrize("prefix", ["", "hmac-sha256:"])
    def test_a_receiver_with_the_key_can_check_who_sent_it_and_when(self, tmp_path, monkeypatch, prefix):
        written = prefix + base64.b64encode(KEY).decode()
        monkeypatch.setattr(type(self), "environ", {"GERT_WEBHOOK_SIGNING_KEY": written})
        with Receiver() as receiver:
            assert self.send(receiver, tmp_path) == Delivery(status="delivered")
        (got,) = receiver.got
        moment, _, given = got.headers["gert-signature"].removeprefix("t=").partition(",v1=")
        assert abs(int(moment) - time.time()) < 60
        assert given == hmac.new(KEY, moment.encode() + b"." + got.body, "sha256").hexdigest()

    @pytest.mark.parametrize("key", ["not base64!", base64.b64encode(b"short").decode()])
    def test_nothing_is_sent_unsigned_when_the_key_cannot_be_used(self, tmp_path, monkeypatch, key):
        monkeypatch.setattr(type(self), "environ", {"GERT_WEBHOOK_SIGNING_KEY": key})
        with Receiver() as receiver:
            found = self.send(receiver, tmp_path)
        assert found.status == "failed"
        assert key not in found.error
        assert not receiver.got
