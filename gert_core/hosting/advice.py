"""What can be done about a run next: complete commands, each with why, for every surface that shows a run."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import ErrorKind, GertError, RunStatus
from gert_core.kit.display import readable_key
from gert_core.runs.again import given_again
from gert_core.runs.answers import answered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gert_core.api import StoredRun
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState

_DECISIONS: Final = {
    "redo": "run {steps} again",
    "done": "{steps} took effect: go on",
    "failed": "{steps} did not take effect: let it fail",
}
_DONE: Final = {"confirm": "yes", "checklist": "all"}
"""What says that everything is done; other kinds have no answer that could be suggested."""
_FINAL: Final = (ErrorKind.GOVERNANCE_DENIED, ErrorKind.APPROVAL_REJECTED)


class NextStep(Struct, frozen=True, kw_only=True):
    """One thing to do: a complete command, and what it is for.

    Only the values of secret inputs are left out, as ``--var NAME=…``: no command shows them.
    """

    why: str
    command: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return an entry of ``next``."""
        return {"why": self.why, "command": list(self.command)}


def next_steps_of(info: RunInfo) -> list[NextStep]:
    """Return what can be done about a run, the likeliest first; nothing for one that is over or cannot be resumed."""
    words = tuple(shlex.split(info.run.option))
    return [replace(step, command=(*step.command, *words)) for step in _found(info)]


def _found(info: RunInfo) -> list[NextStep]:
    state = info.state
    if state is None or not state.resumable or info.moved is not None:
        return []
    if info.live:
        return list(_approvals(info.run, state))
    point = state.resume_point or {}
    needs = str(point.get("needs") or "")
    if needs == "unblock":
        return list(_unblocking(state))
    if needs == "reconcile":
        return list(_reconciling(state, point["steps"]))
    if needs == "retry":
        return list(_retrying(state))
    found = list(_approvals(info.run, state))
    if state.status in (RunStatus.APPROVAL_PENDING, RunStatus.ANSWER_PENDING):  # any other run asks again
        found += _answers(info.run, state)
    found.append(_resume(state, "resume the run where it stopped" if not found else "resume the run when that is done"))
    if state.status == RunStatus.CANCELLED:
        found.append(_resume(state, "end the run for good, after its open cleanup", "--abort"))
    return found


def _resume(state: RunState, why: str, *words: str) -> NextStep:
    return NextStep(why=why, command=("gert", "resume", "--run", state.run_id, *given_again(state), *words))


def _unblocking(state: RunState) -> Iterator[NextStep]:
    for key in dict.fromkeys(hold.key for hold in state.holds):
        reasons = "; ".join(dict.fromkeys(h.reason for h in state.holds if h.key == key and h.reason))
        why = f"unblock the run{f': {reasons}' if reasons else ''}"
        yield NextStep(why=why, command=("gert", "runs", "unblock", state.run_id, "--key", key))
    yield _resume(state, "resume the run when it is unblocked")


def _reconciling(state: RunState, keys: Sequence[str], *words: str) -> Iterator[NextStep]:
    """Yield a command for each thing that may have become of steps whose effect is unknown."""
    steps = ", ".join(map(readable_key, keys))
    for decision, sentence in _DECISIONS.items():
        stated = [word for key in keys for word in ("--reconcile", f"{key}={decision}")]
        yield _resume(state, sentence.format(steps=steps), *words, *stated)


def _retrying(state: RunState) -> Iterator[NextStep]:
    failures = state.failures
    if any(failure.kind in _FINAL for failure in failures):
        path = state.facts.get("runbook_path")
        if path and any(failure.kind == ErrorKind.GOVERNANCE_DENIED for failure in failures):
            yield NextStep(why="see which policy decides what", command=("gert", "policy", "explain", str(path)))
        return
    if not any(key in state.steps for key in state.failing):
        return  # the run failed, and none of its steps
    steps = ", ".join(readable_key(key) for key in state.failing)
    risky = [record.key for record in state.risky_retries]
    if risky:
        yield from _reconciling(state, risky, "--retry-failed")
    else:
        yield _resume(state, f"run {steps} again", "--retry-failed")


def _approvals(run: StoredRun, state: RunState) -> Iterator[NextStep]:
    if not state.tickets:
        return
    from gert_core.approvals.inbox import entry_of

    now = datetime.now(UTC)
    for ticket_id, ticket in state.tickets.items():
        try:
            entry = entry_of(run, ticket_id)
        except GertError as error:
            yield NextStep(why=f"see what is wrong: {error.message}", command=("gert", "approvals", "show", ticket_id))
            continue
        if entry is not None and entry.status(now) == "pending":
            step = readable_key(str(ticket.get("step_key")))
            yield NextStep(why=f"approve step {step}", command=("gert", "approve", ticket_id))
            yield NextStep(why=f"reject step {step}", command=("gert", "reject", ticket_id))


def _answers(run: StoredRun, state: RunState) -> Iterator[NextStep]:
    asked = state.unanswered
    given = answered(run, asked)
    missing: dict[str, list[dict[str, Any]]] = {}
    for question in asked:
        if question["seq"] not in given:
            missing.setdefault(str(question["step_key"]), []).append(question)
    for key, questions in missing.items():
        yield NextStep(
            why=f"answer what step {readable_key(key)} asks", command=answer_command(state.run_id, key, questions)
        )


def answer_command(run_id: str, key: str, questions: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """Return the command that answers questions of a step; what only a person can say, it asks for."""
    asked = list(questions)
    words = ("gert", "answer", run_id, key)
    if all(question.get("kind") in _DONE for question in asked):
        return (*words, *(f"{question['name']}={_DONE[str(question.get('kind'))]}" for question in asked))
    return words


__all__ = ["NextStep", "answer_command", "next_steps_of"]
