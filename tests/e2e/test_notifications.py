"""People are told how runs end and what they wait for: through real servers on loopback, in every store."""

from __future__ import annotations

import base64
import hmac
import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
from gertproc import COMMAND
from notified import BOOK, PROJECT, at, kill, looking_book, notified, outbox, owed, script_tool

from gert_core import hookimpl
from gert_core.api import Delivery, Notifier
from gert_core.host import run
from gert_core.hosting.flushing import entries, flush
from gert_core.kit.times import parse_time
from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.receivers import FLOOD, HANG, RESET, Receiver


@pytest.fixture
def gert(tmp_path):
    return notified(tmp_path)


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

FAILS = looking_book("fails")
SH = script_tool("env > seen; test -e repaired")
GATE = "governance: { approval_timeout: 1h, rules: [{ effects: [host], action: require-approval }] }"
ASKS = looking_book("asks", meta=f", {GATE}, on_outcome: {{ resolved: {{ webhook: env/DONE }} }}")


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
    gert.write(fails=looking_book("fails", tool="slow"), tool_slow=script_tool("touch began; sleep 60", name="slow"))
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
