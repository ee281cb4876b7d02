"""The approval step: who is asked, what policies add, what a rejection does, and who approved."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import gert_step_approval
import pytest

from gert_core import hookimpl
from gert_core.api import ApprovalProvider, ApprovalResponse, ApprovalTicket
from gert_core.plugin.registry import Registry
from gert_core.testing import GertRunner, finish
from gert_core.testing.conformance import StepTypeConformance
from gert_core.trace.events import timestamp

RUNBOOK = """
apiVersion: kernel/v0
meta: { name: gate, inputs: { service: { type: string, default: web } } }
steps:
  - { id: ok, type: approval, message: "Restart {{ .service }}?", min_approvers: 2 }
  - { type: finish }
"""


class _Answers:
    """An approval provider whose people answer in order; without answers it waits."""

    def __init__(self, *answers: str, blocking: bool = True) -> None:
        self._answers = answers
        self._blocking = blocking
        self.requests = []

    @hookimpl
    def gert_approval_providers(self) -> list[ApprovalProvider]:
        return [ApprovalProvider(name="people", open=lambda services: self._open(), blocking=self._blocking)]

    def _open(self) -> _Answers:
        self._left = list(self._answers)
        return self

    def submit(self, request):
        self.requests.append(request)
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket, deadline):
        if not self._left:
            deadline.wait(30)
            return None
        who, _, reason = self._left.pop(0).partition(" ")
        moment = datetime.fromisoformat(self.requests[-1].created) + timedelta(seconds=1)
        return ApprovalResponse(
            ticket_id=ticket.ticket_id,
            approved=not who.startswith("!"),
            approver_id=who.lstrip("!"),
            method="test",
            timestamp=timestamp(moment),
            reason=reason or None,
        )

    def close(self):
        pass


class TestApprovalConformance(StepTypeConformance):
    plugin = gert_step_approval
    runbook = RUNBOOK
    helpers = (_Answers("alice", "bob", *["alice", "bob"] * 20),)
    scenario = {"approvals": {"ok": [{"approved": True, "approver_id": who} for who in ("alice", "bob")]}}


class TestWaiting(StepTypeConformance):
    """Nobody answers: a cancel and the expiry end the step."""

    plugin = gert_step_approval
    runbook = RUNBOOK.replace("min_approvers: 2", "timeout: 0.4s, on_reject: fail, continue_on_fail: true")
    slow = RUNBOOK
    helpers = (_Answers(),)


def runner_with(tmp_path, *answers: str, **options) -> tuple[GertRunner, _Answers]:
    people = _Answers(*answers, **options)
    registry = Registry.build(scan=(), extra_plugins=[gert_step_approval, people, finish])
    return GertRunner(directory=tmp_path, registry=registry), people


def book(fields: str, governance: str = "") -> str:
    meta = f"{{ name: gate, governance: {governance} }}" if governance else "{ name: gate }"
    return (
        f"apiVersion: kernel/v0\nmeta: {meta}\nsteps:\n"
        f"  - {{ id: ok, type: approval, message: Go on?, {fields} }}\n  - {{ type: finish }}\n"
    )


ASKS = "{ rules: [{ effects: [human], action: require-approval, min_approvers: 2, approvers: [bob, carol] }] }"


def test_the_request_has_the_message_and_no_command(tmp_path) -> None:
    runner, people = runner_with(tmp_path, "alice")
    runner(RUNBOOK.replace(", min_approvers: 2", ""), inputs={"service": "db"}).assert_outcome("resolved")
    document = people.requests[0].document
    assert document["message"] == "Restart db?"
    assert document["command"] is None
    assert document["rule"] == "The step demands it: require-approval."


def test_the_outputs_are_who_approved_in_order(tmp_path) -> None:
    runner, _ = runner_with(tmp_path, "alice", "alice", "bob")
    ran = runner(RUNBOOK)
    assert ran.of("step_complete", "ok")[0]["outputs"] == {"approver_id": "bob", "approvers": ["alice", "bob"]}


def test_only_named_approvers_count(tmp_path) -> None:
    runner, people = runner_with(tmp_path, "mallory", "bob")
    ran = runner(book("approvers: [alice, bob]"))
    assert ran.of("step_complete", "ok")[0]["outputs"]["approvers"] == ["bob"]
    assert [answer["result"] for answer in ran.of("approval_response")] == ["set_aside", "counted"]
    assert people.requests[0].document["approvers"] == ["alice", "bob"]


def test_policies_add_approvers_and_people(tmp_path) -> None:
    runner, people = runner_with(tmp_path, "alice", "bob", "carol")
    ran = runner(book("approvers: [alice, bob, carol]", ASKS))
    assert ran.of("step_complete", "ok")[0]["outputs"]["approvers"] == ["bob", "carol"]
    document = people.requests[0].document
    assert (document["min_approvers"], document["approvers"]) == (2, ["bob", "carol"])
    (decision,) = [found for found in ran.of("governance_decision") if found["step_id"] == "ok"]
    assert (decision["source"], decision["rule"]) == ("runbook", 1)


def test_a_policy_cannot_allow_it(tmp_path) -> None:
    runner, people = runner_with(tmp_path, "alice")
    runner(book("min_approvers: 1", "{ rules: [{ default: allow }] }")).assert_outcome("resolved")
    assert len(people.requests) == 1


def test_a_policy_can_deny_it(tmp_path) -> None:
    runner, people = runner_with(tmp_path, "alice")
    ran = runner(book("on_reject: fail", "{ rules: [{ effects: [human], action: deny }] }"))
    ran.assert_failed("governance_denied")
    assert not people.requests


def test_a_policy_that_names_no_approvers_is_not_satisfied_by_an_agent(tmp_path) -> None:
    asks = "{ rules: [{ effects: [human], action: require-approval }] }"
    runner, people = runner_with(tmp_path, "agent:bot", "alice")
    ran = runner(book('approvers: ["agent:bot", alice]', asks))
    assert ran.of("step_complete", "ok")[0]["outputs"]["approvers"] == ["alice"]
    runner, people = runner_with(tmp_path, "agent:bot")
    runner(book('approvers: ["agent:bot", alice]')).assert_outcome("resolved")
    assert people.requests[0].approvers == ("agent:bot", "alice")


@pytest.mark.parametrize(
    ("own", "policy", "seconds"), [("10m", None, 600), ("2h", None, 7200), ("2h", "20m", 1200), ("5m", "20m", 300)]
)
def test_the_shortest_expiry_counts(tmp_path, own: str, policy: str | None, seconds: int) -> None:
    runner, people = runner_with(tmp_path, "alice")
    runner(book(f"timeout: {own}", f"{{ approval_timeout: {policy} }}" if policy else "")).assert_outcome("resolved")
    request = people.requests[0]
    lasts = datetime.fromisoformat(request.expires_at) - datetime.fromisoformat(request.created)
    assert (lasts.total_seconds(), request.timeout) == (seconds, seconds)


def test_a_rejection_ends_the_run(tmp_path) -> None:
    runner, _ = runner_with(tmp_path, "!alice not today")
    ran = runner(book("continue_on_fail: true"))
    ran.assert_failed("approval_rejected")
    assert ran.of("step_complete", "ok")[0]["status"] == "skipped"
    assert ran.result.failures[0].message == "'alice' rejected it: not today"


def test_a_rejection_fails_the_step_if_the_author_says_so(tmp_path) -> None:
    runner, _ = runner_with(tmp_path, "!alice not today")
    ran = runner(book("on_reject: fail, continue_on_fail: true"))
    ran.assert_outcome("resolved")
    (complete,) = ran.of("step_complete", "ok")
    assert complete["status"] == "failed"
    assert complete["failure"] == {"kind": "approval_rejected", "message": "'alice' rejected it: not today"}


def test_an_expired_request_fails_the_step_if_the_author_says_so(tmp_path) -> None:
    runner, _ = runner_with(tmp_path)
    ran = runner(book("on_reject: fail, timeout: 0.3s"))
    ran.assert_failed("approval_rejected")
    assert "expired at" in ran.result.failures[0].message
    assert ran.of("step_complete", "ok")[0]["approval"]["reason"] == "approval_timeout"


def test_where_a_policy_asks_too_a_rejection_ends_the_run(tmp_path) -> None:
    runner, _ = runner_with(tmp_path, "!bob no")
    ran = runner(book("on_reject: fail, continue_on_fail: true, min_approvers: 3", ASKS))
    ran.assert_failed("approval_rejected")
    assert ran.of("step_complete", "ok")[0]["status"] == "skipped"


def test_a_rejection_is_final(tmp_path) -> None:
    runner, people = runner_with(tmp_path, "!alice no")
    first = runner(book("on_reject: fail"))
    first.assert_failed("approval_rejected")
    again = runner.resume(first.result.run_id, retry_failed=True)
    again.assert_failed("approval_rejected")
    assert len(people.requests) == 1


def test_a_run_waits_for_its_answer(tmp_path) -> None:
    runner, people = runner_with(tmp_path, blocking=False)
    people.wait = lambda ticket, deadline: None
    first = runner(RUNBOOK, approval="people")
    assert first.status == "approval_pending", first.result.failures
    del people.wait
    people._answers = ("alice", "bob")
    again = runner.resume(first.result.run_id)
    again.assert_outcome("resolved")
    assert again.of("step_complete", "ok")[0]["outputs"]["approvers"] == ["alice", "bob"]
    assert len({request.request_hash for request in people.requests}) == 1


@pytest.mark.parametrize("mode", ["dry-run", "probe"])
def test_nothing_is_asked_where_nothing_is_done(tmp_path, mode: str) -> None:
    runner, people = runner_with(tmp_path)
    ran = runner(RUNBOOK, mode=mode, probe_effects=frozenset({"human"}))
    assert not people.requests
    (complete,) = ran.of("step_complete", "ok")
    assert complete["outputs"] == {"approver_id": "{{ .ok.approver_id }}", "approvers": "{{ .ok.approvers }}"}


def test_a_secret_in_the_message_is_masked(tmp_path) -> None:
    runner, people = runner_with(tmp_path, "alice")
    secret = RUNBOOK.replace("type: string, default: web", "type: string, secret: true").replace(
        ", min_approvers: 2", ""
    )
    ran = runner(secret, inputs={"service": "hunter2-hunter2"})
    ran.assert_outcome("resolved")
    assert people.requests[0].document["message"] == "Restart <REDACTED:service>?"
    assert "hunter2" not in json.dumps([event.data for event in ran.events])


@pytest.mark.parametrize(
    ("fields", "said"),
    [("min_approvers: 0", "greater than or equal to 1"), ("on_reject: shrug", "'deny' or 'fail'")],
)
def test_wrong_fields_are_found_by_validation(tmp_path, fields: str, said: str) -> None:
    runner, _ = runner_with(tmp_path)
    (found,) = runner.findings(book(fields))
    assert said in found.message
