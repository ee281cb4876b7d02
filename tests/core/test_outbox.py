"""When what could not be delivered is tried again, and when that ends; what is damaged loses nothing."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from gert_core.api.errors import StoreError
from gert_core.kit.times import parse_time
from gert_core.runs import outbox
from gert_core.runs.outbox import Rounds, Sent, add, failed, rounds, rounds_of
from gert_core.runs.owed import Owed
from gert_core.stores.directory import DirectoryStore

BEGAN = datetime(2026, 2, 28, 14, 30, tzinfo=UTC)
OWED = Owed(id="d1", rule={"notifier": "webhook"}, event="failed", since=BEGAN.isoformat())


@pytest.fixture
def run(tmp_path):
    return DirectoryStore(tmp_path).create("r1", blobs={"meta.json": b"{}"})


def schedule(**options):
    """The moments of all rounds until it is given up."""
    moment, before = BEGAN, Rounds()
    while True:
        sent = failed(OWED, before, attempts=1, error="no connection", now=moment, **options)
        yield moment, sent
        if sent.status == "dead":
            return
        before, moment = Rounds(count=before.count + 1, last=sent), parse_time(sent.retry_at)


def test_it_is_tried_after_a_minute_and_then_twice_as_long_up_to_an_hour_for_72_hours():
    moments = [moment for moment, _ in schedule()]
    minutes = [(later - moment).total_seconds() / 60 for moment, later in itertools.pairwise(moments)]
    assert minutes[:8] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert set(minutes[6:]) == {60}
    assert timedelta(hours=72) < moments[-1] - BEGAN <= timedelta(hours=73)
    assert [sent.attempts for _, sent in schedule()] == list(range(1, len(moments) + 1))


def test_a_receiver_may_ask_for_more_time_and_never_for_less():
    assert [(moment - BEGAN).total_seconds() for moment, _ in schedule(retry_after=90)][:4] == [0, 90, 210, 450]
    assert next(schedule(retry_after=10.0**9))[1].retry_at == "2026-03-03T14:30:00.000000Z"


def test_what_was_never_tried_is_tried_once_however_late_that_is():
    late = failed(OWED, Rounds(), attempts=1, error="x", now=BEGAN + timedelta(days=10))
    assert Rounds().is_due(BEGAN + timedelta(days=10))
    assert (late.status, Rounds(count=1, last=late).is_due(BEGAN + timedelta(days=20))) == ("dead", False)


def test_rounds_are_kept_one_by_one_and_never_replaced(run):
    first = Sent(id="d1", notifier="webhook", status="failed", attempts=3, at="2026-02-28T14:30:00Z", error="x")
    last = Sent(id="d1", notifier="webhook", status="delivered", attempts=4, at="2026-02-28T14:31:00Z")
    add(run, Rounds(), first)
    with pytest.raises(StoreError):
        add(run, Rounds(), last)
    add(run, rounds(run, "d1"), last)
    assert rounds_of(run) == {"d1": Rounds(count=2, last=last)}
    assert run.names(outbox.PLACE) == ["notifications/d1/1.json", "notifications/d1/2.json"]
    assert rounds(run, "d2") == Rounds()


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"id": 1}', b'{"status": "unknown"}', b"\xff", b'{"a":' * 12_000, b"x" * 100_000]
)
def test_a_damaged_record_is_told_again_rather_than_never(run, data):
    run.put("notifications/d1/1.json", data)
    assert rounds_of(run)["d1"].is_due(BEGAN)
    assert rounds_of(run)["d1"].count == 1


def test_names_that_are_not_rounds_are_passed_over(run):
    run.put("notifications/d1/readme.txt", b"hello")
    run.put("notifications/d1/999999999999.json", b"{}")
    assert rounds_of(run) == {}
