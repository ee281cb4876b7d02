"""People are told how runs end and what they wait for: through real servers on loopback, in every store."""

from __future__ import annotations

import base64
import hmac
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from gertproc import COMMAND, Gert

from gert_core import hookimpl
from gert_core.api import Delivery, Notifier
from gert_core.host import run
from gert_core.hosting import deliveries, flushing
from gert_core.hosting.flushing import entries, flush
from gert_core.kit.times import parse_time
from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.receivers import FLOOD, HANG, RESET, Receiver

BOOK = """\
apiVersion: kernel/v0
meta: { name: disk-check, inputs: { host: { type: string, default: web-1 } } }
steps:
  - { type: end, outcome: { category: escalated, code: disk_full, meta: { host: "{{ .host }}" } } }
"""
PROJECT = """\
name: ops
notify:
  - { on: [escalated, failed, error, approval_pending], webhook: env/HOOK }
"""


SLOW = """\
apiVersion: tool/v0
meta: { name: slow }
contract: { effects: [host], idempotent: true }
actions: { run: { argv: [sh, -c, "touch began; sleep 60"] } }
"""


@contextmanager
def at(moment):
    """Deliver at another time of day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deliveries, "now", lambda: moment)
        patch.setattr(flushing, "now", lambda: moment)
        yield


def kill(gert, *argv, when, **environ):
    """Start gert and kill it as soon as something is so."""
    process = subprocess.Popen(
        [*COMMAND, *argv],
        cwd=gert.root,
        env=gert.environ | environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 30
        while not when() and time.monotonic() < end:
            assert process.poll() is None
            time.sleep(0.01)
        assert when()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(book=BOOK)
    (tmp_path / "gert-project.yaml").write_text(PROJECT)
    return made


@pytest.mark.parametrize("store", ["file:runs", "sqlite:runs.db"])
def test_the_outcome_is_posted_after_the_result_is_printed(gert, store):
    with Receiver() as receiver:
        said = gert("exec", "book.yaml", "--json", "--store", store, HOOK=receiver.url("/in?token=s3cr3t-token"))
    assert said.code == 0, said.all
    (got,) = receiver.got
    result = said.document
    assert got.document == {
        "runbook": "disk-check",
        "run_id": result["run_id"],
        "outcome": {"category": "escalated", "code": "disk_full", "meta": {"host": "web-1"}},
        "duration": result["duration"],
        "trace": got.document["trace"],
        "timestamp": got.document["timestamp"],
        "event": "escalated",
        "status": "completed",
        "failure": None,
        "pending": [],
        "next": [],
        "url": None,
        "text": f"disk-check: escalated (disk_full)\nrun {result['run_id']}, {result['duration']}",
    }
    assert got.headers["content-type"] == "application/json"
    start = json.loads(gert("runs", "tail", result["run_id"], "--json", "--store", store).out.splitlines()[0])
    (rule,) = start["data"]["notify"]
    source = f"{gert.root / 'gert-project.yaml'}#notify/0/webhook"
    assert {**rule, "sha256": ""} == {
        "on": ["escalated", "failed", "error", "approval_pending"],
        "notifier": "webhook",
        "source": source,
        "sha256": "",
    }


def test_what_is_told_has_the_address_of_the_run_when_the_project_says_where_runs_are_shown(gert, tmp_path):
    (tmp_path / "gert-project.yaml").write_text(
        f"{PROJECT}notifiers: {{webhook: {{base_url: 'https://runs.test/gert/'}}}}\n"
    )
    with Receiver() as receiver:
        run_id = gert("exec", "book.yaml", "--json", HOOK=receiver.url()).document["run_id"]
    told = receiver.got[0].document
    assert told["url"] == f"https://runs.test/gert/runs/{run_id}"
    assert told["text"].endswith(f"\n{told['url']}")


# -- what is owed ------------------------------------------------------------------------------------------------

FAILS = """\
apiVersion: kernel/v0
meta: { name: fails }
tools: [sh]
steps:
  - { id: look, type: tool, tool: sh }
  - { type: end, outcome: { category: resolved, code: fine } }
"""
SH = """\
apiVersion: tool/v0
meta: { name: sh }
contract: { effects: [host], idempotent: true }
actions: { run: { argv: [sh, -c, "env > seen; test -e repaired"] } }
"""
ASKS = """\
apiVersion: kernel/v0
meta:
  name: asks
  governance: { approval_timeout: 1h, rules: [{ effects: [host], action: require-approval }] }
  on_outcome: { resolved: { webhook: env/DONE } }
tools: [sh]
steps:
  - { id: look, type: tool, tool: sh }
  - { type: end, outcome: { category: resolved, code: fine } }
"""


def owed(gert, *words):
    return gert("notify", "list", *words, "--json").document["notifications"]


def outbox(gert, run_id):
    place = gert.root / "runs" / run_id / "notifications"
    return {
        path.parent.name: json.loads(path.read_text())
        for path in sorted(place.glob("*/*.json"), key=lambda path: int(path.stem))
    }


def test_nothing_is_sent_for_an_outcome_without_a_rule_and_in_other_modes(gert):
    gert.write(book=BOOK.replace("escalated", "no_action"))
    with Receiver() as receiver:
        assert gert("exec", "book.yaml", HOOK=receiver.url()).code == 0
        assert owed(gert) == []
        gert.write(book=BOOK)
        for mode in ("dry-run", "probe"):
            assert gert("exec", "book.yaml", "--mode", mode, "--keep", HOOK=receiver.url()).code == 0
        assert gert("notify", "flush", HOOK=receiver.url()).err == "nothing is due\n"
    assert receiver.got == []


def test_a_run_that_was_resumed_owes_its_new_end_and_no_more_the_failure(gert, tmp_path):
    gert.write(fails=FAILS, tool_sh=SH)
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: [failed, resolved], webhook: env/HOOK}]\n")
    said = gert("exec", "fails.yaml", "--no-notify", "--json", HOOK="http://127.0.0.1:9/x")
    assert said.code == 1
    run = said.document["run_id"]
    assert [(one["event"], one["status"]) for one in owed(gert)] == [("failed", "owed")]
    (tmp_path / "repaired").touch()
    with Receiver() as receiver:
        again = gert("resume", run, "--retry-failed", HOOK=receiver.url())
        assert again.code == 0, again.all
    (got,) = receiver.got
    assert (got.document["event"], got.document["outcome"]["code"], got.document["failure"]) == (
        "resolved",
        "fine",
        None,
    )
    assert owed(gert) == []
    assert [(one["event"], one["status"]) for one in owed(gert, run, "--all")] == [("resolved", "delivered")]


def test_who_approves_is_told_and_reminded_and_others_only_of_the_outcome(gert, tmp_path):
    gert.write(asks=ASKS, tool_sh=SH)
    (tmp_path / "repaired").touch()
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: approval_pending, webhook: env/HOOK, remind: 1s}]\n")
    with Receiver() as asked, Receiver() as done:
        environ = {"HOOK": asked.url(), "DONE": done.url()}
        said = gert("exec", "asks.yaml", "--approval", "inbox", "--json", **environ)
        (first,) = asked.got
        ticket = said.document["pending"][0]["ticket_id"]
        assert first.document["pending"][0]["ticket_id"] == ticket
        assert first.document["next"][0]["command"] == ["gert", "approve", ticket]
        assert f"next: gert approve {ticket}" in first.document["text"]
        time.sleep(1.1)
        assert gert("notify", "flush", **environ).code == 0
        assert [got.document["event"] for got in asked.got] == ["approval_pending"] * 2
        assert len({got.headers["gert-delivery"] for got in asked.got}) == 2
        assert gert("approve", ticket, "--as", "alice").code == 0
        assert gert("resume", said.document["run_id"], **environ).code == 0
        time.sleep(1.1)
        gert("notify", "flush", **environ)
        assert len(asked.got) == 2
        assert [got.document["event"] for got in done.got] == ["resolved"]


def test_an_interrupted_run_is_told_by_flush_a_minute_later(gert, tmp_path):
    gert.write(fails=FAILS.replace("sh }", "slow }").replace("[sh]", "[slow]"), tool_slow=SLOW)
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: interrupted, webhook: env/HOOK}]\n")
    with Receiver() as receiver:
        kill(gert, "exec", "fails.yaml", when=(tmp_path / "began").exists, HOOK=receiver.url())
        assert owed(gert) == []
        with at(datetime.now(UTC) + timedelta(seconds=70)):
            (one,) = list(entries(DirectoryStore(tmp_path / "runs")))
            assert (one.owed.event, one.status) == ("interrupted", "owed")


def test_what_is_posted_by_exec_is_signed_and_the_trace_still_ends_with_the_run(gert, tmp_path):
    key = b"a shared key of enough bytes"
    with Receiver() as receiver:
        written = f"hmac-sha256:{base64.b64encode(key).decode()}"
        assert gert("exec", "book.yaml", HOOK=receiver.url(), GERT_WEBHOOK_SIGNING_KEY=written).code == 0
    (got,) = receiver.got
    moment, _, given = got.headers["gert-signature"].removeprefix("t=").partition(",v1=")
    assert given == hmac.new(key, moment.encode() + b"." + got.body, "sha256").hexdigest()
    (trace,) = tmp_path.glob("runs/*/trace.jsonl")
    assert json.loads(trace.read_text().splitlines()[-1])["type"] == "run_complete"
    assert gert("trace", "verify", str(trace)).code == 0


def test_an_address_of_a_notifiers_own_host_is_sent_by_it_whichever_field_has_it(gert, tmp_path):
    told = []

    class Chat:
        @staticmethod
        @hookimpl
        def gert_notifiers():
            def send(notification, services, deadline):
                told.append((notification.value, notification.document["text"]))
                return Delivery(status="delivered")

            return [Notifier(name="chat", keys=("chat",), send=send, hosts=("chat.example.com",))]

    address = "https://chat.example.com/services/x"
    assert gert("exec", "book.yaml", "--no-notify", HOOK=address).code == 0
    store = DirectoryStore(tmp_path / "runs")
    (one,) = flush(store, registry=Registry.build(extra_plugins=[Chat()]), environ={"HOOK": address})
    assert (one.sent.status, one.sent.notifier) == ("delivered", "chat")
    assert told[0][0] == address
    assert told[0][1].startswith("disk-check: escalated (disk_full)")


@pytest.mark.parametrize(
    "send",
    [lambda *_: 1 / 0, lambda *_: None, lambda *_: sys.exit(3), "no_such_module:send"],
    ids=["raises", "returns nothing", "exits", "is missing"],
)
def test_no_run_fails_by_a_notifier_that_is_broken(tmp_path, send):
    class Broken:
        @staticmethod
        @hookimpl
        def gert_notifiers():
            return [Notifier(name="broken", keys=("broken",), send=send)]

    registry = Registry.build(extra_plugins=[Broken()])
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: escalated, broken: x}]\n")
    assert str(run(tmp_path / "book.yaml", registry=registry).status) == "completed"
    (one,) = flush(DirectoryStore(tmp_path / "runs"), registry=registry, environ={})
    assert (one.sent.status, one.sent.notifier) == ("failed", "broken")


# -- receivers that do not take it -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "status", "attempts", "code"),
    [
        ([500, 200], "delivered", 2, 0),
        ([RESET, 503, 200], "delivered", 3, 0),
        ([(429, {"Retry-After": "0"}), 200], "delivered", 2, 0),
        ([(429, {"Retry-After": "3600"})], "failed", 1, 0),
        ([408, 200], "delivered", 2, 0),
        ([FLOOD], "delivered", 1, 0),
        ([404], "refused", 1, 0),
        ([(301, {"Location": "http://127.0.0.1:9/"})], "refused", 1, 0),
    ],
)
def test_exec_tries_three_times_and_its_exit_code_stays(gert, answers, status, attempts, code):
    with Receiver(answers=list(answers)) as receiver:
        said = gert("exec", "book.yaml", "--json", HOOK=receiver.url())
    assert said.code == code, said.all
    (sent,) = outbox(gert, said.document["run_id"]).values()
    assert (sent["status"], sent["attempts"]) == (status, attempts)
    assert len(receiver.got) == attempts
    assert len({got.headers["gert-delivery"] for got in receiver.got}) == 1
    assert ("warning: webhook was not told of escalated" in said.err) == (status != "delivered")


def test_a_receiver_that_hangs_delays_no_result_and_is_left_within_ten_seconds(gert):
    with Receiver(answers=[HANG]) as receiver:
        began = time.monotonic()
        process = subprocess.Popen(
            [*COMMAND, "exec", "book.yaml"],
            cwd=gert.root,
            env={**gert.environ, "HOOK": receiver.url()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            assert "escalated" in process.stdout.readline().decode()
            receiver.until(1)
            process.send_signal(signal.SIGINT)  # enough of it
            assert process.wait(20) == 0
        finally:
            process.kill()
            process.communicate()
        assert time.monotonic() - began < 15
    assert [one["status"] for one in owed(gert)] == ["owed"]


# -- later -------------------------------------------------------------------------------------------------------


def test_flush_tries_again_when_it_is_time_and_gives_up_after_72_hours(gert, tmp_path):
    assert gert("exec", "book.yaml", HOOK="http://127.0.0.1:9/x").code == 0
    (one,) = owed(gert)
    assert (one["status"], one["attempts"], one["error"]) == ("failed", 3, "no connection")
    assert gert("notify", "flush", HOOK="http://127.0.0.1:9/x").err == "nothing is due\n"
    store = DirectoryStore(tmp_path / "runs")
    moment, waits = parse_time(one["retry_at"]), []
    for _ in range(3):
        with at(moment):
            (told,) = flush(store, registry=Registry.build(), environ={"HOOK": "http://127.0.0.1:9/x"})
        later = parse_time(told.sent.retry_at)
        waits.append(round((later - moment).total_seconds() / 60))
        moment = later
    assert waits == [2, 4, 8]
    with at(parse_time(one["since"]) + timedelta(hours=72, seconds=1)):
        (told,) = flush(store, registry=Registry.build(), environ={"HOOK": "http://127.0.0.1:9/x"})
    assert (told.sent.status, told.sent.attempts, told.sent.retry_at) == ("dead", 7, None)
    assert [entry["status"] for entry in owed(gert)] == ["dead"]
    assert gert("notify", "flush", "--now", HOOK="http://127.0.0.1:9/x").err == "nothing is due\n"
    with Receiver() as receiver:
        said = gert("notify", "flush", one["run_id"], "--now", HOOK=receiver.url())
        assert said.code == 0, said.all
    assert receiver.got[0].headers["gert-delivery"] == one["id"]
    assert owed(gert) == []


def test_what_is_dropped_is_not_tried_any_more(gert):
    said = gert("exec", "book.yaml", "--no-notify", "--json", HOOK="http://127.0.0.1:9/x")
    (one,) = owed(gert)
    assert gert("notify", "drop", one["id"][:12], "--as", "alice").out.startswith("dropped ")
    with Receiver() as receiver:
        for words in ((), ("--now",), (said.document["run_id"], "--now")):
            assert gert("notify", "flush", *words, HOOK=receiver.url()).err == "nothing is due\n"
    assert receiver.got == []
    (entry,) = owed(gert)
    assert (entry["status"], entry["error"]) == ("dead", "dropped by alice")
    assert gert("notify", "drop", "nothing-like-it").code == 2


@pytest.mark.parametrize(
    ("name", "told"),
    [("", "give the id of a notification, or of a run"), ("zzz", "there is no notification and no run zzz")],
)
def test_what_is_not_there_cannot_be_dropped(gert, name, told):
    gert("exec", "book.yaml", "--no-notify", HOOK="x")
    said = gert("notify", "drop", name)
    assert (said.code, said.err.splitlines()[0]) == (2, f"error: {told}")
    assert [one["status"] for one in owed(gert)] == ["owed"]


def test_a_rule_that_changed_since_the_run_began_is_refused(gert, tmp_path):
    gert("exec", "book.yaml", "--no-notify", HOOK="http://127.0.0.1:9/x")
    with Receiver() as receiver:
        (tmp_path / "gert-project.yaml").write_text(PROJECT.replace("env/HOOK", receiver.url()))
        assert gert("notify", "flush").code == 1
        (one,) = owed(gert)
        assert one["status"] == "refused"
        assert one["error"].endswith("#notify/0/webhook says something else than when the run began")
        (tmp_path / "gert-project.yaml").write_text("name: ops\n")
        gert("notify", "flush", one["run_id"], "--now")
        assert owed(gert)[0]["error"].endswith("is not there any more")
    assert receiver.got == []


def test_a_variable_that_is_missing_where_flush_runs_loses_nothing(gert):
    gert("exec", "book.yaml", "--no-notify")
    said = gert("notify", "flush")
    assert (said.code, "HOOK is not set" in said.err) == (1, True)
    with Receiver() as receiver:
        assert gert("notify", "flush", "--now", HOOK=receiver.url()).code == 0
    assert len(receiver.got) == 1


# -- crashes -----------------------------------------------------------------------------------------------------


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


# -- secrets -----------------------------------------------------------------------------------------------------


def test_no_address_or_key_is_in_the_trace_the_outbox_the_list_or_what_is_printed(gert, tmp_path):
    gert.write(fails=FAILS, tool_sh=SH)
    key = "c2lnbmluZy1rZXktb2YtMzItYnl0ZXMtaGVyZS4uLi4="
    with Receiver(answers=[(400, {"body": b"no"})]) as receiver:
        address = receiver.url("/services/T0PS3CRET/B0PS3CRET?token=s3cr3t-t0ken")
        environ = {"HOOK": address, "GERT_WEBHOOK_SIGNING_KEY": key, "GERT_LOG": "debug"}
        for words in (["exec", "fails.yaml"], ["exec", "fails.yaml", "--json", "-vv"]):
            said = gert(*words, **environ)
            assert "PS3CRET" not in said.all
            assert "s3cr3t" not in said.all
        said = gert("exec", "fails.yaml", **{**environ, "HOOK": "http://127.0.0.1:1/s3cr3t-path?PS3CRET=1"})
        for words in (["notify", "list"], ["notify", "list", "--json"], ["notify", "flush", "--now"], ["doctor"]):
            said = gert(*words, **environ)
            assert "PS3CRET" not in said.all
            assert "s3cr3t" not in said.all
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("runs/**/*") if path.is_file())
    for secret in (b"PS3CRET", b"s3cr3t", key.encode()):
        assert secret not in kept
    seen = (tmp_path / "seen").read_text()
    assert not [line for line in seen.splitlines() if line.startswith("HOOK=")]  # no tool gets what only they need
    assert "SIGNING_KEY" not in seen


def test_an_address_in_a_file_is_told_by_its_host_only(gert, tmp_path):
    with Receiver(answers=[404]) as receiver:
        (tmp_path / "gert-project.yaml").write_text(
            f"notify: [{{on: escalated, webhook: '{receiver.url('/s3cr3t-path-of-the-hook')}'}}]\n"
        )
        said = gert("exec", "book.yaml")
        assert "s3cr3t" not in said.all
        assert "s3cr3t" not in gert("notify", "list", "--json").all
    assert "s3cr3t" not in "".join(path.read_text() for path in tmp_path.glob("runs/**/*") if path.is_file())
    found = gert("validate", "gert-project.yaml", "--json").document["diagnostics"]
    assert [one["rule"] for one in found] == ["webhook-literal"]
    assert "s3cr3t" not in json.dumps(found)
