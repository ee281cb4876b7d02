"""Receivers of notifications that tell secrets back, projects that ask for gert's keys, and notifiers that return nonsense."""

from __future__ import annotations

import base64
import json

import pytest
from gertproc import Gert

from gert_core import hookimpl
from gert_core.api import Delivery, Notifier
from gert_core.hosting.deliveries import Deliverer, Effort
from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryStore
from gert_core.testing.receivers import Receiver

BOOK = """\
apiVersion: kernel/v0
meta: { name: disk-check, inputs: { pw: { type: string, secret: true, required: false, from: env/PW } } }
steps:
  - { type: end, outcome: { category: escalated, code: disk_full } }
"""
WEBHOOK = "name: ops\nnotify:\n  - { on: [escalated], webhook: env/HOOK }\n"
KEY = "hmac-sha256:" + base64.b64encode(b"0123456789abcdef" * 2).decode()
TOKEN = "abcdefghijklmnopqrstuvwx"
PAIR = base64.b64encode(f"bot:{TOKEN}".encode()).decode()


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(book=BOOK)
    (tmp_path / "gert-project.yaml").write_text(WEBHOOK)
    return made


def written(gert, *said):
    files = [path.read_text(errors="replace") for path in gert.root.rglob("runs/**/*") if path.is_file()]
    return "\n".join([*files, *(one.all for one in said)])


def pieces(text, size=8):
    return [text[start : start + size] for start in range(len(text) - size + 1)]


def test_a_planted_round_with_a_large_number_is_tried_again_and_ends_with_a_sentence(gert):
    gert("exec", "book.yaml", "--no-notify")
    (owed,) = gert("notify", "list", "--json").document["notifications"]
    planted = gert.run() / "notifications" / owed["id"] / "999999999.json"
    planted.parent.mkdir(parents=True)
    sent = {"id": owed["id"], "notifier": "webhook", "status": "failed", "attempts": 1, "at": "2026-01-01T00:00:00Z"}
    planted.write_text(json.dumps(sent))
    said = gert("notify", "flush", "--now", HOOK="http://127.0.0.1:9/hook")
    assert ("Traceback" in said.all, "was not told of escalated: no connection" in said.all) == (False, True), said.all


def test_no_code_of_an_outcome_looks_like_another_line_of_what_is_told(gert):
    gert.write(book=BOOK.replace("disk_full", '"x)\\nrun FORGED, 0s\\u202e"'))
    with Receiver() as receiver:
        gert("exec", "book.yaml", HOOK=receiver.url())
    (got,) = receiver.got
    first, *rest = json.loads(got.body)["text"].splitlines()
    assert first == "disk-check: escalated (x) run FORGED, 0s\\u202e)"
    assert [line[:4] for line in rest] == ["run "]


PATHS = [
    *(f"/services/T01/B01/{TOKEN}", f"/in?token={TOKEN}&a=b", f"/in?token=%61{TOKEN[1:]}"),
    *(f"/in?{TOKEN}", f"/in;session={TOKEN}", f"bot:{TOKEN}@", f"{TOKEN}@"),
]
"""Where a token may stand in an address; before an `@` it is a user or a password."""


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [TOKEN, f"{'x ' * 95}{TOKEN}", f"no {PAIR}", f"T01/B01/{TOKEN}"])
def test_a_receiver_that_tells_a_part_of_its_address_shows_it_to_nobody(gert, path, body):
    """Not on the screen, and not in what is kept with the run; the answer is recorded all the same."""
    with Receiver(answers=[(403, {"body": body.encode()})]) as receiver:
        address = receiver.url(path) if path[0] == "/" else receiver.url().replace("://", f"://{path}")
        said = gert("exec", "book.yaml", HOOK=address)
    assert said.code == 0
    assert "warning: webhook was not told of escalated: answered with 403: " in said.err
    assert "Traceback" not in said.err
    seen = written(gert, said)
    assert not [part for part in (*pieces(TOKEN), PAIR) if part in seen], seen
    (one,) = json.loads(gert("notify", "list", "--json").out)["notifications"]
    assert (one["status"], one["attempts"]) == ("refused", 1)


def test_spaces_in_a_secret_that_a_receiver_tells_do_not_undo_its_mask(gert):
    with Receiver(answers=[(400, {"body": b"no: alpha  bravo  charlie"})]) as receiver:
        said = gert("exec", "book.yaml", HOOK=receiver.url(), PW="alpha  bravo  charlie")
    assert "answered with 400: no: <REDACTED:pw>" in said.err
    assert "bravo" not in written(gert, said)


@pytest.mark.parametrize("name", ["GERT_TRACE_SIGNING_KEY", "GERT_APPROVAL_SIGNING_KEY", "GERT_STORE"])
@pytest.mark.parametrize("rule", ["pagerduty_severity: error", "webhook: env/NAME"])
def test_no_project_has_a_key_of_gert_sent_to_anybody(gert, rule, name):
    """Neither as a setting of a notifier nor as an address, after the run and later."""
    with Receiver() as receiver:
        settings = f'notifiers: {{pagerduty: {{routing_key: env/{name}, endpoint: "{receiver.url("")}"}}}}\n'
        project = f"name: ops\nnotify:\n  - {{on: [escalated], {rule.replace('NAME', name)}}}\n{settings}"
        (gert.root / "gert-project.yaml").write_text(project)
        value = f"file:{gert.root}/runs" if name == "GERT_STORE" else KEY
        ran = gert("exec", "book.yaml", "--no-notify")
        said = gert("notify", "flush", **{name: value})
        again = gert("exec", "book.yaml", **{name: value})
        assert receiver.got == []
    assert ran.code == again.code == 0, again.all
    for one in (said, again):
        assert f"names {name}, a key of gert or of its store, which no receiver gets" in one.err
        assert KEY not in one.all


def test_a_notifier_gets_only_keys_that_are_called_after_it(gert):
    with Receiver() as receiver:
        said = gert("exec", "book.yaml", HOOK=receiver.url(), GERT_WEBHOOK_SIGNING_KEY=KEY)
        (got,) = receiver.got
    assert said.code == 0
    assert got.headers["gert-signature"].startswith("t=")


@pytest.mark.parametrize(
    "returned",
    [
        Delivery(status="odd"),
        Delivery(status="failed", error=None),
        Delivery(status="failed", error=["x"]),
        Delivery(status="refused", error="x", retry_after="soon"),
    ],
)
def test_a_notifier_that_returns_nonsense_has_failed(gert, returned):
    gert("exec", "book.yaml", "--no-notify", HOOK="http://localhost/")

    class Nonsense:
        @hookimpl
        def gert_notifiers(self):
            return [Notifier(name="webhook", keys=("webhook",), send=lambda *_: returned)]

    registry = Registry.build(scan=(), extra_plugins=[Nonsense()])
    store = DirectoryStore(gert.root / "runs")
    deliverer = Deliverer(store, registry=registry, environ={"HOOK": "http://localhost/"})
    with store.open(next(iter(store.run_ids()))) as run:
        (told,) = deliverer.deliver(run, effort=Effort(tries=1, seconds=5))
    assert told.sent is not None
    assert told.sent.status == "failed"
    assert "notifier 'webhook' returned nonsense: " in told.sent.error


def test_a_time_that_is_no_number_is_no_time_to_wait_for(gert):
    gert("exec", "book.yaml", "--no-notify", HOOK="http://localhost/")

    class Never:
        @hookimpl
        def gert_notifiers(self):
            send = lambda *_: Delivery(status="failed", error="later", retry_after=float("nan"))  # noqa: E731
            return [Notifier(name="webhook", keys=("webhook",), send=send)]

    store = DirectoryStore(gert.root / "runs")
    deliverer = Deliverer(
        store, registry=Registry.build(scan=(), extra_plugins=[Never()]), environ={"HOOK": "http://localhost/"}
    )
    with store.open(next(iter(store.run_ids()))) as run:
        (told,) = deliverer.deliver(run, effort=Effort(tries=1, seconds=5))
    assert told.sent is not None
    assert told.sent.retry_at is not None


def test_who_drops_a_notification_is_named_as_people_are(gert):
    gert("exec", "book.yaml", "--no-notify", PW="password-of-the-run")
    (one,) = json.loads(gert("notify", "list", "--json").out)["notifications"]
    for name, problem in {
        "password-of-the-run": "the name has a secret of the run in it",
        "al\u200bice": "'al\\u200bice' cannot be the id of an actor",
    }.items():
        said = gert("notify", "drop", one["id"], "--as", name, PW="password-of-the-run")
        assert (said.code, problem in said.err) == (2, True), said.all
    assert "password-of-the-run" not in written(gert)
    assert gert("notify", "drop", one["id"], "--as", "alice").code == 0
