"""Deciding approval requests, sentence by sentence: ecosystem section 4 and the invariants of section 6.4."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from gert_core.api import ApprovalRequest, ApprovalResponse, ApprovalTicket, StepProblem, TicketStatus
from gert_core.approvals import ApprovalProcess, ticket_id, valid_ticket_id
from gert_core.approvals.checks import Approvals
from gert_core.approvals.requests import format_time
from gert_core.engine.cancel import Deadline, Stop

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
EVENTS = ("approval_submitted", "approval_response", "approval_resolved", "contract_violation")


class Provider:
    """A session that records its calls and hands out prepared answers."""

    def __init__(self, log, answers=()):
        self.log = log
        self.answers = list(answers)
        self.submitted = []

    def submit(self, request):
        self.log.append("submit")
        self.submitted.append(request)
        return ApprovalTicket(ticket_id=request.ticket_id, created=request.created)

    def wait(self, ticket, deadline):
        self.log.append("wait")
        return self.answers.pop(0) if self.answers else None


class Case:
    """An approval process with everything around it observable."""

    def __init__(self, *answers, blocking=False, now=START, actor="olga", provider=None):
        self.log = []
        self.events = []
        self.clock = now
        self.provider = provider or Provider(self.log, answers)
        self.process = ApprovalProcess(
            session=self.provider,
            blocking=blocking,
            emit=self._emit,
            sync=lambda: self.log.append("sync"),
            now=lambda: self.clock,
            known=Approvals(actors=frozenset({actor}), schemes=lambda algorithm: None, environ={}),
        )

    def _emit(self, kind, data, principal):
        assert kind in EVENTS
        self.log.append(kind)
        self.events.append((kind, dict(data), principal))

    def settle(self, asked=None, **more):
        more.setdefault("deadline", Deadline(Stop()))
        return self.process.decide(asked or request(), **more)

    def data(self, kind):
        return [data for name, data, _ in self.events if name == kind]


def request(**more):
    facts = {
        "ticket_id": "t-1",
        "run_id": "r",
        "step_id": "restart",
        "step_key": "restart",
        "runbook_name": "fix",
        "step_type": "tool",
        "description": "",
        "risk_level": "critical",
        "contract": {"writes": ["production"]},
        "inputs": {"service": "api"},
        "request_hash": "ab" * 32,
        "created": format_time(START),
        "expires_at": format_time(START + timedelta(minutes=30)),
        "requested_by": "olga",
    }
    return ApprovalRequest(**facts | more)


def answer(approver="alice", approved=True, at=START, **more):
    facts = {"ticket_id": "t-1", "method": "test", "timestamp": format_time(at)}
    return ApprovalResponse(approved=approved, approver_id=approver, **facts | more)


# --- section 4 ---


def test_the_request_is_on_disk_before_it_is_submitted():
    case = Case(answer())
    case.settle()
    assert case.log[:3] == ["approval_submitted", "sync", "submit"]


def test_approval_submitted_has_ticket_step_risk_and_expiry():
    case = Case(answer())
    case.settle(request(min_approvers=1))
    assert case.data("approval_submitted") == [
        {
            "ticket_id": "t-1",
            "step_id": "restart",
            "risk_level": "critical",
            "min_approvers": 1,
            "created": format_time(START),
            "expires_at": format_time(START + timedelta(minutes=30)),
            "request_hash": "ab" * 32,
            "generation": 1,
            "request": {},
        }
    ]


def test_approval_resolved_has_ticket_verdict_approver_method_and_verified():
    case = Case(answer(reason="ok"))
    settled = case.settle()
    assert settled.status == "approved"
    (resolved,) = case.data("approval_resolved")
    assert resolved == {
        "ticket_id": "t-1",
        "step_id": "restart",
        "approved": True,
        "status": TicketStatus.APPROVED,
        "approver_id": "alice",
        "method": "test",
        "verified": False,
        "approvers": ["alice"],
    }


def test_events_are_attributed_to_the_requester_and_the_approver():
    case = Case(answer())
    case.settle()
    assert [(name, who["kind"], who["id"]) for name, _, who in case.events] == [
        ("approval_submitted", "human", "olga"),
        ("approval_response", "human", "alice"),
        ("approval_resolved", "human", "alice"),
    ]


def test_an_asynchronous_provider_without_an_answer_leaves_the_ticket_pending():
    case = Case()
    settled = case.settle()
    assert (settled.status, settled.reason) == ("pending", "approval_pending")
    assert case.data("approval_resolved") == []
    assert case.log[-1] == "sync"


def test_a_resumed_request_is_submitted_again_and_not_traced_again():
    case = Case(answer())
    assert case.settle(submitted=True).status == "approved"
    assert case.data("approval_submitted") == []
    assert case.log.index("sync") < case.log.index("submit")


def test_a_rejection_halts_with_its_reason():
    case = Case(answer(approved=False, reason="not today"), answer("bob"))
    settled = case.settle()
    assert (settled.status, settled.reason) == ("rejected", "approval_rejected")
    assert "not today" in settled.message
    assert case.data("approval_resolved")[0]["status"] == "rejected"
    assert case.log.count("wait") == 1


def test_wait_respects_cancellation_and_the_ticket_stays_open():
    stop = Stop()

    class Waiting(Provider):
        def wait(self, ticket, deadline):
            deadline.wait(30)
            return

    case = Case(blocking=True, provider=Waiting([]))
    threading.Timer(0.05, stop.throw, ["test"]).start()
    settled = case.settle(deadline=Deadline(stop))
    assert (settled.status, settled.reason) == ("pending", "cancelled")
    assert case.data("approval_resolved") == []


def test_a_blocking_provider_that_gives_up_is_a_rejection():
    assert Case(blocking=True).settle().reason == "approval_no_answer"


def test_a_provider_that_breaks_is_a_problem_of_the_step_and_approves_nothing():
    class Broken(Provider):
        def wait(self, ticket, deadline):
            raise OSError("no route")

    case = Case(provider=Broken([]))
    with pytest.raises(StepProblem, match=r"wait: OSError: no route") as caught:
        case.settle()
    assert caught.value.kind == "approval_provider"
    assert case.data("approval_resolved") == []


def test_a_provider_that_hands_back_another_ticket_is_refused():
    class Other(Provider):
        def submit(self, request):
            return ApprovalTicket(ticket_id="t-2")

    with pytest.raises(StepProblem, match="another ticket"):
        Case(answer(), provider=Other([])).settle()


# --- section 6.4: validity window ---


def test_an_answer_within_the_timeout_counts_even_if_it_is_read_later():
    case = Case(answer(at=START + timedelta(minutes=29)), now=START + timedelta(days=1))
    assert case.settle(submitted=True).status == "approved"


def test_an_answer_after_the_timeout_is_a_rejection():
    settled = Case(answer(at=START + timedelta(minutes=31))).settle()
    assert (settled.status, settled.reason) == ("rejected", "approval_timeout")


def test_a_ticket_nobody_answers_in_time_is_expired_and_rejected():
    case = Case(now=START + timedelta(minutes=30))
    settled = case.settle(submitted=True)
    assert (settled.status, settled.reason) == ("rejected", "approval_timeout")
    (resolved,) = case.data("approval_resolved")
    assert (resolved["status"], resolved["approved"], resolved["approver_id"]) == ("expired", False, None)
    assert case.events[-1][2] == {"kind": "system", "id": "kernel"}


def test_waiting_ends_when_the_ticket_expires_not_when_the_run_does():
    class Looking(Provider):
        def wait(self, ticket, deadline):
            self.left = deadline.remaining()
            return

    looking = Looking([])
    Case(provider=looking, now=START + timedelta(minutes=20)).settle()
    assert looking.left == pytest.approx(600)
    Case(provider=looking).settle(deadline=Deadline(Stop(), 5))
    assert looking.left <= 5


# --- clock skew ---


@pytest.mark.parametrize(
    ("seconds", "status"), [(-29, "approved"), (-30, "approved"), (-31, "rejected"), (5, "approved")]
)
def test_thirty_seconds_of_clock_skew_are_tolerated(seconds, status):
    settled = Case(answer(at=START + timedelta(seconds=seconds))).settle()
    assert settled.status == status
    if status == "rejected":
        assert settled.reason == "approval_stale"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-03-01T12:00:00"])
def test_a_time_that_cannot_be_read_or_has_no_zone_is_a_rejection(text):
    assert Case(replace(answer(), timestamp=text)).settle().reason == "approval_malformed"


# --- several approvers ---


def test_the_process_collects_as_many_approvals_as_are_asked_for():
    case = Case(answer("alice"), answer("bob"), answer("carol"))
    settled = case.settle(request(min_approvers=2))
    assert settled.approvers == ("alice", "bob")
    assert case.log.count("wait") == 2
    assert case.data("approval_resolved")[0]["approvers"] == ["alice", "bob"]


def test_each_answer_is_on_disk_before_the_next_one_is_asked_for():
    case = Case(answer("alice"), answer("bob"))
    case.settle(request(min_approvers=2))
    first = case.log.index("approval_response")
    assert case.log[first : first + 3] == ["approval_response", "sync", "wait"]


def test_one_rejection_among_approvals_halts():
    settled = Case(answer("alice"), answer("bob", approved=False), answer("carol")).settle(request(min_approvers=2))
    assert (settled.status, settled.reason) == ("rejected", "approval_rejected")


@pytest.mark.parametrize(
    ("again", "problem"),
    [
        ("alice", "approval_duplicate"),
        ("ALICE", "approval_duplicate"),
        (" alice ", "approval_malformed"),
        ("\uff41lice", "approval_malformed"),
    ],
)
def test_the_same_approver_twice_is_traced_and_counts_once(again, problem):
    case = Case(answer("alice"), answer(again, at=START + timedelta(seconds=1)))
    settled = case.settle(request(min_approvers=2))
    assert settled.status == "pending"
    assert [data["result"] for data in case.data("approval_response")] == ["counted", "set_aside"]
    assert case.data("approval_response")[1]["problem"] == problem


# --- resume ---


def test_after_a_resume_recorded_answers_count_and_are_not_traced_again():
    first = Case(answer("alice"))
    assert first.settle(request(min_approvers=2)).status == "pending"
    recorded = first.data("approval_response")
    second = Case(answer("alice"), answer("bob"))
    settled = second.settle(request(min_approvers=2), submitted=True, recorded=recorded)
    assert settled.approvers == ("alice", "bob")
    assert [data["approver_id"] for data in second.data("approval_response")] == ["bob"]


def test_after_a_crash_behind_the_last_answer_nobody_is_asked_again():
    recorded = Case(answer("alice"))
    recorded.settle()
    case = Case()
    assert case.settle(submitted=True, recorded=recorded.data("approval_response")).status == "approved"
    assert case.log == ["approval_resolved"]


def test_a_recorded_rejection_stands():
    recorded = Case(answer(approved=False, reason="no"))
    recorded.settle()
    case = Case(answer("bob"))
    settled = case.settle(submitted=True, recorded=recorded.data("approval_response"))
    assert (settled.status, settled.reason) == ("rejected", "approval_rejected")
    assert "no" in settled.message
    assert case.log == ["approval_resolved"]


# --- the run's own actor ---


@pytest.mark.parametrize("own", ["olga", "Olga"])
def test_exclude_actor_refuses_the_one_who_started_the_run(own):
    case = Case(answer(own), answer("alice"))
    settled = case.settle(request(exclude_actor=True))
    assert settled.approvers == ("alice",)
    assert case.data("approval_response")[0]["problem"] == "approval_own_actor"
    assert Case(answer(own)).settle().status == "approved"


def test_the_requester_stays_excluded_when_somebody_else_resumes():
    case = Case(answer("olga"), actor="pat")
    assert case.settle(request(exclude_actor=True), submitted=True).status == "pending"


# --- tickets ---


def test_answers_for_another_ticket_are_ignored_and_traced():
    case = Case(replace(answer("mallory"), ticket_id="t-2"), answer("alice"))
    assert case.settle().approvers == ("alice",)
    assert case.data("approval_response")[0]["problem"] == "approval_wrong_ticket"
    assert case.data("contract_violation")[0]["severity"] == "error"


def test_a_provider_cannot_fill_the_trace_with_answers_that_do_not_count():
    case = Case(*[replace(answer(), ticket_id="t-2")] * 500)
    assert case.settle().reason == "approval_unusable"
    assert len(case.data("approval_response")) == 100


@pytest.mark.parametrize(
    "wrong",
    [{"approved": "yes"}, {"approver_id": " "}, {"approver_id": 7}, {"timestamp": None}, {"approved": 1}],
)
def test_a_malformed_answer_is_a_rejection(wrong):
    case = Case(replace(answer(), **wrong))
    assert case.settle().reason == "approval_malformed"
    assert case.data("contract_violation")


def test_something_that_is_no_answer_at_all_is_a_rejection():
    assert Case({"approved": True}).settle().reason == "approval_malformed"


def test_tickets_are_named_by_run_and_step_key():
    assert ticket_id("r", "a", "h") == ticket_id("r", "a", "h")
    assert (
        len({ticket_id("r", "a", "h"), ticket_id("r", "b", "h"), ticket_id("s", "a", "h"), ticket_id("r", "a", "i")})
        == 4
    )
    assert valid_ticket_id(ticket_id("r", "a/0/b#2[x y]", "h"))
    for bad in ("", "../x", "a/b", "a.json", "-x", "a\n", "x" * 200):
        assert not valid_ticket_id(bad)


def test_the_request_carries_every_field():
    facts = "run_id step_id runbook_name step_type description risk_level contract inputs min_approvers"
    more = "requested_by extensions timeout request_hash created expires_at ticket_id command"
    assert set(request().to_json()) >= {*facts.split(), *more.split()}
