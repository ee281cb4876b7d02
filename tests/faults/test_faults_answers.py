"""Answers between users: one that cannot be read decides nothing, and `gert approve` writes what the runner can read."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import tempfile
from pathlib import Path

import pytest
from asking import BOOK, TOOL
from gert_approval_inbox.session import open_session
from gertproc import Gert
from users import gert_as

from gert_core.api import ApprovalRequest, ApprovalResponse, Services
from gert_core.engine.cancel import Deadline, Stop
from gert_core.kit.tickets import TicketStore
from gert_core.stores.directory import DirectoryRun

RUNNER, APPROVER, GROUP = 54320, 54321, 54322
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="root can run gert as another user")


class Desk:
    """A project of one user with a run that waits for an approval."""

    def __init__(self, root):
        self.root = root
        (root / "tools").mkdir()
        (root / "book.yaml").write_text(BOOK)
        (root / "tools" / "box.tool.yaml").write_text(TOOL)
        for path in (root, *root.rglob("*")):
            os.chown(path, RUNNER, RUNNER)
        started = self.as_user(RUNNER, "exec", "book.yaml", "--approval", "inbox", "--json")
        facts = json.loads(started.stdout)
        self.run, self.ticket = root / "runs" / facts["run_id"], facts["pending"][0]["ticket_id"]

    def as_user(self, uid, *argv, groups=(), code=0):
        done = gert_as(uid, *argv, cwd=self.root, groups=groups)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def resume(self):
        done = self.as_user(RUNNER, "resume", "--run", self.run.name, "--json")
        return json.loads(done.stdout)["status"], done.stderr

    def answers(self):
        return sorted((self.run / "tickets" / f"{self.ticket}.answers").glob("*.json"))

    def share(self, group):
        """What an administrator does: the run belongs to a group, which may read and answer its tickets."""
        for path in (self.root / "runs", self.run, *self.run.rglob("*")):
            os.chown(path, -1, group)
            path.chmod(0o2770 if path.is_dir() else 0o660)


@pytest.fixture
def desk():
    root = Path(tempfile.mkdtemp(prefix="gert-"))
    root.chmod(0o755)
    yield Desk(root)
    shutil.rmtree(root)


@needs_root
def test_an_answer_that_cannot_be_read_keeps_the_ticket_pending(desk):
    desk.as_user(RUNNER, "approve", desk.ticket, "--as", "bob")
    (answer,) = desk.answers()
    os.chown(answer, 0, 0)
    status, said = desk.resume()
    assert status == "approval_pending"
    assert f"{desk.ticket} stays pending: {answer} cannot be read: Permission denied" in said
    listed = json.loads(desk.as_user(RUNNER, "approvals", "list", "--json").stdout)
    assert [entry["ticket_id"] for entry in listed["unreadable"]] == [desk.ticket]
    os.chown(answer, RUNNER, RUNNER)
    assert (desk.resume()[0], (desk.root / "done").exists()) == ("completed", True)


@needs_root
def test_root_approves_for_a_user_who_can_read_it(desk):
    """As ``sudo gert approve`` does."""
    desk.as_user(0, "approve", desk.ticket, "--as", "boss")
    (answer,) = desk.answers()
    assert (answer.stat().st_uid, answer.stat().st_gid, answer.stat().st_mode & 0o777) == (0, RUNNER, 0o640)
    assert desk.resume()[0] == "completed"


@needs_root
def test_a_group_shares_a_run(desk):
    desk.share(GROUP)
    desk.as_user(APPROVER, "approve", desk.ticket, "--as", "ann", groups=(APPROVER, GROUP))
    (answer,) = desk.answers()
    assert (answer.stat().st_uid, answer.stat().st_gid, answer.stat().st_mode & 0o777) == (APPROVER, GROUP, 0o640)
    done = gert_as(RUNNER, "resume", "--run", desk.run.name, "--json", cwd=desk.root, groups=(RUNNER, GROUP))
    assert json.loads(done.stdout)["status"] == "completed", done.stderr


@needs_root
def test_an_approver_whose_answer_could_not_be_read_is_told_why_not(desk):
    desk.share(GROUP)
    for path in (desk.root / "runs", desk.run, *desk.run.rglob("*")):  # open to everybody, the group to few
        path.chmod(0o777 if path.is_dir() else 0o666)
    refused = desk.as_user(APPROVER, "approve", desk.ticket, "--as", "ann", code=1)
    assert "who could not read what this user writes there" in refused.stderr
    assert str(GROUP) in refused.stderr
    assert desk.answers() == []
    assert desk.resume()[0] == "approval_pending"


REQUEST = ApprovalRequest(
    ticket_id="t-1",
    run_id="r",
    step_id="act",
    step_key="act",
    runbook_name="fix",
    step_type="tool",
    description="",
    risk_level="low",
    contract={},
    inputs={},
    request_hash="aa",
)
ANSWER = ApprovalResponse(
    ticket_id="t-1", approved=True, approver_id="ann", method="inbox", timestamp="2026-03-01T12:00:00Z"
)


def answered(session, ticket, deadline):
    """Return who gave the next answer."""
    found = session.wait(ticket, deadline)
    return found and found.approver_id


def test_a_process_without_descriptors_waits_for_an_answer(tmp_path, caplog):
    """EMFILE is no rejection: the answer counts as soon as it can be read."""
    session = open_session(Services(console=None, run=DirectoryRun(tmp_path), config={}))
    ticket = session.submit(REQUEST)
    TicketStore(DirectoryRun(tmp_path)).answer(ANSWER)
    deadline = Deadline(Stop())
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        assert answered(session, ticket, deadline) is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert os.strerror(errno.EMFILE) in caplog.text
    assert answered(session, ticket, deadline) == "ann"


@pytest.mark.parametrize("damage", ["{", '{"approved": 1}', "link", "pipe", "directory"])
def test_a_damaged_answer_counts_as_nothing_and_blocks_no_other(tmp_path, damage):
    desk = Gert(tmp_path)
    desk.write(tool_box=TOOL, book=BOOK)
    ticket = desk("exec", "book.yaml", "--approval", "inbox", "--json").document["pending"][0]["ticket_id"]
    folder = desk.run() / "tickets" / f"{ticket}.answers"
    folder.mkdir(mode=0o700)
    bad = folder / "0000-bad.json"
    if damage == "link":
        bad.symlink_to("/dev/zero")
    elif damage == "pipe":
        os.mkfifo(bad)
    elif damage == "directory":
        bad.mkdir()
    else:
        bad.write_text(damage)
    left = f"an answer to ticket {ticket} is left out: {bad} "
    waiting = desk("resume", desk.run().name, "--json")
    assert waiting.document["status"] == "approval_pending"
    assert waiting.err.count("is left out: ") == 1, waiting.err
    (listed,) = desk("approvals", "list", "--json").document["unreadable"]
    assert listed["ticket_id"] == ticket
    for argv in (("approvals", "show", ticket), ("approve", ticket, "--as", "bob")):
        said = desk(*argv)
        assert (said.code, said.err.count(left)) == (0, 1), said.all
    assert desk("resume", desk.run().name, "--json").document["status"] == "completed"


def test_nothing_behind_an_answer_that_may_not_be_read_counts(tmp_path, monkeypatch):
    """It may be a rejection."""
    session = open_session(Services(console=None, run=DirectoryRun(tmp_path), config={}))
    ticket = session.submit(REQUEST)
    store = TicketStore(DirectoryRun(tmp_path))
    for _ in range(3):
        store.answer(ANSWER)
    _, second, _ = sorted((tmp_path / "tickets" / "t-1.answers").iterdir())
    real = os.open

    def refuse(path, *rest, **more):
        if path == second:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    deadline = Deadline(Stop())
    assert [answered(session, ticket, deadline) for _ in range(3)] == ["ann", None, None]
    monkeypatch.undo()
    assert [answered(session, ticket, deadline) for _ in range(3)] == ["ann", "ann", None]
