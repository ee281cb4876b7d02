"""Followers of runs in PostgreSQL are told of new lines: they ask seldom, and miss nothing when nobody tells them."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest
from gert_store_postgres.listening import CHANNEL
from gert_store_postgres.store import open_store
from shell import wait_for

from gert_core.api import StoreServices
from gert_core.runs.lifecycle.followers import Followers
from gert_core.runs.lifecycle.stream import follow_events
from gert_core.testing.store_lines import event_lines


@pytest.fixture
def opened(url):
    stores = []

    def open_():
        stores.append(open_store(url, StoreServices(root=None)))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


class Followed:
    """A run that is written, and followed in a thread."""

    def __init__(self, opened, count=9):
        self.run = opened().create("r1", blobs={"meta.json": b"{}"})
        self.sink = self.run.sink(seq=0, lease=self.run.acquire("w1", 60))
        self.lines = event_lines("r1", count, end="completed")
        self.written = 0
        self.write()
        self.store, self.seen, self.reads = opened(), [], 0
        database = self.store._database
        read = database.read
        database.read = lambda *given: (setattr(self, "reads", self.reads + 1), read(*given))[1]
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()
        wait_for(lambda: self.listening)

    @property
    def listening(self):
        return [run.listening for run in self.store._database._listener._runs.values()] == [True]

    def _follow(self):
        with self.store.open("r1") as run:
            self.seen += [event.seq for event in follow_events(run, follow=True, followers=Followers())]

    def write(self):
        self.written += 1
        self.sink.write(self.lines[self.written - 1 : self.written], self.written)
        self.sink.sync()

    def end(self):
        while self.written < len(self.lines):
            self.write()
        self.thread.join(20)
        assert self.seen == list(range(1, len(self.lines) + 1))
        self.sink.close()


def test_store_follow_pg_asks_seldom_and_sees_every_line(opened):
    run = Followed(opened)
    run.reads, began = 0, time.monotonic()
    time.sleep(1.5)
    assert run.reads <= 4 * (time.monotonic() - began), "once a second for lines, once for who executes the run"
    run.end()
    assert not run.store._database._listener._runs, "nobody follows it any more"


def test_store_follow_pg_closed_connection_of_the_listener_loses_no_line(opened, url):
    run = Followed(opened)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%lock_shared%' AND pid <> pg_backend_pid()"
        )
    wait_for(lambda: not run.listening)
    run.write()
    wait_for(lambda: run.listening, 20)
    run.end()


def test_store_follow_pg_writers_tell_only_of_runs_that_are_followed(opened, url):
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"LISTEN {CHANNEL}")
        run = opened().create("r2", blobs={"meta.json": b"{}"})
        sink = run.sink(seq=0, lease=run.acquire("w1", 60))
        sink.write(event_lines("r2", 1), 1)
        sink.sync()
        sink.close()
        Followed(opened).end()
        told = {notice.payload for notice in other.notifies(timeout=0.2)}
    assert told == {"r1"}
