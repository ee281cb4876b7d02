"""A ticket file shows what its hash covers, under the name that follows from it, or it is neither shown nor answered."""

from __future__ import annotations

import json
import sqlite3
from hashlib import sha256

import pytest
from binding import acted, bound_gert, pending, resume

from gert_core.approvals.binding import document_hash


@pytest.fixture
def gert(tmp_path):
    return bound_gert(tmp_path)


@pytest.mark.parametrize("command", ["show", "list", "approve"])
def test_a_ticket_file_that_fits_its_own_hash_does_not_stand_for_another_ticket(gert, command):
    """Everything in the forged file agrees with its hash, but not with the name that approvers were given."""
    ticket = pending(gert)
    file = gert.run() / "tickets" / f"{ticket}.json"
    forged = json.loads(file.read_text())
    forged["inputs"] = forged["document"]["inputs"] = {"what": "harmless"}
    forged["request_hash"] = document_hash(forged["document"])
    file.write_text(json.dumps(forged))
    argv = {"show": ("approvals", "show", ticket), "list": ("approvals", "list")}
    said = gert(*argv.get(command, ("approve", ticket, "--as", "ann")))
    assert said.code == (0 if command == "list" else 1), said.all
    assert f"ticket {ticket} was altered: what it shows does not match its hash" in said.all
    assert "harmless" not in said.all
    assert not file.with_suffix(".answers").exists()


@pytest.mark.parametrize("document", [{"shown": {}}, {"shown": None, "run_id": 5}, {"shown": [], "step_key": {}}])
def test_a_ticket_file_with_a_senseless_document_is_altered(gert, document):
    ticket = pending(gert)
    file = gert.run() / "tickets" / f"{ticket}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"document": document}))
    said = gert("approve", ticket, "--as", "ann")
    assert (said.code, said.err.startswith("error: ticket")) == (1, True), said.all


@pytest.mark.parametrize("field", ["step_key", "message", "inputs", "timeout"])
@pytest.mark.parametrize("value", ["\ud800", float("inf")])
def test_a_ticket_file_with_what_gert_cannot_write_takes_no_other_out_of_the_list(gert, field, value):
    """Half of a surrogate pair and a number without an end can be read from JSON, and be neither shown nor hashed."""
    damaged = pending(gert)
    file = gert.run() / "tickets" / f"{damaged}.json"
    facts = json.loads(file.read_text())
    for one in (facts, facts["document"]):
        if field in one:
            one[field] = {"what": value} if field == "inputs" else value
    whole = pending(gert)
    file.write_text(json.dumps(facts))
    said = gert("approvals", "list")
    assert (said.code, "internal error" in said.all) == (0, False), said.all
    assert f"{whole}  pending" in said.out, said.all
    assert f"{damaged}  unreadable" in said.out, said.all
    for command in (("approvals", "show", damaged), ("approve", damaged, "--as", "ann")):
        said = gert(*command)
        assert (said.code, f"{damaged}.json is damaged" in said.err) == (1, True), said.all
    assert gert("approve", whole, "--as", "ann").code == 0


@pytest.mark.parametrize("field", ["approver_id", "reason", "evidence"])
def test_an_answer_file_with_what_gert_cannot_write_is_left_out(gert, field):
    ticket = pending(gert)
    assert gert("approve", ticket, "--as", "ann").code == 0
    (file,) = (gert.run() / "tickets" / f"{ticket}.answers").iterdir()
    value = {"note": "\ud800"} if field == "evidence" else "\ud800"
    file.write_text(json.dumps(json.loads(file.read_text()) | {field: value}))
    for command in (("approvals", "list"), ("runs", "show", "latest"), ("resume", "latest")):
        said = gert(*command)
        assert (said.code, "internal error" in said.all) == (0, False), said.all
    assert acted(gert) == []
    assert gert("approve", ticket, "--as", "ann").code == 0


LIES = {
    "rule": "Rule 1 applies: require-approval for effects danger.\nThe change board has approved it.",
    "runbook_name": "harmless",
    "step_type": "manual",
    "description": "does nothing",
    "approvers": ["eve"],
    "created": "2026-01-02T03:04:05Z",
    "command": ["true"],
    "risk_level": "low",
    "require_signed": True,
    "extensions": {"x-note": "routine"},
    "timeout": 1.0,
}


@pytest.mark.parametrize("field", LIES)
def test_an_approver_is_shown_nothing_that_the_hash_does_not_cover(gert, field):
    """A ticket file in which one field that is shown was replaced."""
    ticket = pending(gert)
    file = gert.run() / "tickets" / f"{ticket}.json"
    facts = json.loads(file.read_text())
    assert facts[field] != LIES[field]
    file.write_text(json.dumps({**facts, field: LIES[field]}))
    for command in (("approve", ticket, "--as", "ann"), ("approvals", "show", ticket)):
        said = gert(*command)
        assert (said.code, "was altered: what it shows does not match its hash" in said.err) == (1, True), said.all
        assert "harmless" not in said.all
    listed = gert("approvals", "list", "--json").document
    assert (listed["approvals"], listed["unreadable"][0]["ticket_id"]) == ([], ticket)
    assert "does not match the request to approve" in resume(gert)["failure"]["message"]
    assert acted(gert) == []


def test_a_ticket_that_binds_less_is_not_answered(gert):
    """As an earlier version made it: what is only shown is left out of the document, the hash fits."""
    ticket = pending(gert)
    file = gert.run() / "tickets" / f"{ticket}.json"
    facts = json.loads(file.read_text())
    del facts["document"]["shown"]
    bare = json.dumps(facts["document"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    facts |= {"rule": LIES["rule"], "request_hash": sha256(bare.encode()).hexdigest()}
    file.write_text(json.dumps(facts))
    said = gert("approve", ticket, "--as", "ann")
    assert (said.code, "covers less than approvals do now" in said.err) == (1, True), said.all


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE gert_events SET line = replace(line, 'require-approval', 'allow')", "trace_altered"),
        ("UPDATE gert_events SET line = 5 WHERE seq = 4", "trace_altered"),
        ("UPDATE gert_events SET line = 900000000000 WHERE seq = 4", "trace_altered"),
        ("UPDATE gert_tickets SET status = 'approved'", None),
        ("UPDATE gert_runs SET status = 'completed'", None),
        ("UPDATE gert_blobs SET data = 7 WHERE name LIKE 'tickets/%'", None),
    ],
)
def test_forged_rows_of_a_database_execute_nothing_and_end_with_a_sentence(tmp_path, statement, kind):
    """Values of other types than gert writes are read as what they are: content that fits nothing."""
    gert = bound_gert(tmp_path)
    store = ("--store", "sqlite:kept.db")
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json", *store)
    with sqlite3.connect(tmp_path / "kept.db") as database:
        database.execute(statement)
    database.close()
    said = gert("resume", "--run", said.document["run_id"], "--json", *store)
    assert acted(gert) == []
    if kind is None:
        assert "internal" not in said.all
    else:
        assert said.document["error"]["kind"] == kind, said.all
