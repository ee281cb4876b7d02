"""Runs that wait for approvals: answered over several resumes, expired, rejected, in branches and loops, signed."""

from __future__ import annotations

import base64
import re
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from lab import Lab, tool
from msgspec.structs import replace

from gert_core.api import RunError
from gert_core.approvals.inbox import entries, respond
from gert_core.engine.modes.real import RealBackend
from gert_core.kit.tickets import TicketStore
from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryRun, DirectoryStore
from gert_core.trace.verify import verify

GATED = {
    **tool("gated", effects="deploys", writes="deployment", idempotent="false"),
    **tool("other", effects="pushes", writes="registry", idempotent="false"),
}
RULES = "governance: {{ rules: [ {{ writes: [deployment], action: require-approval{more} }} ] }}"


class ApprovalProcess:
    """A lab whose runs go through the inbox."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.ran = None

    def start(self, steps, *, more="", meta="", **options):
        self.ran = self.lab(steps, meta=RULES.format(more=more) + "\n" + meta, tools=GATED, approval="inbox", **options)
        return self.ran

    def resume(self, **options):
        self.ran = self.lab.runner.resume(self.ran.result.run_id, **options)
        return self.ran

    def answer(self, key, *, who="bob", approved=True, reason=None):
        open_tickets = {ticket["ticket_id"] for ticket in self.ran.result.pending}
        for entry in entries(DirectoryStore(self.ran.runs)):
            if entry.request.step_key == key and entry.request.ticket_id in open_tickets:
                schemes = self.lab.runner.registry.signature_scheme
                respond(entry, approved=approved, approver=who, reason=reason, environ={}, schemes=schemes)
                return
        raise AssertionError(f"no ticket for {key}")

    @property
    def waiting(self):
        return sorted(ticket["step_key"] for ticket in self.ran.result.pending)

    def sound(self):
        verdict = verify(self.ran.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned"


@pytest.fixture
def desk(tmp_path) -> ApprovalProcess:
    return ApprovalProcess(Lab(tmp_path))


ONE = "- { id: ship, type: tool, tool: gated, inputs: { value: 1 } }"


def test_several_approvers_over_several_resumes(desk):
    assert desk.start(ONE, more=", min_approvers: 3").status == "approval_pending"
    for number, who in enumerate(("ann", "bob", "carl")):
        assert desk.lab.calls == []
        # Nobody new has answered: resuming changes nothing.
        assert desk.resume().status == "approval_pending"
        desk.answer("ship", who=who)
        assert desk.resume().status == ("approval_pending" if number < 2 else "completed")
    assert [data["approver_id"] for data in desk.ran.of("approval_response")] == ["ann", "bob", "carl"]
    assert len(desk.ran.of("approval_submitted")) == 1
    assert desk.ran.of("approval_resolved")[0]["approvers"] == ["ann", "bob", "carl"]
    assert len(desk.lab.calls) == 1
    assert len(desk.ran.of("run_resumed")) == 6
    desk.sound()


def test_the_same_approver_does_not_count_twice_across_resumes(desk):
    desk.start(ONE, more=", min_approvers: 2")
    desk.answer("ship", who="ann")
    desk.resume()
    store = TicketStore(DirectoryRun(desk.ran.result.trace.parent))
    ticket = desk.ran.result.pending[0]["ticket_id"]
    ((_, first),) = store.answers(ticket)
    store.answer(replace(first, approver_id="Ann", reason="me again"))
    assert desk.resume().status == "approval_pending"
    assert [data.get("problem") for data in desk.ran.of("approval_response")] == [None, "approval_duplicate"]
    assert desk.lab.calls == []


def test_a_rejection_ends_the_run_and_cannot_be_retried_away(desk):
    desk.start(ONE + "\n" + ONE.replace("ship", "later"))
    desk.answer("ship", approved=False, reason="not today")
    ran = desk.resume()
    ran.assert_failed("approval_rejected")
    assert "not today" in ran.result.failures[0].message
    with pytest.raises(RunError, match="step ship was not approved") as caught:
        desk.resume(retry_failed=True)
    assert caught.value.kind == "not_resumable"
    assert desk.lab.calls == []


def test_a_rejection_written_down_before_a_crash_stands(desk):
    desk.start(ONE)
    desk.answer("ship", approved=False, reason="not today")
    ran = desk.resume()
    lines = ran.result.trace.read_bytes().splitlines(keepends=True)
    types = [event.type for event in ran.events]
    for last in ("approval_response", "approval_resolved", "step_complete"):
        ran.result.trace.write_bytes(b"".join(lines[: types.index(last) + 1]))
        again = desk.resume()
        again.assert_failed("approval_rejected")
        assert "not today" in again.result.failures[0].message
        assert len(again.of("approval_response")) == len(again.of("approval_resolved")) == 1
    assert desk.lab.calls == []


def test_a_ticket_that_expires_while_the_run_is_suspended_is_a_rejection(desk, monkeypatch):
    desk.start(ONE, meta="")
    text = (desk.lab.directory / "runbook.yaml").read_text()
    assert "approval_timeout" not in text
    later(monkeypatch, hours=2)
    ran = desk.resume()
    assert ran.result.failures[0].kind == "approval_timeout"
    assert ran.of("approval_resolved")[0]["status"] == "expired"
    assert desk.lab.calls == []


def test_an_answer_given_in_time_counts_however_late_the_run_is_resumed(desk, monkeypatch):
    desk.start(ONE)
    desk.answer("ship")
    later(monkeypatch, hours=2)
    assert desk.resume().status == "completed"


def later(monkeypatch, *, hours):
    """Move the clock of runs some hours on."""
    monkeypatch.setattr(RealBackend, "now", lambda self, execution: datetime.now(UTC) + timedelta(hours=hours))


BRANCHES = """
- id: both
  type: parallel
  branches:
    - steps:
        - { id: one, type: tool, tool: gated, scope: one, inputs: { value: 1 } }
        - { id: after, type: tool, tool: lab, scope: after, inputs: { value: after } }
    - steps: [ { id: quick, type: tool, tool: lab, scope: quick, inputs: { value: quick } } ]
    - steps: [ { id: rival, type: tool, tool: gated, scope: rival, inputs: { value: 2 } } ]
    - steps: [ { id: free, type: tool, tool: other, scope: free, inputs: { value: 3 } } ]
"""


def test_a_suspended_branch_lets_others_finish_and_holds_back_the_ones_it_conflicts_with(desk):
    assert desk.start(BRANCHES).status == "approval_pending"
    assert desk.waiting == ["both/0/one"]  # `rival` writes the same and has not even been opened
    assert sorted(map(str, desk.lab.values())) == ["3", "quick"]
    assert not [event for event in desk.ran.events if event.step_key == "both/2/rival"]
    desk.answer("both/0/one")
    assert desk.resume().status == "approval_pending"
    assert desk.waiting == ["both/2/rival"]
    desk.answer("both/2/rival")
    assert desk.resume().status == "completed"
    assert sorted(map(str, desk.lab.values())) == ["1", "2", "3", "after", "quick"]
    merged = desk.ran.of("parallel_merge", "both")
    assert len(merged) == 1
    assert {one["status"] for one in merged[0]["branch_outcomes"]} == {"success"}
    desk.sound()


TICKETS = """
- id: both
  type: parallel
  branches:
    - steps: [ { id: one, type: tool, tool: gated, scope: one, inputs: { value: 1 } } ]
    - steps: [ { id: two, type: tool, tool: third, scope: two, inputs: { value: 2 } } ]
    - steps: [ { id: bad, type: tool, tool: lab, scope: bad, inputs: { value: 0, exit: 3 } } ]
"""


def test_all_tickets_are_pending_and_a_failed_branch_counts_when_they_are_answered(desk):
    more = tool("third", effects="deploys2", writes="registry2", idempotent="false")
    rules = "governance: { rules: [ { effects: [deploys, deploys2], action: require-approval } ] }"
    desk.ran = desk.lab(TICKETS, meta=rules, tools={**GATED, **more}, approval="inbox")
    assert desk.ran.status == "approval_pending"
    assert desk.waiting == ["both/0/one", "both/1/two"]
    desk.answer("both/1/two")
    assert desk.resume().status == "approval_pending"
    assert desk.waiting == ["both/0/one"]
    assert 2 in desk.lab.values()
    desk.answer("both/0/one")
    ran = desk.resume()
    assert ran.status == "failed"
    assert [failure.key for failure in ran.result.failures] == ["both/2/bad"]
    assert sorted(desk.lab.values()) == [0, 1, 2]
    desk.sound()


def test_approvals_inside_a_parallel_loop(desk):
    steps = "- { id: ship, type: tool, tool: gated, for_each: { as: n, over: [5, 6, 7], parallel: true }, inputs: { value: '{{ .n }}' } }"
    desk.start(steps + "\n- { id: sum, type: tool, tool: lab, inputs: { value: '{{ .ship }}' } }")
    assert desk.waiting == ["ship[0]", "ship[1]", "ship[2]"]
    desk.answer("ship[1]")
    assert desk.resume().status == "approval_pending"
    assert desk.lab.values() == [6]
    desk.answer("ship[0]")
    desk.answer("ship[2]")
    assert desk.resume().status == "completed"
    assert desk.lab.values()[-1] == [{"value": 5}, {"value": 6}, {"value": 7}]
    assert len(desk.lab.calls) == 4
    desk.sound()


def test_one_approval_per_turn_of_a_repeat_and_per_jump(desk):
    steps = """
- id: loop
  type: repeat
  repeat: { max: 2 }
  steps: [ { id: turn, type: tool, tool: gated, inputs: { value: "{{ .repeat.index }}" } } ]
- { id: again, type: tool, tool: gated, inputs: { value: "j{{ .again.retry_count }}" }, next: { step: again, max: 1 } }
"""
    desk.start(steps)
    for key in ("loop/0/turn", "loop/1/turn", "again", "again#2"):
        assert desk.waiting == [key]
        desk.answer(key)
        desk.resume()
    assert desk.ran.status == "completed"
    assert desk.lab.values() == [0, 1, "j0", "j1"]
    desk.sound()


def test_the_terminal_may_answer_what_the_inbox_did_not(desk):
    desk.start(ONE)
    ran = desk.resume(approval="stdin", answers=["y ann: fine"])
    assert ran.status == "completed"
    (answer,) = ran.of("approval_response")
    assert (answer["approver_id"], answer["method"]) == ("ann", "piped")
    assert len(ran.of("approval_submitted")) == 1
    desk.sound()


def test_every_crash_around_an_approval_asks_once_and_executes_once(desk):
    desk.start(ONE, more=", min_approvers: 2")
    desk.answer("ship", who="ann")
    desk.answer("ship", who="bob")
    trace = desk.ran.result.trace
    whole = desk.resume()
    lines = trace.read_bytes().splitlines(keepends=True)
    for count in range(1, len(lines)):
        trace.write_bytes(b"".join(lines[:count]))
        shutil.rmtree(
            trace.parent.parent / ".ledger", ignore_errors=True
        )  # which tells a crash from a trace that was cut
        desk.lab.calls.clear()
        try:
            ran = desk.resume()
        except RunError as error:
            assert error.kind == "unknown_outcome"  # noqa: PT017
            ran = desk.resume(reconcile={"ship": "redo"})
        asked = len(ran.of("approval_submitted"))
        if ran.status == "approval_pending":  # the request was not on disk yet, or its approval has served
            assert asked == 1 + (b"step_start" in b"".join(lines[:count])), count
            assert desk.lab.calls == []
            desk.answer("ship", who="ann")
            desk.answer("ship", who="bob")
            ran = desk.resume()
        assert ran.status == "completed", count
        answers = [data["approver_id"] for data in ran.of("approval_response")]
        assert answers == ["ann", "bob"] * asked, count
        assert len(ran.of("approval_submitted")) == len(ran.of("approval_resolved")) == asked, count
        assert len(desk.lab.calls) <= 1
        desk.sound()
    assert whole.status == "completed"


def test_an_approval_covers_only_what_was_asked_for(desk):
    desk.start(ONE)
    desk.answer("ship")
    book = desk.lab.directory / "runbook.yaml"
    book.write_text(book.read_text().replace("value: 1", "value: 666"))
    asked = desk.resume(allow_drift=True)
    assert asked.status == "approval_pending"
    assert desk.lab.calls == []
    (void,) = asked.of("approval_void")
    assert set(void["changed"]) >= {"inputs", "runbook_hash"}
    assert void["ticket_id"] == asked.of("approval_submitted")[0]["ticket_id"]
    desk.answer("ship")
    assert desk.resume(allow_drift=True).status == "completed"
    assert len(desk.lab.calls) == 1


def test_an_approval_serves_one_execution(desk):
    desk.lab.scripts["s"] = [1]
    desk.start("- { id: ship, type: tool, tool: gated, inputs: { script: s, exit: 4 } }")
    desk.answer("ship")
    assert desk.resume().status == "failed"
    again = desk.resume(retry_failed=True, reconcile={"ship": "redo"})
    assert again.status == "approval_pending"
    assert len(desk.lab.calls) == 1
    first, second = again.of("approval_submitted")
    assert (first["generation"], second["generation"]) == (1, 2)
    assert first["ticket_id"] != second["ticket_id"]
    desk.answer("ship")
    assert desk.resume().status == "failed"
    assert len(desk.lab.calls) == 2
    assert len({call.key for call in desk.lab.calls}) == 1


# -- signed traces -----------------------------------------------------------------------------------------------------

KEY = base64.b64encode(b"k" * 32).decode()


def signed(desk):
    schemes = Registry.build().signature_scheme
    key = base64.b64decode(KEY)
    return str(verify(desk.ran.result.trace, key_for=lambda *_: key, schemes=schemes).status)


def test_a_signed_run_is_signed_at_every_end_of_a_process(desk):
    environ = {"GERT_TRACE_SIGNING_KEY": KEY, "GERT_TRACE_SIGNING_KEY_ID": "prod"}
    desk.start(ONE, environ=environ)
    assert signed(desk) == "valid"
    assert desk.ran.of("run_suspended")[0]["signing_key_id"] == "prod"
    desk.answer("ship")
    desk.resume(environ=environ)
    assert signed(desk) == "valid"
    assert [e.type for e in desk.ran.events if e.type.startswith("run_")] == [
        "run_start",
        "run_suspended",
        "run_resumed",
        "run_complete",
    ]
    altered = re.sub(rb'"risk_level":"\w+"', b'"risk_level":"none"', desk.ran.result.trace.read_bytes(), count=1)
    desk.ran.result.trace.write_bytes(altered)
    assert signed(desk) != "valid"


def test_a_signed_run_is_not_resumed_without_a_key(desk):
    environ = {"GERT_TRACE_SIGNING_KEY": KEY, "GERT_TRACE_SIGNING_KEY_ID": "prod"}
    desk.start(ONE, environ=environ)
    desk.answer("ship")
    with pytest.raises(RunError, match=r"is signed \(key prod\)") as caught:
        desk.resume(environ={})
    assert "GERT_TRACE_SIGNING_KEY" in caught.value.hint
    assert desk.lab.calls == []
    assert signed(desk) == "valid"
    assert desk.resume(environ=environ).status == "completed"
    assert signed(desk) == "valid"
