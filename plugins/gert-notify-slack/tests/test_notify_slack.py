"""The notifier ``slack``: the text that it posts, and that nothing in it is markup."""

from __future__ import annotations

import gert_notify_slack
import pytest
from gert_notify_slack.sending import escape

from gert_core.testing.conformance import NotifierConformance
from gert_core.testing.notifiers import DOCUMENT
from gert_core.testing.receivers import Receiver


class TestSlack(NotifierConformance):
    plugin = gert_notify_slack

    def posted(self, tmp_path, text):
        with Receiver() as receiver:
            self.send(receiver, tmp_path, document={**DOCUMENT, "text": text})
        return receiver.got[0]

    def test_the_message_is_the_text_and_nothing_else(self, tmp_path):
        got = self.posted(tmp_path, DOCUMENT["text"])
        assert got.document == {"text": DOCUMENT["text"]}
        assert got.headers["content-type"] == "application/json; charset=utf-8"

    def test_nothing_in_a_run_mentions_a_channel_or_makes_a_link(self, tmp_path):
        got = self.posted(tmp_path, "<!channel> <https://evil.example|click> a & b &amp;")
        assert got.document["text"] == ("&lt;!channel&gt; &lt;https://evil.example|click&gt; a &amp; b &amp;amp;")

    def test_a_long_text_is_cut(self, tmp_path):
        assert len(self.posted(tmp_path, "x" * 10_000).document["text"]) == 3_001

    def test_what_slack_says_about_a_refusal_is_told(self, tmp_path):
        with Receiver(answers=[(404, {"body": b"no_service"})]) as receiver:
            assert self.send(receiver, tmp_path).error == "answered with 404: no_service"


@pytest.mark.parametrize(("text", "escaped"), [("a", "a"), ("<>&", "&lt;&gt;&amp;"), ("&lt;", "&amp;lt;")])
def test_escaping(text, escaped):
    assert escape(text) == escaped
