"""Evidence and answers are on disk when the trace vouches for them, and a copy that fails leaves nothing."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from pathlib import Path

import pytest
from gertproc import COMMAND, Gert
from lab import Lab

from gert_core.approvals.inbox import entries, respond
from gert_core.runs.attachments import keep
from gert_core.stores.directory import DirectoryRun, DirectoryStore

BOOK = """\
apiVersion: kernel/v0
meta: { name: evidence }
steps:
  - { id: look, type: manual, instructions: Look, required_evidence: [ { kind: attachment, name: shot } ] }
  - { type: end, outcome: { category: resolved } }
"""
LIMIT = 200_000


@pytest.fixture
def synced(monkeypatch) -> list[Path]:
    """The paths of everything that is synced, in order."""
    seen: list[Path] = []
    fsync = os.fsync

    def recording(fd):
        seen.append(Path(os.readlink(f"/proc/self/fd/{fd}")))  # noqa: PTH115 - of a descriptor
        fsync(fd)

    monkeypatch.setattr("os.fsync", recording)
    return seen


def test_evidence_that_cannot_be_copied_whole_leaves_nothing(tmp_path):
    gert = Gert(tmp_path)
    gert.write(book=BOOK)
    (tmp_path / "shot.png").write_bytes(bytes(5 * LIMIT))
    done = subprocess.run(
        [*COMMAND, "exec", "book.yaml"],
        cwd=tmp_path,
        input=b"shot.png\n" * 200,
        capture_output=True,
        env=gert.environ,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)),
    )
    assert done.returncode == 1
    assert b"shot.png cannot be copied: File too large" in done.stderr
    assert list((gert.run() / "attachments").iterdir()) == []


def test_evidence_that_cannot_be_read_to_its_end_leaves_nothing(tmp_path):
    def parts():
        yield b"the beginning"
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "run").mkdir()
    with pytest.raises(OSError, match="Input/output error"):
        keep(DirectoryRun(tmp_path / "run"), "attachments", "shot.png", parts)
    assert list((tmp_path / "run" / "attachments").iterdir()) == []


def test_evidence_is_synced_with_its_directories(tmp_path, synced):
    (tmp_path / "shot.png").write_bytes(b"pixels")
    steps = "- { id: look, type: manual, instructions: Look, required_evidence: [ { kind: attachment, name: shot } ] }"
    ran = Lab(tmp_path)(steps, answers=[str(tmp_path / "shot.png")])
    ran.assert_outcome("resolved")
    home = ran.result.trace.parent
    (kept,) = (home / "attachments").iterdir()
    assert kept.read_bytes() == b"pixels"
    start = synced.index(home / "attachments")
    assert synced[start - 1].parent == home / "attachments", "the file, before it got its name"
    assert synced[start : start + 2] == [home / "attachments", home]


def test_tickets_and_answers_are_synced_with_their_directories(tmp_path, synced):
    governance = "governance: { rules: [ { effects: [network], action: require-approval } ] }"
    waiting = Lab(tmp_path)("- { id: a, type: tool, tool: lab }", meta=governance, approval="inbox")
    tickets = waiting.result.trace.parent / "tickets"
    start = synced.index(tickets)
    assert synced[start - 1].parent == tickets
    assert synced[start + 1] == tickets.parent
    synced.clear()
    (entry,) = entries(DirectoryStore(tmp_path / "runs"))
    respond(entry, approved=True, approver="bob", reason=None, environ={}, schemes=lambda _: None)
    (folder,) = tickets.glob("*.answers")
    assert synced[0].parent == folder
    assert synced[1:] == [folder, tickets]
