"""``gert approve``, ``gert reject`` and ``gert approvals``."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import gert_signature_hmac
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gert_core.api import ApprovalRequest, ApprovalResponse
from gert_core.approvals import verify_response
from gert_core.approvals.binding import document_hash
from gert_core.approvals.requests import format_time, ticket_id
from gert_core.cli import main as gert
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun

RUN = "20260301T120000Z-fix-00000000"
HMAC = {scheme.algorithm: scheme for scheme in gert_signature_hmac.gert_signature_schemes()}


IDS: dict[str, str] = {}
"""The ids of tickets by the names they have here: a ticket is named after what it shows."""


def main(argv):
    return gert([IDS.get(word, word) for word in argv])


def request(name="t-1", **more):
    now = datetime.now(UTC)
    facts = {
        "run_id": RUN,
        "step_id": "restart",
        "step_key": "restart",
        "runbook_name": "fix",
        "step_type": "tool",
        "description": "",
        "risk_level": "critical",
        "contract": {"effects": ["kubernetes"], "writes": ["production"]},
        "inputs": {"service": "api\x1b[2K"},
        "runbook_hash": "sha256:" + "ab" * 32,
        "created": format_time(now),
        "expires_at": format_time(now + timedelta(minutes=30)),
        "requested_by": "olga",
        "min_approvers": 2,
        "generation": sum(map(ord, name)),  # so that no two of them show the same
    }
    facts |= more
    names = ("run_id", "step_key", "step_id", "description", "requested_by", "runbook_hash", "contract", "inputs")
    bound = {name: facts[name] for name in (*names, "min_approvers", "expires_at")}
    shown = {"risk": facts["risk_level"], "rule": "", "exclude_actor": facts.get("exclude_actor", False)}
    document = {
        "v": 2,
        "generation": facts["generation"],
        **bound,
        **shown,
        "command": None,
        "approvers": facts.get("approvers") or [],
    }
    seen = {"rule": "", "command": [], "timeout": 1800.0, "extensions": {}}
    seen |= {name: facts[name] for name in ("runbook_name", "step_type", "created")}
    document["shown"] = seen | {"require_signed": facts.get("require_signed", False)}
    named = {"request_hash": document_hash(document), "document": document} | facts
    IDS[name] = named["ticket_id"] = ticket_id(facts["run_id"], facts["step_key"], named["request_hash"])
    return ApprovalRequest(**named)


@pytest.fixture
def store(tmp_path, monkeypatch):
    for name in ("GERT_APPROVAL_SIGNING_KEY", "GERT_APPROVAL_SIGNING_ALG", "GERT_APPROVAL_SIGNING_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GERT_ACTOR", "alice")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / RUN).mkdir(parents=True)
    store = TicketStore(DirectoryRun(tmp_path / "runs" / RUN))
    store.put(request())
    return store


def answers(store):
    return [answer for _, answer in store.answers(IDS["t-1"])]


def test_approve_writes_an_answer_as_the_current_user(store, capsys, tmp_path):
    assert main(["approve", "t-1", "--reason", "looks fine"]) == 0
    (answer,) = answers(store)
    assert (answer.approved, answer.approver_id, answer.reason) == (True, "alice", "looks fine")
    assert (answer.method, answer.signature) == ("inbox", None)
    (file,) = (tmp_path / "runs" / RUN / "tickets" / f"{IDS['t-1']}.answers").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "1 more approval needed." in capsys.readouterr().out


def test_the_last_approval_says_how_to_go_on(store, capsys):
    assert main(["approve", "t-1"]) == 0
    assert main(["approve", "t-1", "--as", "bob"]) == 0
    assert f"  next: gert runs show {RUN}\n" in capsys.readouterr().out


def test_reject_is_one_answer_and_enough(store, capsys):
    assert main(["reject", "t-1", "--as", "bob", "--reason", "no window"]) == 0
    assert [(a.approved, a.approver_id, a.reason) for a in answers(store)] == [(False, "bob", "no window")]
    assert "next: gert" in capsys.readouterr().out
    assert main(["approve", "t-1"]) == 1
    assert "has all the answers" in capsys.readouterr().err


def test_a_reason_or_comment_that_is_not_utf_8_is_kept_as_text(store, capsys):
    """A shell hands over bytes of any encoding; Python has halves of surrogate pairs for them."""
    assert main(["reject", "t-1", "--as", "bob", "--reason", "no \udce9t\udce9"]) == 0
    assert main(["approvals", "comment", "t-1", "l'\udce9t\udce9"]) == 0
    assert [(a.approved, a.reason) for a in answers(store)] == [(False, "no \ufffdt\ufffd")]
    assert [one.text for one in store.comments(IDS["t-1"])] == ["l'\ufffdt\ufffd"]


def test_json_is_one_document(store, capsys):
    assert main(["approve", "t-1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["ticket_id"], shown["run_id"], shown["missing"]) == (IDS["t-1"], RUN, 1)
    assert shown["response"]["approver_id"] == "alice"
    assert main(["approve", "t-9", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "ticket_unknown"


def test_an_answer_is_signed_when_there_is_a_key(store, monkeypatch, capsys):
    key = base64.b64encode(b"k" * 32).decode()
    monkeypatch.setenv("GERT_APPROVAL_SIGNING_KEY", key)
    monkeypatch.setenv("GERT_APPROVAL_SIGNING_KEY_ID", "ops-1")
    assert main(["approve", "t-1"]) == 0
    (answer,) = answers(store)
    assert (answer.signature_alg, answer.key_id) == ("hmac-sha256", "ops-1")
    verify_response(
        answer,
        request_hash=store.get(IDS["t-1"]).request_hash,
        schemes=HMAC.get,
        environ={"GERT_APPROVAL_VERIFY_KEY_OPS_1": key},
    )
    assert "signed with hmac-sha256" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"GERT_APPROVAL_SIGNING_KEY": "not base64!"}, "cannot be signed"),
        ({"GERT_APPROVAL_SIGNING_KEY": "a2V5", "GERT_APPROVAL_SIGNING_ALG": "rot13"}, "'rot13'"),
        ({"GERT_APPROVAL_SIGNING_KEY": "a2V5", "GERT_APPROVAL_SIGNING_ALG": "ed25519"}, "cannot be signed"),
    ],
)
def test_a_key_that_cannot_sign_writes_nothing(store, monkeypatch, capsys, variables, words):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["approve", "t-1"]) == 2
    assert words in capsys.readouterr().err
    assert answers(store) == []


def test_a_ticket_that_takes_signatures_only_refuses_an_unsigned_approval(store, tmp_path, capsys):
    signed_only = TicketStore(DirectoryRun(tmp_path / "runs" / RUN))
    signed_only.put(request("t-2", require_signed=True))
    assert main(["approve", "t-2"]) == 2
    assert "GERT_APPROVAL_SIGNING_KEY" in capsys.readouterr().err
    assert main(["reject", "t-2"]) == 0


@pytest.mark.parametrize("ticket", ["t-9", "../../etc/passwd", "..", "", "t-1.json", "t-1/../t-1"])
def test_an_unknown_ticket_is_a_sentence(store, capsys, ticket):
    assert main(["approve", ticket]) == 2
    shown = capsys.readouterr()
    assert "there is no ticket" in shown.err
    assert "gert approvals list" in shown.err
    assert "Traceback" not in shown.err


def test_without_any_runs_there_is_no_ticket(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["approve", "t-1"]) == 2
    assert "there is no ticket" in capsys.readouterr().err
    assert main(["approvals", "list"]) == 0


def test_an_expired_ticket_is_refused(store, tmp_path, capsys):
    past = format_time(datetime.now(UTC) - timedelta(minutes=1))
    store.put(request("t-3", expires_at=past))
    assert main(["approve", "t-3"]) == 1
    assert f"expired at {past}" in capsys.readouterr().err


def test_an_approver_whose_clock_is_behind_is_told_at_once(store, capsys):
    """The run would take the answer as a rejection for good."""
    now = datetime.now(UTC)
    store.put(request("t-5", created=format_time(now + timedelta(minutes=5))))
    assert main(["approve", "t-5"]) == 1
    said = capsys.readouterr().err
    assert "is older than its request" in said
    assert "the clock here differs" in said
    assert list(store.answers("t-5")) == []
    assert main(["reject", "t-5"]) == 0


def test_an_approver_whose_clock_may_be_ahead_is_told_the_time(store, capsys):
    store.put(request("t-6", expires_at=format_time(datetime.now(UTC) - timedelta(minutes=1))))
    assert main(["approve", "t-6"]) == 1
    said = capsys.readouterr().err
    assert f"it is {format_time(datetime.now(UTC))[:13]}" in said
    assert "set the clock if it is wrong" in said


OPENED = """
import sys
opened = []
sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" else None)
from gert_core.cli import main
code = main(sys.argv[1:])
print(len([name for name in opened if name.endswith("trace.jsonl")]))
sys.exit(code)
"""


def test_three_hundred_tickets_are_listed_with_one_look_at_the_trace(tmp_path):
    """Counted, not timed: the last line and then the trace are read, however many tickets its run has."""
    (tmp_path / "runs" / RUN).mkdir(parents=True)
    store = TicketStore(DirectoryRun(tmp_path / "runs" / RUN))
    for number in range(300):
        store.put(request(f"t-{number:03}"))
    (tmp_path / "runs" / RUN / "trace.jsonl").write_text("")
    argv = [sys.executable, "-c", OPENED, "approvals", "list", "--json"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    document, opened = done.stdout.splitlines()
    assert (len(json.loads(document)["approvals"]), opened) == (300, "2")


def test_a_resolved_ticket_is_refused(store, tmp_path, capsys):
    event = {
        "type": "approval_resolved",
        "timestamp": "2026-03-01T12:00:00Z",
        "run_id": RUN,
        "seq": 1,
        "step_key": "restart",
        "data": {"ticket_id": IDS["t-1"], "approved": True, "status": "approved"},
        "prev_hash": "0" * 64,
    }
    (tmp_path / "runs" / RUN / "trace.jsonl").write_text(json.dumps(event) + "\n")
    assert main(["approve", "t-1"]) == 1
    assert "resolved already (approved)" in capsys.readouterr().err


def test_the_same_person_cannot_answer_twice(store, capsys):
    assert main(["approve", "t-1"]) == 0
    assert main(["approve", "t-1", "--as", "ALICE"]) == 1
    assert "already" in capsys.readouterr().err
    assert len(answers(store)) == 1


def test_the_actor_of_the_run_is_refused_when_excluded_but_may_reject(store, capsys):
    store.put(request("t-4", exclude_actor=True))
    assert main(["approve", "t-4", "--as", "olga"]) == 1
    assert "started the run" in capsys.readouterr().err
    assert main(["reject", "t-4", "--as", "olga"]) == 0


def test_an_approver_needs_a_name(store, capsys):
    assert main(["approve", "t-1", "--as", " "]) == 2
    assert "--as" in capsys.readouterr().err


def test_tickets_of_a_project_are_found_in_its_runs_directory(tmp_path, monkeypatch, store, capsys):
    (tmp_path / "gert-project.yaml").write_text("runs_dir: elsewhere\n")
    (tmp_path / "elsewhere" / "r1").mkdir(parents=True)
    other = TicketStore(DirectoryRun(tmp_path / "elsewhere" / "r1"))
    other.put(request("t-7", run_id="r1"))
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    assert main(["approve", "t-7"]) == 0
    assert main(["approve", "t-1"]) == 2


def test_list_shows_pending_tickets_and_all_of_them_on_request(store, capsys):
    store.put(request("t-2", expires_at=format_time(datetime.now(UTC) - timedelta(minutes=1))))
    assert main(["approvals", "list"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines() == [
        "TICKET                  STATUS   RISK      STEP     REQUESTED BY  APPROVALS  EXPIRES        RUN",
        f"{IDS['t-1']}  pending  critical  restart  olga          0 of 2     in 30 minutes  20260301T120000Z-fix-00000000",
    ]
    assert "0 of 2" in shown
    assert IDS["t-2"] not in shown
    assert main(["approvals", "list", "--all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["approvals"]
    assert {entry["ticket_id"]: entry["status"] for entry in found} == {IDS["t-1"]: "pending", IDS["t-2"]: "expired"}


def test_a_broken_ticket_does_not_hide_the_others(store, tmp_path, capsys):
    (tmp_path / "runs" / RUN / "tickets" / "t-0.json").write_text("{")
    assert main(["approvals", "list"]) == 0
    assert IDS["t-1"] in capsys.readouterr().out


def test_show_gives_everything_and_nothing_that_disguises_itself(store, capsys):
    assert main(["approvals", "show", "t-1"]) == 0
    shown = capsys.readouterr().out
    for words in ("critical", "kubernetes", "production", "olga", store.get(IDS["t-1"]).request_hash):
        assert words in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("shown", [{"inputs": {"service": "something harmless"}}, {"contract": {"effects": []}}])
def test_who_was_shown_something_else_than_the_hash_stands_for_signs_nothing(store, capsys, shown):
    honest = request()
    store.put(request("t-2", request_hash=honest.request_hash, **shown))
    assert main(["approve", "t-2"]) == 1
    assert f"ticket {IDS['t-2']} was altered" in capsys.readouterr().err
    assert list(store.answers(IDS["t-2"])) == []


POLICY = "apiVersion: policy/v0\nmeta: {{name: people}}\nrules: []\npeople: {{alice: {{keys: ['ed25519:{key}']}}}}\n"


def forge(store, who, ticket="t-1", **more):
    """Write an answer as somebody could who can write to the run's directory."""
    made = {"ticket_id": IDS[ticket], "approver_id": who, "approved": True, "method": "inbox", "signature": None}
    store.answer(ApprovalResponse(**made | {"timestamp": format_time(datetime.now(UTC))} | more))


def test_an_answer_that_cannot_count_blocks_no_approver(store, monkeypatch, tmp_path, capsys):
    """The ticket needs two people: forged answers fill no place, and take no person's own answer away."""
    private = Ed25519PrivateKey.from_private_bytes(b"\1" * 32)
    public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
    (tmp_path / "people.yaml").write_text(POLICY.format(key=public))
    (tmp_path / "gert-project.yaml").write_text("policies: [people.yaml]\n")
    forge(store, "alice")
    forge(store, "alice", signature="AAAA", signature_alg="ed25519")
    forge(store, "eve", timestamp="2001-01-01T00:00:00Z")
    assert main(["approvals", "list", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["approvals"]
    assert (shown["status"], shown["approvers"]) == ("pending", [])
    key = f"ed25519:{base64.b64encode(private.private_bytes_raw()).decode()}"
    monkeypatch.setenv("GERT_APPROVAL_SIGNING_KEY", key)
    assert main(["approve", "t-1", "--as", "alice"]) == 0
    assert "1 more approval needed." in capsys.readouterr().out
    assert main(["approve", "t-1", "--as", "alice"]) == 1
    assert "'alice' has answered" in capsys.readouterr().err
    monkeypatch.delenv("GERT_APPROVAL_SIGNING_KEY")
    assert main(["approve", "t-1", "--as", "bob"]) == 0
    assert "next: gert runs show" in capsys.readouterr().out


def test_signatures_that_cannot_be_verified_here_decide_nothing(store, monkeypatch, capsys):
    """Where signatures are required and the keys are on the run's host, an answer is shown and blocks no other."""
    store.put(request("t-2", require_signed=True, min_approvers=1, step_key="other"))
    forge(store, "alice", "t-2")
    forge(store, "alice", "t-2", signature="AAAA", signature_alg="hmac-sha256", key_id="elsewhere")
    assert main(["approvals", "show", IDS["t-2"], "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["status"], shown["approvers"], shown["unverified"]) == ("pending", [], ["alice"])
    monkeypatch.setenv("GERT_APPROVAL_SIGNING_KEY", base64.b64encode(b"k" * 32).decode())
    assert main(["approve", "t-2", "--as", "alice"]) == 0
    assert "next: gert runs show" in capsys.readouterr().out
