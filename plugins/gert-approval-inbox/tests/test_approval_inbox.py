"""The inbox: tickets out, answers in, each handed over once."""

from __future__ import annotations

import os
import threading
import time

import gert_approval_inbox
import pytest
from gert_approval_inbox.session import open_session
from msgspec.structs import replace

from gert_core.api import ApprovalRequest, ApprovalResponse, RunError, Services, UsageError
from gert_core.engine.cancel import Deadline, Stop
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun

REQUEST = ApprovalRequest(
    ticket_id="t-1",
    run_id="r",
    step_id="restart",
    step_key="restart",
    runbook_name="fix",
    step_type="tool",
    description="",
    risk_level="critical",
    contract={},
    inputs={},
    request_hash="aa",
)
ANSWER = ApprovalResponse(
    ticket_id="t-1",
    approved=True,
    approver_id="alice",
    method="inbox",
    timestamp="2026-03-01T12:00:00Z",
    uid=os.geteuid(),
)


def waited(session, ticket, deadline):
    """The next answer, without the time at which its file was written."""
    found = session.wait(ticket, deadline)
    return found and replace(found, written=None)


def session(run_dir, **config):
    return open_session(Services(console=None, run=run_dir and DirectoryRun(run_dir), config=config))


def test_submit_is_idempotent_and_writes_the_ticket_into_the_run_directory(tmp_path):
    inbox = session(tmp_path)
    ticket = inbox.submit(REQUEST)
    assert inbox.submit(REQUEST) == ticket
    assert TicketStore(DirectoryRun(tmp_path)).get("t-1") == REQUEST


def test_wait_returns_at_once_without_an_answer(tmp_path):
    inbox = session(tmp_path)
    ticket = inbox.submit(REQUEST)
    started = time.monotonic()
    assert waited(inbox, ticket, Deadline(Stop())) is None
    assert time.monotonic() - started < 1


def test_each_answer_is_handed_over_once_and_again_to_a_later_process(tmp_path):
    inbox = session(tmp_path)
    ticket = inbox.submit(REQUEST)
    store = TicketStore(DirectoryRun(tmp_path))
    store.answer(ANSWER)
    store.answer(replace(ANSWER, approver_id="bob"))
    deadline = Deadline(Stop())
    assert waited(inbox, ticket, deadline) == ANSWER
    assert waited(inbox, ticket, deadline).approver_id == "bob"
    assert waited(inbox, ticket, deadline) is None
    later = session(tmp_path)
    assert waited(later, later.submit(REQUEST), deadline) == ANSWER


def test_with_patience_it_waits_for_the_answer(tmp_path):
    inbox = session(tmp_path, wait=20)
    ticket = inbox.submit(REQUEST)
    store = TicketStore(DirectoryRun(tmp_path))
    threading.Timer(0.2, store.answer, [ANSWER]).start()
    assert waited(inbox, ticket, Deadline(Stop())) == ANSWER


def test_patience_ends_with_the_deadline(tmp_path):
    inbox = session(tmp_path, wait=60)
    ticket = inbox.submit(REQUEST)
    started = time.monotonic()
    assert inbox.wait(ticket, Deadline(Stop(), 0.1)) is None
    assert time.monotonic() - started < 5


def test_without_a_run_directory_it_refuses():
    with pytest.raises(RunError, match="needs a run that is kept"):
        session(None)


@pytest.mark.parametrize("value", ["soon", -1, True, None])
def test_a_wrong_setting_is_refused(tmp_path, value):
    with pytest.raises(UsageError, match=r"approvals\.config\.wait"):
        session(tmp_path, wait=value)


def test_the_plugin_registers_an_asynchronous_provider():
    (provider,) = gert_approval_inbox.gert_approval_providers()
    assert (provider.name, provider.blocking) == ("inbox", False)
