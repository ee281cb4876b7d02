"""Tickets as files: private, whole, single-use, and never behind a link."""

from __future__ import annotations

import json
import stat

import pytest
from msgspec.structs import replace

from gert_core.api import ApprovalRequest, ApprovalResponse, RunError
from gert_core.kit.files import UnreadableError
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun

REQUEST = ApprovalRequest(
    ticket_id="t-1",
    run_id="r",
    step_id="s",
    step_key="s",
    runbook_name="b",
    step_type="tool",
    description="",
    risk_level="low",
    contract={"writes": ["x"]},
    inputs={"a": 1},
    request_hash="aa",
    command=("echo", "hi"),
)
ANSWER = ApprovalResponse(
    ticket_id="t-1", approved=True, approver_id="alice", method="inbox", timestamp="2026-03-01T12:00:00Z"
)


@pytest.fixture
def store(tmp_path):
    return TicketStore(DirectoryRun(tmp_path))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_request_comes_back_as_it_was_put(store):
    store.put(REQUEST)
    assert store.get("t-1") == REQUEST
    assert store.tickets() == ["t-1"]
    assert store.get("t-2") is None


def test_files_are_private_and_nothing_else_is_left(store, tmp_path):
    store.put(REQUEST)
    store.answer(ANSWER)
    files = [path for path in (tmp_path / "tickets").rglob("*") if path.is_file()]
    assert {mode(path) for path in files} == {0o600}
    assert len(files) == 2
    assert mode(tmp_path / "tickets") == mode(tmp_path / "tickets" / "t-1.answers") == 0o700


def test_the_same_ticket_twice_is_the_same_request(store, tmp_path):
    store.put(REQUEST)
    before = (tmp_path / "tickets" / "t-1.json").stat().st_mtime_ns
    store.put(REQUEST)
    assert (tmp_path / "tickets" / "t-1.json").stat().st_mtime_ns == before
    with pytest.raises(RunError, match="another request"):
        store.put(replace(REQUEST, request_hash="bb"))


@pytest.mark.parametrize(
    "changed",
    [{"inputs": {"a": 2}}, {"command": ("echo", "harmless")}, {"risk_level": "medium"}, {"contract": {"writes": []}}],
    ids=str,
)
def test_a_ticket_that_showed_something_else_to_approvers_is_refused(store, tmp_path, changed):
    store.put(REQUEST)
    path = tmp_path / "tickets" / "t-1.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(RunError, match="altered") as caught:
        store.put(REQUEST)
    assert caught.value.kind == "ticket_altered"


def test_answers_come_back_in_order(store):
    store.put(REQUEST)
    for approver in ("alice", "bob", "carol"):
        store.answer(replace(ANSWER, approver_id=approver))
    assert [response.approver_id for _, response in store.answers("t-1")] == ["alice", "bob", "carol"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"approved": true}', "null", "[" * 10_000, json.dumps(ANSWER.to_json() | {"approved": "yes"})]
    + [json.dumps(ANSWER.to_json() | wrong) for wrong in ({"approved": "true"}, {"approved": 1}, {"approver_id": 7})],
)
def test_a_broken_answer_file_is_not_an_answer_and_is_named(store, tmp_path, content):
    store.put(REQUEST)
    store.answer(ANSWER)
    path = tmp_path / "tickets" / "t-1.answers" / "0002-x.json"
    path.write_text(content)
    first, (name, broken) = store.answers("t-1")
    assert (replace(first[1], uid=None, written=None), name) == (ANSWER, "0002-x.json")
    assert isinstance(broken, UnreadableError)
    assert f"{path} is damaged" in broken.message


@pytest.mark.parametrize("bad", ["../t-1", "a/b", "", ".", "..", "t-1.json", "t-1\x00", "/etc/passwd"])
def test_a_ticket_id_is_never_a_path(store, bad):
    with pytest.raises(RunError, match="not the name of a ticket"):
        store.get(bad)
    with pytest.raises(RunError):
        store.answer(replace(ANSWER, ticket_id=bad))


def test_symbolic_links_are_not_followed(store, tmp_path):
    store.put(REQUEST)
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(replace(REQUEST, ticket_id="t-2").to_json()))
    (tmp_path / "tickets" / "t-2.json").symlink_to(outside)
    assert store.tickets() == ["t-1", "t-2"]
    with pytest.raises(RunError, match="cannot be read: it is a symbolic link"):
        store.get("t-2")
    (tmp_path / "tickets" / "t-1.answers").mkdir()
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps(ANSWER.to_json()))
    (tmp_path / "tickets" / "t-1.answers" / "0001.json").symlink_to(answer)
    assert isinstance(store.answers("t-1")[0][1], UnreadableError)


def test_a_directory_behind_a_link_is_not_used(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "tickets").symlink_to(tmp_path / "real")
    with pytest.raises(RunError, match="links"):
        TicketStore(DirectoryRun(tmp_path)).put(REQUEST)


def test_a_ticket_file_of_another_ticket_is_refused(store, tmp_path):
    store.put(REQUEST)
    (tmp_path / "tickets" / "t-1.json").rename(tmp_path / "tickets" / "t-3.json")
    with pytest.raises(RunError, match="damaged"):
        store.get("t-3")
