"""The approval dialogue at the terminal."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager

import gert_approval_stdin
import pytest
from gert_approval_stdin.session import open_session
from msgspec.structs import replace

from gert_core.api import ApprovalRequest, Services
from gert_core.engine.cancel import Deadline, Stop

REQUEST = ApprovalRequest(
    ticket_id="t-1",
    run_id="r",
    step_id="restart",
    step_key="restart",
    runbook_name="fix",
    step_type="tool",
    description="Restart the service.",
    risk_level="critical",
    contract={"effects": ["kubernetes"], "writes": ["production"], "reads": [], "idempotent": True},
    inputs={"service": "api", "token": "<REDACTED:TOKEN>", "n": 3},
    request_hash="aa",
    command=("kubectl", "rollout restart", "api"),
)


class Typed:
    """A console with lines typed in advance."""

    interactive = True

    def __init__(self, *lines, pause=0.0, terminal=False):
        self.terminal = terminal
        self.lines = list(lines)
        self.said = []
        self.prompts = []
        self.pause = pause
        self.inside = 0
        self.alone = set()
        """Whether everything shown belonged to one dialogue at that moment."""
        self._lock = threading.RLock()

    def say(self, text):
        self.said.append(text)
        self.alone.add(self.inside == 1)

    def ask(self, prompt, *, deadline, hidden=False, fresh=False, question=None):
        assert not hidden
        assert fresh is self.terminal
        self.prompts.append(prompt)
        self.alone.add(self.inside == 1)
        time.sleep(self.pause)
        return self.lines.pop(0) if self.lines else None

    @contextmanager
    def exclusive(self):
        with self._lock:
            self.inside += 1
            yield
            self.inside -= 1


def session(console, actor="olga"):
    return open_session(Services(console=console, actor=actor))


def ask(*lines, request=REQUEST, actor="olga", stop=None, terminal=False):
    console = Typed(*lines, terminal=terminal)
    desk = session(console, actor)
    return desk.wait(desk.submit(request), Deadline(stop or Stop())), console


@pytest.mark.parametrize(
    ("line", "approved", "approver", "reason"),
    [
        ("y", True, "olga", None),
        ("n", False, "olga", None),
        ("Y", True, "olga", None),
        ("y alice", True, "alice", None),
        ("  y   alice@example.org  ", True, "alice@example.org", None),
        ("y: looks fine", True, "olga", "looks fine"),
        ("y alice: looks: fine", True, "alice", "looks: fine"),
        ("n bob:no window", False, "bob", "no window"),
        ("n bob :", False, "bob", None),
        ("yes", True, "olga", None),
        ("No bob: late", False, "bob", "late"),
        ("yes no", True, "no", None),
    ],
)
def test_a_line_is_yes_or_no_with_approver_and_reason(line, approved, approver, reason):
    answer, _ = ask(line)
    assert (answer.approved, answer.approver_id, answer.reason) == (approved, approver, reason)
    assert (answer.ticket_id, answer.method) == ("t-1", "piped")


@pytest.mark.parametrize("line", ["", "yess", "non", "maybe", "y alice bob", "approve", "x y", "yy"])
def test_any_other_line_is_asked_again(line):
    answer, console = ask(line, "y alice")
    assert answer.approver_id == "alice"
    assert len(console.prompts) == 2
    assert "Please answer" in console.said[-1]


@pytest.mark.parametrize(
    ("risk", "line", "approved"),
    [
        ("critical", "restart", True),
        ("high", "restart bob: seen", True),
        ("high", "n bob", False),
        ("critical", "No", False),
        ("high", "y", None),
        ("critical", "yes bob", None),
        ("high", "Restart", None),
        ("critical", "restarts", None),
        ("medium", "y", True),
        ("low", "restart", None),
    ],
)
def test_at_a_terminal_high_risk_is_approved_by_the_id_of_the_step(risk, line, approved):
    answer, console = ask(line, request=replace(REQUEST, risk_level=risk), terminal=True)
    assert (answer and answer.approved) == approved
    assert answer is None or answer.method == "stdin"
    word = "restart" if risk in ("high", "critical") else "y"
    assert console.prompts[0] == f"Approve restart? {word}|n [approver-id][: reason] "


def test_no_is_no_also_for_a_step_of_that_name():
    answer, _ = ask("n", request=replace(REQUEST, step_id="n"), terminal=True)
    assert answer.approved is False


def test_the_end_of_input_is_no_answer_of_anybody():
    """The core rejects what a blocking provider has no answer to; nobody is said to have rejected it."""
    for lines in ((), ("perhaps",)):
        answer, console = ask(*lines)
        assert answer is None
        assert "--approval inbox" in console.said[-1]


def test_cancel_is_no_answer():
    stop = Stop()
    stop.throw("test")
    answer, console = ask("y", stop=stop)
    assert answer is None
    assert console.prompts == []


def test_the_approver_sees_everything_the_decision_depends_on():
    _, console = ask("y")
    text = "\n".join(console.said)
    for words in (
        "step restart of fix",
        "critical",
        "kubernetes",
        "production",
        "service = api",
        "token = <REDACTED:TOKEN>",
        "n = 3",
        "kubectl 'rollout restart' api",
        "idempotent, not deterministic",
        "Restart the service.",
    ):
        assert words in text
    assert any(re.fullmatch(r"\| author's +description = Restart the service\.", line) for line in console.said)


def test_several_approvers_exclusion_and_signatures_are_announced():
    strict = replace(REQUEST, min_approvers=2, exclude_actor=True, require_signed=True, requested_by="ada")
    _, console = ask("y", request=strict)
    text = "\n".join(console.said)
    assert "2 different people" in text
    assert "ada started the run and may not approve it" in text, "whoever resumed it"
    assert "not signed" in text


def test_the_second_question_does_not_repeat_the_whole_request():
    console = Typed("y alice", "y bob")
    desk = session(console)
    ticket = desk.submit(replace(REQUEST, min_approvers=2))
    first = desk.wait(ticket, Deadline(Stop()))
    said = len(console.said)
    second = desk.wait(ticket, Deadline(Stop()))
    assert (first.approver_id, second.approver_id) == ("alice", "bob")
    assert console.said[said:] == ["restart needs 2 different approvers."]


def test_after_an_answer_that_could_not_count_the_question_says_what_is_needed():
    console = Typed("y", "y alice")
    desk = session(console)
    ticket = desk.submit(replace(REQUEST, exclude_actor=True, requested_by="olga"))
    desk.wait(ticket, Deadline(Stop()))
    desk.wait(ticket, Deadline(Stop()))
    assert console.said[-1] == "restart needs an approver other than olga."


def test_values_cannot_disguise_themselves():
    sly = replace(REQUEST, inputs={"x": "a\x1b[2K\rb\u202e", "y\n": "c"}, step_id="s\x07")
    _, console = ask("y", request=sly)
    shown = "".join(console.said + console.prompts)
    assert all(c.isprintable() for c in shown)
    assert "a\\u001b[2K\\u000db\\u202e" in shown


def test_parallel_branches_are_asked_one_at_a_time():
    console = Typed(*["y"] * 8, pause=0.01)
    desk = session(console)
    tickets = [desk.submit(replace(REQUEST, ticket_id=f"t-{n}")) for n in range(8)]
    answers = {}

    def branch(ticket):
        answers[ticket.ticket_id] = desk.wait(ticket, Deadline(Stop()))

    threads = [threading.Thread(target=branch, args=(ticket,)) for ticket in tickets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert console.alone == {True}
    assert all(answer.ticket_id == name for name, answer in answers.items())
    assert len(answers) == 8


def test_the_plugin_registers_a_blocking_provider():
    (provider,) = gert_approval_stdin.gert_approval_providers()
    assert (provider.name, provider.blocking) == ("stdin", True)
