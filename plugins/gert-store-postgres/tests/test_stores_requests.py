"""A request to block or cancel a run reaches the process that executes it, and no other one deletes it."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import ExitStack

import pytest
from store_shells import DATABASES, SHORT, STORES, change, each, executing, expire

from gert_core.api import StoreServices, TraceError
from gert_core.engine import cancelling
from gert_core.engine.blocking import block
from gert_core.engine.cancel import Stop
from gert_core.engine.requested import Requested
from gert_core.engine.watching import watch_requests
from gert_core.plugin.lazy import load_target
from gert_core.plugin.registry import Registry
from gert_core.runs.control import CANCEL, CancelRequest, put_request, read_request
from gert_core.trace.writer import TraceWriter

OPENERS = {
    "file": "gert_core.stores.directory:open_store",
    "sqlite": "gert_store_sqlite.store:open_store",
    "postgres": "gert_store_postgres.store:open_store",
}
BLOCK = CancelRequest(by="alice", block="k")


@pytest.fixture(params=STORES)
def opened(request, url, tmp_path):
    """Open the same store, as each process does for itself."""
    address = {"file": "file:runs", "sqlite": "sqlite:runs.db", "postgres": url}[request.param]
    with ExitStack() as stack:
        yield lambda: stack.enter_context(load_target(OPENERS[request.param])(address, StoreServices(root=tmp_path)))


class Worker:
    """What a process has that executes a run: its lease, its writer, and the thread that looks for requests."""

    def __init__(self, run, name, *, ttl=30.0, seq=0):
        self.run, self.name = run, name
        self.lease = run.acquire(name, ttl)
        assert self.lease is not None
        self.stack, self.stop, self.requested = ExitStack(), Stop(), Requested()
        self.writer = TraceWriter(run.sink(seq=seq, lease=self.lease), run_id=run.run_id)
        watch_requests(run, self.lease, self.writer, self.stop, self.requested, self.stack, resumed=True)

    def end(self):
        self.stack.close()
        try:
            self.writer.close()
        except TraceError:
            assert self.writer.ended is False
        self.run.release(self.lease)


def taken_over(opened):
    """A worker that has lost its run, and the run as another one has it."""
    first = Worker(opened().create("r1", blobs={"meta.json": b"{}"}), "first", ttl=0.05)
    if first.run.path is not None:
        first.run.release(first.lease)  # a lock is lost in no other way
    second, lease = opened().open("r1"), None
    while lease is None:  # that of the first lasts for a moment
        lease = second.acquire("second", 30)
    return first, second, lease


def test_store_lease_lost_leaves_a_block_to_the_process_that_executes_the_run(opened):
    first, second, lease = taken_over(opened)
    put_request(second, BLOCK)
    first.end()
    assert read_request(second) == BLOCK
    second.release(lease)
    third = Worker(opened().open("r1"), "third")
    assert third.requested.request.block == "k"
    third.end()


def test_store_lease_lost_neither_takes_nor_deletes_a_request_to_cancel(opened, monkeypatch):
    monkeypatch.setattr("gert_core.engine.watching.LOOK", 0.05)
    first, second, lease = taken_over(opened)
    meant = CancelRequest(by="alice", worker="second", fence=lease.fence)
    put_request(second, meant)
    time.sleep(0.3)
    assert (read_request(second), first.stop.thrown) == (meant, False)
    first.end()
    assert read_request(second) == meant


def test_life_block_that_was_not_recorded_is_left_to_the_next_process(opened):
    run = opened().create("r1", blobs={"meta.json": b"{}"})
    put_request(run, BLOCK)
    first = Worker(run, "first")
    assert read_request(run).taken
    first.end()  # as after a fault of its trace
    second = Worker(opened().open("r1"), "second")
    assert second.requested.request.block == "k"
    second.writer.add("run_start", {"runbook": "book"})
    second.writer.close_run("run_suspended", second.requested.recorded({"status": "blocked"}))
    second.end()
    assert run.info(CANCEL) is None


def test_life_block_that_is_obeyed_before_anybody_looks_is_no_second_one(opened, monkeypatch):
    """The process that executes the run takes the request, blocks the run and is gone before the other one looks again."""
    monkeypatch.setattr("gert_core.engine.watching.LOOK", 0.01)
    store = opened()
    worker = Worker(store.create("r1", blobs={"meta.json": b"{}"}), "first")
    worker.writer.add("run_start", {"runbook": "book"})
    worker.writer.sync()
    until = cancelling._until

    def late(condition, seconds):
        if not worker.writer.ended:
            assert until(lambda: worker.requested.request is not None, 10)
            worker.writer.close_run("run_suspended", worker.requested.recorded({"status": "blocked"}))
            worker.end()
        return until(condition, seconds)

    monkeypatch.setattr(cancelling, "_until", late)
    found = block("r1", store=store, key="k", by="alice", registry=Registry.build(scan=()), environ={})
    assert found.status == "blocked"
    assert store.open("r1").info(CANCEL) is None


def test_life_block_outlives_a_process_that_lost_its_lease(stores):
    def work(shell):
        process, pid = executing(shell, patch=SHORT)
        run_id = shell.gert("runs", "list", "--ids").stdout.split()[0]
        time.sleep(1.2)  # it has looked for requests
        store = load_target(OPENERS[shell.root.name])(shell.environ["GERT_STORE"], StoreServices(root=shell.root))
        with store, store.open(run_id) as run:
            change(shell, f"UPDATE gert_leases SET fence = fence + 1, worker = 'other', expires = {time.time() + 60}")
            put_request(run, BLOCK)
            _, said = process.communicate(timeout=30)
            assert (process.returncode, "the run stops here" in said) == (1, True)
            assert read_request(run).block == "k"
        with pytest.raises(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        expire(shell)
        (shell.root / "again").touch()
        stands = json.loads(shell.gert("resume", run_id, "--json").stdout)
        assert stands["status"] == "blocked"

    each(stores, work, DATABASES)
