"""Processes that are killed while they tell people, or do it at the same time: nothing is lost, and ids stay."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from gertproc import COMMAND
from notified import at, kill, notified, owed

from gert_core.hosting.flushing import entries, flush
from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.receivers import HANG, Receiver


@pytest.fixture
def gert(tmp_path):
    return notified(tmp_path)


@pytest.mark.parametrize("store", ["file:runs", "sqlite:runs.db"])
def test_two_processes_that_flush_at_once_deliver_once(gert, store):
    for _ in range(3):
        assert gert("exec", "book.yaml", "--no-notify", "--store", store, HOOK="x").code == 0
    with Receiver() as receiver:
        command = [*COMMAND, "notify", "flush", "--store", store]
        environ = {**gert.environ, "HOOK": receiver.url()}
        several = [subprocess.Popen(command, cwd=gert.root, env=environ, stderr=subprocess.DEVNULL) for _ in range(3)]
        assert [process.wait(60) for process in several] == [0, 0, 0]
    assert len(receiver.got) == 3
    assert len({got.headers["gert-delivery"] for got in receiver.got}) == 3


def test_a_process_killed_before_it_delivers_leaves_it_owed(gert, tmp_path):
    with Receiver(answers=[HANG]) as receiver:
        kill(gert, "exec", "book.yaml", when=lambda: receiver.got, HOOK=receiver.url())
        (one,) = owed(gert)
        assert (one["status"], one["id"]) == ("owed", receiver.got[0].headers["gert-delivery"])
        receiver.answers = [200]
        assert gert("notify", "flush", HOOK=receiver.url()).err == "nothing is due\n"  # the claim of the killed one
        with at(datetime.now(UTC) + timedelta(seconds=61)):
            (told,) = flush(
                DirectoryStore(tmp_path / "runs"), registry=Registry.build(), environ={"HOOK": receiver.url()}
            )
        assert told.sent.status == "delivered"
        assert receiver.got[-1].headers["gert-delivery"] == one["id"]
    assert owed(gert) == []


def test_a_process_killed_between_two_deliveries_leaves_the_other_owed(gert, tmp_path):
    (tmp_path / "gert-project.yaml").write_text(
        "notify: [{on: escalated, webhook: env/ONE}, {on: escalated, webhook: env/OTHER}]\n"
    )
    with Receiver() as one, Receiver(answers=[HANG]) as other:
        environ = {"ONE": one.url(), "OTHER": other.url()}
        kill(
            gert,
            "exec",
            "book.yaml",
            when=lambda: other.got and list(tmp_path.glob("runs/*/notifications/*/1.json")),
            **environ,
        )
        assert [entry["status"] for entry in owed(gert, "--all")] == ["delivered", "owed"]
        other.answers = [200]
        with at(datetime.now(UTC) + timedelta(seconds=61)):
            told = list(flush(DirectoryStore(tmp_path / "runs"), registry=Registry.build(), environ=environ))
        assert [entry.sent.status for entry in told] == ["delivered"]
        assert (len(one.got), len(other.got)) == (1, 2)


DIES = """
import os
from pathlib import Path
from gert_core import hookimpl
from gert_core.api import Notifier
from gert_core.hosting.flushing import flush
from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryStore
from gert_notify_webhook.sending import send

def post_and_die(*given):
    send(*given)
    os._exit(9)

class Dies:
    @staticmethod
    @hookimpl
    def gert_notifiers():
        return [Notifier(name="dies", keys=("dies",), send=post_and_die, hosts=("127.0.0.1",))]

list(flush(DirectoryStore(Path("runs")), registry=Registry.build(extra_plugins=[Dies()]), environ=dict(os.environ)))
"""


def test_a_process_that_dies_after_a_delivery_and_before_its_record_tells_it_again_with_the_same_id(gert, tmp_path):
    gert("exec", "book.yaml", "--no-notify", HOOK="x")
    with Receiver() as receiver:
        environ = {**gert.environ, "HOOK": receiver.url()}
        assert subprocess.run([sys.executable, "-c", DIES], cwd=tmp_path, env=environ, check=False).returncode == 9
        assert (len(receiver.got), [one["status"] for one in owed(gert)]) == (1, ["owed"])
        with at(datetime.now(UTC) + timedelta(seconds=61)):
            (told,) = flush(DirectoryStore(tmp_path / "runs"), registry=Registry.build(), environ=environ)
        assert told.sent.status == "delivered"
    assert len(receiver.got) == 2
    assert len({got.headers["gert-delivery"] for got in receiver.got}) == 1
    assert owed(gert) == []


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
import gert_notify_webhook.sending
from gert_core.hosting.flushing import flush
from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryStore

registry, number, running = Registry.build(), 1 - int(sys.argv[1]), True
registry.notifiers()
while running:
    number += int(sys.argv[1])
    copy = Path(f"killed/{number}")
    shutil.copytree("runs", copy)
    child = os.fork()
    if child == 0:
        left = number

        def count(event, args):
            global left
            if event == "open" or event.startswith(("os.", "socket.", "fcntl.")):
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        list(flush(DirectoryStore(copy), registry=registry, environ={"HOOK": f"{os.environ['HOOK']}/{number}"}))
        os._exit(0)
    running = os.waitpid(child, 0)[1] != 0
"""
"""Deliver copies of one notification in processes of which each is killed at a later call, until one is not."""
EVERY = "1" if os.environ.get("GERT_FUZZ") else "11"


def test_a_process_killed_at_any_step_of_a_delivery_loses_nothing(gert, tmp_path):
    gert("exec", "book.yaml", "--no-notify", HOOK="x")
    registry = Registry.build()
    with Receiver() as receiver:
        environ = {**gert.environ, "HOOK": receiver.url("")}
        subprocess.run([sys.executable, "-c", KILLED, EVERY], cwd=tmp_path, env=environ, check=True, timeout=300)
        copies = sorted(tmp_path.glob("killed/*"), key=lambda path: int(path.name))
        early = {int(got.path.strip("/")) for got in receiver.got}
        assert 1 not in early
        assert int(copies[-2].name) in early  # it was told, and what became of it was recorded or not
        for copy in copies:
            with at(datetime.now(UTC) + timedelta(seconds=61)):
                told = flush(DirectoryStore(copy), registry=registry, environ={"HOOK": receiver.url(f"/{copy.name}")})
                assert [one.sent.status for one in told] in ([], ["delivered"])
            (one,) = entries(DirectoryStore(copy))
            assert one.status == "delivered", copy
    paths = [got.path for got in receiver.got]
    assert {f"/{copy.name}" for copy in copies} == set(paths)
    assert max(map(paths.count, paths)) <= 2
    assert len({got.headers["gert-delivery"] for got in receiver.got}) == 1
