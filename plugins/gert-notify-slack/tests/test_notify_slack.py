"""The notifier ``slack``: the text that it posts, and that nothing in it is markup."""

from __future__ import annotations

import gert_notify_slack

from gert_core.testing.conformance import NotifierConformance
from gert_core.testing.notifiers import DOCUMENT
from gert_core.testing.receivers import Receiver


def plain(text):
    """The block that shows a text as it is."""
    return {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}


class TestSlack(NotifierConformance):
    plugin = gert_notify_slack

    def posted(self, tmp_path, text):
        with Receiver() as receiver:
            self.send(receiver, tmp_path, document={**DOCUMENT, "text": text})
        return receiver.got[0]

    def test_the_message_is_the_text_and_nothing_else(self, tmp_path):
        got = self.posted(tmp_path, DOCUMENT["text"])
        assert got.document["text"] == DOCUMENT["text"]
        assert got.document["blocks"] == [plain(DOCUMENT["text"])]
        assert got.headers["content-type"] == "application/json; charset=utf-8"

    def test_nothing_in_a_run_mentions_a_channel_or_makes_a_link(self, tmp_path):
        text = "<!channel> <https://evil.example|click> a & b &amp; https://evil.example/x *ok* `x` :emoji: @here\n_x_"
        document = self.posted(tmp_path, text).document
        assert document["blocks"] == [plain(text)]
        assert document["text"].startswith(
            "&lt;!channel&gt; &lt;https://evil.example|click&gt; a &amp; b &amp;amp; https"
        )
        said = {name: document[name] for name in ("mrkdwn", "parse", "link_names", "unfurl_links", "unfurl_media")}
        assert said == {
            "mrkdwn": False,
            "parse": "none",
            "link_names": False,
            "unfurl_links": False,
            "unfurl_media": False,
        }

    def test_what_cannot_be_seen_is_spelled_out(self, tmp_path):
        assert self.posted(tmp_path, "a\u202eb\x1b[2J").document["blocks"] == [plain("a\\u202eb\\u001b[2J")]

    def test_a_long_text_is_cut(self, tmp_path):
        document = self.posted(tmp_path, "x" * 10_000).document
        assert len(document["text"]) == len(document["blocks"][0]["text"]["text"]) == 3_000

    def test_what_slack_says_about_a_refusal_is_told(self, tmp_path):
        with Receiver(answers=[(404, {"body": b"no_service"})]) as receiver:
            assert self.send(receiver, tmp_path).error == "answered with 404: no_service"
