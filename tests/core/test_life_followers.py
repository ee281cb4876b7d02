"""Following a run: when it ends, how soon events are seen, and that several in one process read the store once."""

from __future__ import annotations

import threading
import time

import pytest

from gert_core.runs.lifecycle import followers as module
from gert_core.runs.lifecycle.followers import Followers
from gert_core.runs.lifecycle.stream import follow_events, follow_lines
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.store_lines import event_lines, write_run

RUN = "20260101T000000Z-a-1"


@pytest.fixture
def store(tmp_path):
    return DirectoryStore(tmp_path / "runs")


def seqs(found):
    return [event.seq for event in found]


@pytest.fixture
def live(store):
    """A run that is executed: a function writes its lines up to a number, of which the 40th is its end."""
    run = store.create(RUN, blobs={"meta.json": b"{}\n"})
    lease = run.acquire("w1", 30.0)
    sink, lines, done = run.sink(seq=0, lease=lease), event_lines(RUN, 40, end="completed"), 0

    def write(last):
        nonlocal done
        sink.write(lines[done:last], last)
        done = last

    write(3)
    yield write
    sink.close()
    run.release(lease)


def test_life_follow_ends_with_the_run(store, live):
    seen = []
    thread = threading.Thread(target=lambda: seen.extend(follow_events(store.open(RUN), follow=True)))
    thread.start()
    for last in (4, 20, 40):
        time.sleep(0.1)
        live(last)
    thread.join(5)
    assert seqs(seen) == list(range(1, 41))


def test_life_follow_ends_two_seconds_after_nothing_executes_the_run(store):
    write_run(store, RUN, 3)
    began = time.monotonic()
    assert seqs(follow_events(store.open(RUN), follow=True, since_seq=1)) == [2, 3]
    assert 1.9 < time.monotonic() - began < 6


def test_life_follow_ends_at_a_suspension_unless_it_is_to_go_on(store):
    write_run(store, RUN, 3, end="approval_pending")
    began = time.monotonic()
    assert seqs(follow_events(store.open(RUN), follow=True)) == [1, 2, 3]
    assert seqs(follow_events(store.open(RUN), follow=True, since_seq=3)) == []
    assert time.monotonic() - began < 1.5
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) > 60:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        list(follow_events(store.open(RUN), follow=True, through_suspend=True, sleep=sleep))


def test_several_followers_read_the_store_once(store, live, monkeypatch):
    reads, real = [], module.TraceFollower.read

    def read(self):
        reads.append(threading.current_thread().name)
        return real(self)

    hub, seen = Followers(), [[] for _ in range(8)]
    threads = [
        threading.Thread(
            target=lambda kept=kept: kept.extend(follow_lines(store.open(RUN), follow=True, followers=hub, since_seq=3))
        )
        for kept in seen
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    monkeypatch.setattr(module.TraceFollower, "read", read)
    began = time.monotonic()
    for last in (10, 20, 30):
        time.sleep(0.2)
        live(last)
    time.sleep(0.2)
    looks = (time.monotonic() - began) / module.LOOK
    assert len(reads) <= looks + 2, "as often as one of them alone would look"
    live(40)
    for thread in threads:
        thread.join(5)
    lines = event_lines(RUN, 40, end="completed")
    assert all([line for _, line in kept] == lines[3:] for kept in seen)
    assert hub._shared == {}, "nothing is kept when nobody follows"


def test_a_follower_that_is_far_behind_reads_by_itself(store, live, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 5)
    hub = Followers()
    first = follow_lines(store.open(RUN), follow=True, followers=hub)
    assert [next(first)[0].seq for _ in range(3)] == [1, 2, 3]
    second = follow_lines(store.open(RUN), follow=True, followers=hub)
    assert next(second)[0].seq == 1
    live(30)
    assert [next(first)[0].seq for _ in range(27)] == list(range(4, 31))
    live(40)
    assert [event.seq for event, _ in first] == list(range(31, 41))
    assert [event.seq for event, _ in second] == list(range(2, 41))


def test_life_follow_lag_is_below_a_tenth_of_a_second(store, live):
    lags = []

    def follow():
        for event in follow_events(store.open(RUN), follow=True, since_seq=3):
            lags.append(time.monotonic() - written[event.seq])

    written = {}
    thread = threading.Thread(target=follow)
    thread.start()
    time.sleep(0.3)
    for last in range(4, 41):
        written[last] = time.monotonic()
        live(last)
        time.sleep(0.013)
    thread.join(5)
    assert len(lags) == 37
    assert sorted(lags)[len(lags) // 2] < 0.1, "the median: the machine may be busy"
