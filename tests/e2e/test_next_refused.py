"""What is advised about a run where a command would be refused: nothing, or the one that works."""

from __future__ import annotations

import time

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: act, transport: stdio }
contract: { effects: [danger], writes: [db], idempotent: true }
actions: { do: { argv: [sh, -c, 'echo x >> acted'] } }
"""
ACT = "  - { id: act, type: tool, tool: act }\n"
GATE = "  - { id: act, type: approval, message: ok, timeout: 1s }\n"
HEAD = "apiVersion: kernel/v0\nmeta:\n  name: book\n"
RULES = "  governance: { TIMEOUTrules: [{ effects: [danger], action: require-approval }] }\n"
END = "  - { type: end, outcome: { category: resolved, code: done } }\n"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path, GERT_ACTOR="olga")
    made.write(tool_act=TOOL)
    return made


def pending(gert: Gert, text: str) -> str:
    gert.write(book=text)
    said = gert("exec", "book.yaml", "--approval", "inbox", "--json")
    assert said.document["status"] == "approval_pending", said.all
    return said.document["pending"][0]["ticket_id"]


def followed(gert: Gert) -> list[list[str]]:
    """Resume the run, follow each command that is printed then, and return them."""
    said = gert("resume", "latest", "--json")
    assert said.document["status"] not in ("completed", "approval_pending"), said.all
    shown = gert("runs", "show", "latest", "--json").document
    assert shown["next"] == said.document["next"]
    for step in shown["next"]:
        done = gert(*step["command"][1:], "--json")
        assert done.code == 0, (step, done.all)
    return [step["command"] for step in shown["next"]]


@pytest.mark.parametrize("steps", [ACT, GATE, f"  - id: b\n    type: block\n    steps:\n    {ACT}"])
def test_after_an_expiry_no_retry_is_advised(gert, steps):
    rules = RULES.replace("TIMEOUT", "approval_timeout: 1s, ")
    pending(gert, HEAD + rules + "tools: [act]\nsteps:\n" + steps + END)
    time.sleep(1.2)
    assert followed(gert) == []
    said = gert("resume", "latest", "--retry-failed")
    assert (said.code, "a run asks once for the approval of a step" in said.err) == (1, True), said.all
    assert not (gert.root / "acted").exists()


def test_after_a_rejection_no_retry_is_advised(gert):
    ticket = pending(gert, HEAD + RULES.replace("TIMEOUT", "") + "tools: [act]\nsteps:\n" + ACT + END)
    assert gert("reject", ticket, "--as", "bob").code == 0
    assert followed(gert) == []


BOOK = HEAD + "steps:\n" + END


@pytest.mark.parametrize("trace", [b"", b"\0" * 1000, b'{"type":"run_start"', b"rubbish"])
def test_a_run_without_a_first_event_is_said_to_have_never_started(gert, trace):
    gert.write(book=BOOK)
    assert gert("exec", "book.yaml").code == 0
    (gert.run() / "trace.jsonl").write_bytes(trace)
    (gert.run() / "state.json").unlink(missing_ok=True)
    said = gert("runs", "show", "latest")
    assert (said.code, "never started" in said.out) == (1, True), said.all
    assert "resume" not in said.all
    shown = gert("runs", "show", "latest", "--json")
    assert (shown.code, shown.document["next"], shown.document["resume_point"]) == (1, [], None)
    assert "never started" in shown.document["problem"]
    said = gert("runs", "cancel", "latest")
    assert (said.code, "never started" in said.err, "--abort" in said.err) == (1, True, False)
