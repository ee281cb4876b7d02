"""What can be done about a run next: complete commands, each with why, for every surface that shows a run."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import ErrorKind, GertError, RunStatus
from gert_core.hosting.drifted import changed_documents
from gert_core.kit.display import readable_key
from gert_core.runs.again import fails_again, given_again, retried_whole, started_again
from gert_core.runs.answers import answered
from gert_core.runs.lost_secrets import need_lost_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gert_core.api import StoredRun
    from gert_core.approvals.checks import Approvals
    from gert_core.runs.listing import RunInfo
    from gert_core.runs.state import RunState

_INTERRUPTED: Final = {
    "done": "{steps} took effect: go on",
    "redo": "{steps} did not take effect: run it again",
    "failed": "{steps} did not take effect: let it fail",
}
"""What may be stated about steps of which only a person can find out what they did."""
_FAILED: Final = {
    "redo": "run {steps} again",
    "done": "{steps} took effect all the same: go on",
    "failed": "{steps} did not take effect: let it fail",
}
"""What may be stated about steps that reported a failure."""
_DONE: Final = {"confirm": "yes", "checklist": "all"}
"""What says that everything is done; other kinds have no answer that could be suggested."""
_LOST: Final = {decision: _FAILED[decision] for decision in ("done", "failed")}
"""What may be stated about those that cannot run again."""
_FINAL: Final = (ErrorKind.GOVERNANCE_DENIED, ErrorKind.APPROVAL_REJECTED)
"""Kinds of failures that no retry mends; nor one of a step that was not approved, whatever the kind."""
_FLAGS: Final = {"--retry-failed": "retry_failed", "--yes": "yes", "--abort": "abort"}
OR: Final = "or"
"""The lead of a command that is taken instead of the one before it."""
AND: Final = "and"
"""The lead of one that is taken beside it."""
THEN: Final = "then"
"""The lead of one that is taken after it."""


class NextStep(Struct, frozen=True, kw_only=True):
    """One thing to do: a complete command, and what it is for.

    Only the values of secret inputs and very long ones are left out, as ``--var NAME=…``. ``lead`` is how it goes with
    what stands before it: instead of that (``or``), beside it (``and``) or after it (``then``).
    """

    why: str
    command: tuple[str, ...]
    lead: str = OR
    choice: str = ""
    """What it states about steps, where that is all in which it differs from the first one."""
    stored: bool = True
    """Whether the command is about the run in its store, so that it takes ``--store``."""

    def to_json(self) -> dict[str, Any]:
        """Return an entry of ``next``."""
        return {"why": self.why, "command": list(self.command)}


def next_steps_of(info: RunInfo, *, known: Callable[[], Approvals] | None = None) -> list[NextStep]:
    """Return what can be done about a run, the likeliest first; nothing for one that is over or cannot be resumed.

    ``known`` gives what answers to its tickets are checked against, where that is known.
    """
    words = tuple(shlex.split(info.run.option))
    return [replace(step, command=(*step.command, *words)) if step.stored else step for step in _found(info, known)]


def resume_options(step: NextStep) -> dict[str, Any] | None:
    """Return what ``Host.resume`` takes to do a next step; None for one that does not resume its run.

    Secret inputs, whose values no command shows, are the names in ``secrets``, which is not an option.
    """
    if step.command[:2] != ("gert", "resume"):
        return None
    found: dict[str, Any] = {"run_id": "", "reconcile": {}, "secrets": []}
    words = iter(step.command[2:])
    for word in words:
        if word in _FLAGS:
            found[_FLAGS[word]] = True
        elif word == "--on-drift":
            found["on_drift"] = next(words)
        elif word == "--run":
            found["run_id"] = next(words)
        else:
            name, _, value = next(words).rpartition("=")
            if word == "--reconcile":
                found["reconcile"][name] = value
            elif word == "--var":
                found["secrets"].append(name)
    return found


def _found(info: RunInfo, known: Callable[[], Approvals] | None) -> list[NextStep]:
    state = info.state
    if state is None or not state.resumable or info.moved is not None:
        return []
    if info.live:
        return list(_approvals(info.run, state, known))
    point = state.resume_point or {}
    needs = str(point.get("needs") or "")
    if needs == "unblock":
        return list(_unblocking(state))
    if needs == "reconcile":
        return [*_deciding(state, point["steps"]), *_ending(state)]
    if needs == "retry":
        return list(_retrying(info.run, state))
    found = list(_approvals(info.run, state, known))
    if state.status in (RunStatus.APPROVAL_PENDING, RunStatus.ANSWER_PENDING):  # any other run asks again
        found += _answers(info.run, state)
    found.append(
        _resume(state, "resume the run where it stopped")
        if not found
        else replace(_resume(state, "resume the run when that is done"), lead=THEN)
    )
    return [*found, *_ending(state)]


def _resume(state: RunState, why: str, *words: str) -> NextStep:
    """Return the command that resumes a run; one whose documents are others by now says that they may be."""
    if changed := changed_documents(state):
        why = f"{why}, although {' and '.join(changed)} changed since it began"
        words = (*words, "--on-drift", "allow")
    return NextStep(why=why, command=("gert", "resume", "--run", state.run_id, *given_again(state), *words))


def _ending(state: RunState) -> Iterator[NextStep]:
    if state.status == RunStatus.CANCELLED:
        yield _resume(state, "end the run for good, after its open cleanup", "--abort")


def _unblocking(state: RunState) -> Iterator[NextStep]:
    for number, key in enumerate(dict.fromkeys(hold.key for hold in state.holds)):
        reasons = "; ".join(dict.fromkeys(h.reason for h in state.holds if h.key == key and h.reason))
        why = f"unblock the run{f': {reasons}' if reasons else ''}"
        command = ("gert", "runs", "unblock", state.run_id, "--key", key)
        yield NextStep(why=why, command=command, lead=AND if number else OR)
    yield replace(_resume(state, "resume the run when it is unblocked"), lead=THEN)


def _deciding(state: RunState, keys: Sequence[str]) -> Iterator[NextStep]:
    """Yield what to do about steps that were interrupted: look first, because the wrong statement does harm."""
    steps = ", ".join(map(readable_key, keys))
    only = ("--step", keys[0]) if len(keys) == 1 else ()
    why = f"first find out whether {steps} took effect: it was interrupted"
    yield NextStep(why=why, command=("gert", "runs", "show", state.run_id, *only))
    for number, step in enumerate(_reconciling(state, keys, _INTERRUPTED)):
        yield step if number else replace(step, lead=THEN)


def _reconciling(state: RunState, keys: Sequence[str], decisions: Mapping[str, str], *words: str) -> Iterator[NextStep]:
    """Yield a command for each thing that may have become of steps whose effect is unknown."""
    steps = ", ".join(map(readable_key, keys))
    for decision, sentence in decisions.items():
        stated = [word for key in keys for word in ("--reconcile", f"{key}={decision}")]
        yield replace(_resume(state, sentence.format(steps=steps), *words, *stated), choice=decision)


def _retrying(run: StoredRun, state: RunState) -> Iterator[NextStep]:
    failures = state.failures
    if state.unapproved or any(failure.kind in _FINAL for failure in failures):
        denied = next((failure for failure in failures if failure.kind == ErrorKind.GOVERNANCE_DENIED), None)
        path = state.facts.get("runbook_path")
        if path and denied is not None:
            policies = [word for file in state.facts.get("policy_files") or () for word in ("--policy", str(file))]
            command = ("gert", "explain", str(path), *([denied.step_id] if denied.step_id else []), *policies)
            yield NextStep(why="see which rule decides about the step", command=command, stored=False)
        return
    if lost := [failure.key for failure in failures if failure.kind == ErrorKind.SECRET_LOST]:
        yield from _starting(state, lost, secret=True)
        return
    if not any(key in state.steps for key in state.failing):
        return  # the run failed, and none of its steps
    steps = ", ".join(readable_key(key) for key in state.failing)
    repeated = _repeated(state)
    if repeated:
        names = ", ".join(map(readable_key, repeated))
        yield _resume(state, f"run {names} again, which may have taken effect before", "--retry-failed", "--yes")
        return
    if (stuck := fails_again(state)) and not changed_documents(state):
        yield from _starting(state, stuck)
        return
    risky = [record.key for record in state.risky_retries]
    if lost := need_lost_secrets(run, state, again=retried_whole(state)):
        yield from _starting(state, lost, secret=True)
        if set(lost) <= set(risky):
            yield from _reconciling(state, risky, _LOST, "--retry-failed")
    elif risky:
        yield from _reconciling(state, risky, _FAILED, "--retry-failed")
    else:
        yield _resume(state, f"run {steps} again", "--retry-failed")


def _starting(state: RunState, keys: Sequence[str], *, secret: bool = False) -> Iterator[NextStep]:
    """Yield the command that looks anew at what steps computed from, or makes a secret that they need and is lost."""
    if not (command := started_again(state)):
        return
    steps = ", ".join(map(readable_key, keys))
    gain = "makes the secret anew" if secret else "looks anew"
    why = "needs a secret output that only the process that ended knew" if secret else "fails again"
    done = ", ".join(map(readable_key, _unrepeatable(state)))
    effects = f", and {done} again, which took effect before" if done else ""
    yield NextStep(why=f"start a new run, which {gain}{effects}: in this one {steps} {why}", command=command)


def _repeated(state: RunState) -> list[str]:
    """Return the steps that took effect, must not simply be repeated, and would be with all of another step."""
    return list(filter(retried_whole(state), _unrepeatable(state)))


def _unrepeatable(state: RunState) -> list[str]:
    return [key for key, record in state.steps.items() if record.unrepeatable and not record.container]


def _approvals(run: StoredRun, state: RunState, known: Callable[[], Approvals] | None) -> Iterator[NextStep]:
    if not state.tickets:
        return
    from gert_core.approvals.inbox import entry_of
    from gert_core.approvals.standing import UNCHECKED

    now = datetime.now(UTC)
    lead = OR
    for ticket_id, ticket in state.tickets.items():
        try:
            entry = entry_of(run, ticket_id, known=known or (lambda: UNCHECKED))
        except GertError as error:
            command = ("gert", "approvals", "show", ticket_id)
            yield NextStep(why=f"see what is wrong: {error.message}", command=command, lead=lead)
            lead = AND
            continue
        if entry is not None and entry.status(now) == "pending":
            step = readable_key(str(ticket.get("step_key")))
            yield NextStep(why=f"approve step {step}", command=("gert", "approve", ticket_id), lead=lead)
            yield NextStep(why=f"reject step {step}", command=("gert", "reject", ticket_id))
            lead = AND


def _answers(run: StoredRun, state: RunState) -> Iterator[NextStep]:
    asked = state.unanswered
    given = answered(run, asked)
    declined = {one.step_key for one in given.values() if one.declined is not None}  # their steps fail
    missing: dict[str, list[dict[str, Any]]] = {}
    for question in asked:
        if question["seq"] not in given and question["step_key"] not in declined:
            missing.setdefault(str(question["step_key"]), []).append(question)
    for key, questions in missing.items():
        command = answer_command(state.run_id, key, questions)
        yield NextStep(why=f"answer what step {readable_key(key)} asks", command=command, lead=AND)


def answer_command(run_id: str, key: str, questions: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    """Return the command that answers questions of a step; what only a person can say, it asks for."""
    asked = list(questions)
    words = ("gert", "answer", run_id, key)
    if all(question.get("kind") in _DONE for question in asked):
        return (*words, *(f"{question['name']}={_DONE[str(question.get('kind'))]}" for question in asked))
    return words


__all__ = ["AND", "OR", "THEN", "NextStep", "answer_command", "next_steps_of", "resume_options"]
