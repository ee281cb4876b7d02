"""An approval is for the documents of its run: one that changes afterwards, wherever it is, has it asked for again."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from gertproc import Gert

END = "  - {type: end, outcome: {category: resolved, code: acted}}\n"
GATE = "  - {id: gate, type: approval, message: deploy one}\n"
ACT = "  - {id: act, type: tool, tool: act}\n"
LOOK = "  - {id: look, type: tool, tool: look}\n"
PART = "  - {id: part, type: runbook, runbook: ./part.yaml}\n"
ASKS = "{effects: [danger], action: require-approval}"


def book(steps: str, *, tools: str = "act", rule: str = "", name: str = "book") -> str:
    governance = f", governance: {{rules: [{rule}]}}" if rule else ""
    return f"apiVersion: kernel/v0\nmeta: {{name: {name}{governance}}}\ntools: [{tools}]\nsteps:\n{steps}{END}"


def tool(name: str, *, effects: str = "danger", word: str = "one") -> str:
    contract = f"{{effects: [{effects}], writes: [production]}}"
    return f"""\
apiVersion: tool/v0
meta: {{name: {name}, transport: stdio, binary: ./act}}
contract: {contract}
actions: {{run: {{argv: [act, {word}]}}}}
"""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_act=tool("act"), tool_look=tool("look", effects="reading", word="looked"))
    (tmp_path / "act").write_text('#!/bin/sh\necho "$1" >> acted\n')
    (tmp_path / "act").chmod(0o755)
    return made


def acted(gert) -> list[str]:
    file = gert.root / "acted"
    return file.read_text().split() if file.exists() else []


def start(gert) -> str:
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    assert said.document["status"] == "approval_pending", said.all
    return said.document["pending"][0]["ticket_id"]


def resume(gert, *more: str) -> dict:
    said = gert("resume", "--run", gert.run().name, "--json", *more)
    return json.loads(said.out)


def approve(gert, ticket: str, who: str = "ann") -> None:
    said = gert("approve", ticket, "--as", who)
    assert said.code == 0, said.all


EVIL = tool("act", word="evil")
CASES = {
    "a tool behind it": ({"book": book(GATE + ACT)}, {"tool_act": EVIL}),
    "a tool that policies ask about no longer": (
        {"book": book(GATE + ACT, rule=ASKS)},
        {"tool_act": tool("act", effects="harmless", word="evil")},
    ),
    "a runbook that is included behind it": (
        {"book": book(GATE + PART), "part": book(ACT, name="part")},
        {"part": book(ACT + LOOK, tools="act, look", name="part")},
    ),
    "a tool of the caller of its runbook": (
        {"book": book(PART + ACT), "part": book(GATE, name="part")},
        {"tool_act": EVIL},
    ),
    "a tool behind a step that policies ask about": (
        {"book": book(ACT + LOOK, tools="act, look", rule=ASKS)},
        {"tool_look": tool("look", effects="reading", word="evil")},
    ),
    "a runbook beside the one that is asked about": (
        {"book": book(PART + PART.replace("part", "other")), "part": book(ACT, rule=ASKS), "other": book(LOOK, tools="look")},
        {"other": book(LOOK + LOOK.replace("id: look", "id: again"), tools="look")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("answers", ["all", "one of two"])
@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_no_approval_is_for_documents_that_changed_after_it(gert, before, after, answers):
    if answers == "one of two":
        two = {name: text.replace("deploy one", "deploy one, min_approvers: 2") for name, text in before.items()}
        before = {
            name: text.replace("require-approval", "require-approval, min_approvers: 2") for name, text in two.items()
        }
    gert.write(**before)
    first = start(gert)
    approve(gert, first)
    gert.write(**after)
    assert resume(gert)["error"]["kind"] == "drift"
    if answers == "one of two":
        gert("approve", first, "--as", "bob")
    waiting = resume(gert, "--on-drift", "allow")
    assert (waiting["status"], acted(gert)) == ("approval_pending", [])
    (void,) = [event["data"] for event in gert.events() if event["type"] == "approval_void"]
    assert (void["ticket_id"], void["changed"]) == (first, ["documents"])
    assert gert("approve", first, "--as", "carl").code == 1, "the old ticket takes no answers"
    for _ in range(3):
        for who in ("ann", "bob"):
            gert("approve", waiting["pending"][0]["ticket_id"], "--as", who)
        waiting = resume(gert, "--on-drift", "allow")
        if waiting["status"] != "approval_pending":
            break
    assert waiting["status"] == "completed", waiting
    assert acted(gert)


def test_a_change_that_is_undone_does_not_bring_an_approval_back(gert):
    gert.write(book=book(GATE + ACT))
    first = start(gert)
    approve(gert, first)
    gert.write(tool_act=EVIL)
    second = resume(gert, "--on-drift", "allow")["pending"][0]["ticket_id"]
    approve(gert, second)
    gert.write(tool_act=tool("act"))
    waiting = resume(gert)
    assert (waiting["status"], acted(gert)) == ("approval_pending", [])
    third = waiting["pending"][0]["ticket_id"]
    assert len({first, second, third}) == 3
    approve(gert, third)
    assert (resume(gert)["status"], acted(gert)) == ("completed", ["one"])


def test_the_next_of_two_approvals_is_asked_for_again_too(gert):
    gert.write(book=book(GATE + GATE.replace("id: gate", "id: second") + ACT))
    approve(gert, start(gert))
    approve(gert, resume(gert)["pending"][0]["ticket_id"])
    gert.write(tool_act=EVIL)
    assert (resume(gert, "--on-drift", "allow")["status"], acted(gert)) == ("approval_pending", [])


def test_documents_that_are_as_they_were_keep_an_approval(gert):
    gert.write(book=book(GATE + PART + ACT), part=book(LOOK, tools="look", name="part"))
    approve(gert, start(gert))
    gert.write(tool_act=EVIL)
    assert resume(gert)["error"]["kind"] == "drift"
    gert.write(tool_act=tool("act"))
    said = resume(gert, "--on-drift", "allow")
    assert (said["status"], acted(gert)) == ("completed", ["looked", "one"])


EARLIER = """\
import sys
from msgspec.structs import replace
from gert_core.engine.steps import approval
made = approval.window_of
approval.window_of = lambda *given: replace(made(*given), narrow=True)
from gert_core.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("changes", ["none", "now", "before"])
def test_a_ticket_of_an_earlier_version_is_good_while_nothing_changed(gert, changes):
    """Its request does not have the documents of the run: it is taken where they are those of the start."""
    gert.write(book=book(GATE + ACT))
    first = ["exec", "book.yaml", "--approval", "inbox", "--as", "olga"]
    if changes == "before":
        start(gert)
        gert.write(tool_act=EVIL)
        first = ["resume", "--run", gert.run().name, "--on-drift", "allow"]
    subprocess.run([sys.executable, "-c", EARLIER, *first], cwd=gert.root, env=gert.environ, check=False)
    submitted = [event["data"] for event in gert.events() if event["type"] == "approval_submitted"][-1]
    assert "documents" not in submitted["request"]
    approve(gert, submitted["ticket_id"])
    gert.write(tool_act=EVIL if changes == "now" else tool("act"))
    said = resume(gert, "--on-drift", "allow")
    expected = ("completed", ["one"]) if changes == "none" else ("approval_pending", [])
    assert (said["status"], acted(gert)) == expected


FAILING = '#!/bin/sh\necho "$1" >> acted\nexit 3\n'
RETRIED = ("--retry-failed", "--yes", "--reconcile", "act=redo", "--on-drift", "allow")


def passed(gert, steps: str) -> str:
    """Approve a gate, and let the step behind it fail."""
    (gert.root / "act").write_text(FAILING)
    gert.write(
        book=book(steps), tool_act=tool("act").replace("writes: [production]", "writes: [production], idempotent: true")
    )
    ticket = start(gert)
    approve(gert, ticket)
    assert (resume(gert)["status"], acted(gert)) == ("failed", ["one"])
    (gert.root / "act").write_text(FAILING.replace("exit 3", "exit 0"))
    return ticket


@pytest.mark.parametrize(
    "steps", [GATE + ACT, "  - id: all\n    type: block\n    steps:\n    " + GATE.strip() + "\n" + ACT]
)
def test_an_approval_that_was_passed_is_asked_for_again_for_other_documents(gert, steps):
    first = passed(gert, steps)
    gert.write(tool_act=EVIL.replace("writes: [production]", "writes: [production], idempotent: true"))
    waiting = resume(gert, "--retry-failed", "--on-drift", "allow")
    assert (waiting["status"], acted(gert)) == ("approval_pending", ["one"]), waiting
    (ticket,) = [one["ticket_id"] for one in waiting["pending"]]
    assert ticket != first
    assert resume(gert, "--on-drift", "allow")["status"] == "approval_pending"
    approve(gert, ticket)
    done = resume(gert, "--on-drift", "allow")
    assert (done["status"], acted(gert)) == ("completed", ["one", "evil"]), done


def test_an_approval_that_was_passed_is_not_asked_for_again_for_the_same_documents(gert):
    passed(gert, GATE + ACT)
    assert (resume(gert, "--retry-failed")["status"], acted(gert)) == ("completed", ["one", "one"])


def test_an_approval_that_was_passed_is_not_taken_out_of_the_runbook(gert):
    passed(gert, GATE + ACT)
    gert.write(book=book(ACT))
    refused = resume(gert, "--retry-failed", "--on-drift", "allow")
    assert (refused["error"]["kind"], acted(gert)) == ("drift", ["one"])


def test_an_approval_that_was_passed_in_changed_documents_is_asked_for_again_when_they_are_put_back(gert):
    passed(gert, GATE + ACT)
    again = tool("act").replace("writes: [production]", "writes: [production], idempotent: true")
    (gert.root / "act").write_text(FAILING)
    gert.write(tool_act=again.replace("one", "two"))
    waiting = resume(gert, "--retry-failed", "--on-drift", "allow")
    approve(gert, waiting["pending"][0]["ticket_id"])
    assert (resume(gert, "--on-drift", "allow")["status"], acted(gert)) == ("failed", ["one", "two"])
    gert.write(tool_act=again)
    assert resume(gert, "--retry-failed")["status"] == "approval_pending"
    assert acted(gert) == ["one", "two"]


KILLED = '#!/bin/sh\necho "$1" >> acted\n[ -e spared ] || kill -9 $PPID\n'
ASKED = "  - {id: act, type: manual, instructions: look, required_evidence: [{name: said, kind: text}]}\n"


def killed(gert, *words: str) -> None:
    said = gert(*words)
    assert said.code == -9, said.all


@pytest.mark.parametrize(("start_with", "rule"), [(ASKED, ASKS), (ASKED, "")], ids=["approved", "allowed"])
def test_a_step_that_a_changed_document_makes_unrepeatable_is_not_repeated(gert, start_with, rule):
    (gert.root / "act").write_text(KILLED)
    gert.write(book=book(start_with, rule=rule))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--questions", "suspend", "--json")
    assert said.document["status"] == "answer_pending", said.all
    gert.write(book=book(ACT, rule=rule))
    run = gert.run().name
    if rule:
        waiting = resume(gert, "--on-drift", "allow")
        approve(gert, waiting["pending"][0]["ticket_id"])
    killed(gert, "resume", "--run", run, "--on-drift", "allow")
    assert acted(gert) == ["one"]
    refused = resume(gert, "--on-drift", "allow")
    assert (refused["error"]["kind"], acted(gert)) == ("unknown_outcome", ["one"])


def test_a_step_that_was_approved_in_changed_documents_and_killed_lets_the_next_one_run(gert):
    (gert.root / "act").write_text(KILLED)
    again = tool("act").replace("writes: [production]", "writes: [production], idempotent: true")
    gert.write(book=book(ACT + LOOK, tools="act, look", rule=ASKS), tool_act=again)
    approve(gert, start(gert))
    gert.write(tool_act=again.replace("one", "two"))
    waiting = resume(gert, "--on-drift", "allow")
    approve(gert, waiting["pending"][0]["ticket_id"])
    killed(gert, "resume", "--run", gert.run().name, "--on-drift", "allow")
    (gert.root / "spared").touch()
    done = resume(gert, "--on-drift", "allow")
    assert (done.get("status"), acted(gert)) == ("completed", ["two", "two", "looked"]), done
