"""Conformance tests of notifiers, against a real server on loopback."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pytest
from msgspec.structs import replace

from gert_core.api.notifiers import Delivery, Notification
from gert_core.engine.cancel import Deadline, Stop
from gert_core.plugin.kinds import NOTIFIER
from gert_core.plugin.lazy import load_target
from gert_core.testing.cases import PluginConformance
from gert_core.testing.receivers import DRIBBLE, FLOOD, HANG, RESET, Receiver

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.api import Notifier

_SECRET: Final = "/hook/s3cr3t-p4rt-of-an-address"  # noqa: S105 - what must not be told
_LARGEST: Final = 256 * 1024
DOCUMENT: Final[Mapping[str, Any]] = {
    "runbook": "disk-check",
    "run_id": "r1",
    "outcome": {"category": "escalated", "code": "disk_full", "meta": {"host": "a<b>&c"}},
    "duration": "4.204s",
    "trace": "/runs/r1/trace.jsonl",
    "timestamp": "2026-02-28T14:30:00.000000Z",
    "event": "escalated",
    "status": "completed",
    "failure": None,
    "pending": [],
    "next": [{"why": "see it", "command": ["gert", "runs", "show", "r1"]}],
    "url": None,
    "text": "disk-check: escalated (disk_full)\nrun r1, 4.204s",
}
"""What the tests tell."""


class NotifierConformance(PluginConformance):
    """The tests of a notifier that posts to an address; set ``plugin``, and ``value``, what a rule says under its key.

    ``{url}`` in ``value``, ``config`` and ``environ`` becomes the address of a server on loopback. ``accepted`` is the
    status with which a receiver takes a notification.
    """

    value: ClassVar[str] = "{url}"
    options: ClassVar[Mapping[str, Any]] = {}
    accepted: ClassVar[int] = 200

    def notifier(self) -> Notifier:
        """Return the notifier the plugin registers."""
        found: Notifier = self.record(NOTIFIER)
        return found

    def send(self, receiver: Receiver, tmp_path: Path, *, seconds: float = 5.0, **changes: Any) -> Delivery:
        """Make one try at a receiver."""
        url = receiver.url(_SECRET)
        given = {"id": "d1", "event": "escalated", "subject": "gert/ops/disk-check/0123456789ab", "document": DOCUMENT}
        notification = Notification(
            **{**given, "value": self.value.replace("{url}", url), "options": dict(self.options), **changes}
        )
        services = replace(
            self.services(tmp_path),
            config={name: _filled(value, url) for name, value in self.config.items()},
            environ={name: _filled(value, url) for name, value in self.environ.items()},
        )
        found: Delivery = load_target(self.notifier().send)(notification, services, Deadline(Stop(), seconds))
        assert isinstance(found, Delivery)
        assert "s3cr3t" not in found.error, "an error shows the address, which may be a secret"
        return found

    def test_the_record_is_complete(self) -> None:
        notifier = self.notifier()
        assert notifier.summary, "say in one line how it tells people"
        assert callable(load_target(notifier.send))

    def test_a_notification_is_delivered_once(self, tmp_path: Path) -> None:
        with Receiver(answers=[self.accepted]) as receiver:
            assert self.send(receiver, tmp_path) == Delivery(status="delivered")
        (got,) = receiver.got
        assert isinstance(got.document, dict)
        assert "s3cr3t" not in got.body.decode(), "the address is told to the receiver"

    @pytest.mark.parametrize("answer", [408, 429, 500, 503, RESET])
    def test_what_may_go_better_later_is_tried_again(self, tmp_path: Path, answer: Any) -> None:
        with Receiver(answers=[answer]) as receiver:
            assert self.send(receiver, tmp_path).status == "failed"
        assert len(receiver.got) == 1, "the core tries again, not the notifier"

    def test_the_receiver_says_when_to_try_again(self, tmp_path: Path) -> None:
        with Receiver(answers=[(429, {"Retry-After": "17"})]) as receiver:
            assert self.send(receiver, tmp_path).retry_after == 17

    @pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 410])
    def test_what_the_receiver_does_not_want_is_refused(self, tmp_path: Path, status: int) -> None:
        with Receiver(answers=[200]) as other:
            with Receiver(answers=[(status, {"Location": other.url()})]) as receiver:
                assert self.send(receiver, tmp_path).status == "refused"
            assert not other.got, "a redirect was followed"

    def test_nothing_listens(self, tmp_path: Path) -> None:
        with Receiver() as receiver:
            pass
        assert self.send(receiver, tmp_path).status == "failed"

    @pytest.mark.parametrize("answer", [HANG, DRIBBLE])
    def test_the_deadline_is_kept(self, tmp_path: Path, answer: str) -> None:
        began = time.monotonic()
        with Receiver(answers=[answer]) as receiver:
            assert self.send(receiver, tmp_path, seconds=0.4).status == "failed"
        assert time.monotonic() - began < 3

    def test_a_gigabyte_is_not_read(self, tmp_path: Path) -> None:
        with Receiver(answers=[FLOOD]) as receiver:
            self.send(receiver, tmp_path)
        assert receiver.flooded < 64 * 1024 * 1024

    def test_no_more_than_256_kib_are_sent(self, tmp_path: Path) -> None:
        large = {**DOCUMENT, "text": "x" * 300_000, "outcome": {**DOCUMENT["outcome"], "meta": {"log": "y" * 300_000}}}
        with Receiver(answers=[self.accepted]) as receiver:
            found = self.send(receiver, tmp_path, document=large)
        assert found.status == "refused" or len(receiver.got[0].body) <= _LARGEST

    def test_it_is_called_from_several_threads(self, tmp_path: Path) -> None:
        found: list[Delivery] = []
        with Receiver(answers=[self.accepted]) as receiver:
            threads = [threading.Thread(target=lambda: found.append(self.send(receiver, tmp_path))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert [one.status for one in found] == ["delivered"] * 4


def _filled(value: Any, url: str) -> Any:
    return value.replace("{url}", url) if isinstance(value, str) else value


__all__ = ["DOCUMENT", "NotifierConformance"]
