"""Answer the questions of a run that is not being executed; what is given is checked as at the prompt."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gert_core.api import ErrorKind, RunError, RunStatus, StoreError, UsageError
from gert_core.engine.known_secrets import refuse_secret, run_masker
from gert_core.engine.steps.keeping import shown_name
from gert_core.governance.people import id_fault, is_agent
from gert_core.kit.answers import DECLINED, answer_fault, declined
from gert_core.kit.display import readable_key
from gert_core.kit.files import UnreadableError
from gert_core.runs.again import resume_command
from gert_core.runs.answers import UPLOADS, AnswerStore, StoredAnswer, blob_name, question_digest
from gert_core.runs.attachments import copy_file
from gert_core.runs.cache import read_state
from gert_core.runs.moved import refuse_moved
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gert_core.api.stores import StoredRun
    from gert_core.runs.state import RunState
    from gert_core.secrets import Masker


class OpenQuestions(Struct, frozen=True, kw_only=True):
    """The questions of one step that wait for an answer, in the order they are asked."""

    run: StoredRun
    state: RunState
    key: str
    questions: list[dict[str, Any]]
    """What the trace says was asked, of all that are not answered."""
    given: dict[str, StoredAnswer]
    """By name the answers that wait for the run to be resumed."""

    @property
    def missing(self) -> list[dict[str, Any]]:
        """Return the questions that have no answer yet."""
        return [one for one in self.questions if one["name"] not in self.given]


def open_questions(run: StoredRun, step: str) -> OpenQuestions:
    """Return what a step of a run asks, by its key or id; raise when it asks nothing, or asks by itself right now."""
    run_id = run.run_id
    if run.holder() is not None:
        raise RunError(
            f"run {run_id} is being executed, and asks its questions itself",
            kind=ErrorKind.RUN_LOCKED,
            hint="answer where it runs, or wait until it is suspended",
        )
    refuse_moved(run)
    state = read_state(run)
    if state.aborted:
        raise RunError(
            f"run {run_id} was aborted, and asks nothing any more",
            kind=ErrorKind.ANSWER_UNKNOWN,
            hint=f"`gert runs list{run.option}` shows the runs that wait",
        )
    unanswered = [] if state.over and state.status != RunStatus.CANCELLED else state.unanswered
    keys = list(dict.fromkeys(str(one["step_key"]) for one in unanswered))
    found = [key for key in keys if step in (key, readable_key(key))]
    found = found or [key for key in keys if state.steps[key].step_id == step]
    if len(found) > 1:
        raise _unknown(f"{len(found)} steps {step!r} of run {run_id} ask", f"give the key of one: {', '.join(found)}")
    if not found:
        raise _not_asked(state, step, keys, run.option)
    questions = [one for one in unanswered if one["step_key"] == found[0]]
    store = AnswerStore(run)
    given = {str(one["name"]): answer for one in questions if (answer := store.find(int(one["seq"]))) is not None}
    return OpenQuestions(run=run, state=state, key=found[0], questions=questions, given=given)


def answer(
    asked: OpenQuestions, values: Mapping[str, str], *, by: str, reject: str | None, environ: Mapping[str, str]
) -> list[StoredAnswer]:
    """Store answers to questions of a step, or that the person declines; all of them are checked before one is stored.

    Raise ``UsageError`` or ``RunError`` with what is wrong, and store nothing.
    """
    if (fault := id_fault(by)) is not None:
        raise UsageError(f"{by!a} cannot be the id of a person: it {fault}", hint="give another with --as ID")
    if is_agent(by):
        raise UsageError(
            f"{by} is an agent, and the questions of a step are for a person",
            kind=ErrorKind.ANSWER_AGENT,
            hint="a person answers, under a name of their own: --as ID",
        )
    if reject is not None:
        if values:
            raise UsageError("--reject declines the step, so it takes no answers", hint="give either")
        if not asked.missing:
            raise _duplicate(asked, str(asked.questions[0]["name"]))
        values = {str(asked.missing[0]["name"]): f"reject {reject}"}
    wanted = [(_question(asked, name), text) for name, text in values.items()]
    masker = run_masker(asked.run, asked.state, environ)
    refuse_secret(masker, "name", by, flag="--as")
    for question, text in wanted:
        _check(asked, question, text, masker)
    return _store(asked, wanted, by=by, masker=masker)


def _question(asked: OpenQuestions, name: str) -> dict[str, Any]:
    for question in asked.questions:
        if question["name"] == name:
            return question
    names = [str(one["name"]) for one in asked.questions]
    message = f"step {asked.key} asks for no {name!r}{_near(name, names)}"
    raise _unknown(message, f"it asks for {', '.join(names)}")


def fault_of(question: Mapping[str, Any], text: str) -> str | None:
    """Return why a line is not an answer to a question; a refusal is one."""
    kind, items = str(question.get("kind")), [str(item) for item in question.get("items") or ()]
    if declined(kind, text) is not None:
        return None
    fault = answer_fault(kind, items, text)
    if fault is not None and kind == "choice":
        return f"{fault[:-1]}: {', '.join(items)}."
    if fault is None and kind == "attachment" and not Path(text).expanduser().is_file():
        return "There is no such file, or it cannot be read."
    return fault


def _check(asked: OpenQuestions, question: Mapping[str, Any], text: str, masker: Masker) -> None:
    """Refuse an answer to what was answered already, and one that the prompt would not take."""
    name = str(question["name"])
    if name in asked.given:
        raise _duplicate(asked, name)
    if (fault := fault_of(question, text)) is not None:
        message = f"{name}={masker.mask_text(text)} is not an answer to {name} of step {asked.key}. {fault}"
        raise UsageError(message, kind=ErrorKind.ANSWER_INVALID)


def _store(
    asked: OpenQuestions, wanted: list[tuple[dict[str, Any], str]], *, by: str, masker: Masker
) -> list[StoredAnswer]:
    """Store answers, after all files that are among them; what fails takes back what was stored before it."""
    run, written, answers = asked.run, list[str](), list[StoredAnswer]()
    try:
        for question, text in wanted:
            value, reason = text, declined(str(question.get("kind")), text)
            if question.get("kind") == "attachment" and reason is None:
                value = _upload(run, text, masker)
                written.append(f"{UPLOADS}/{value}")
            answers.append(_stored(asked, question, value, reason, by=by, masker=masker))
        for one in answers:
            _put(asked, one)
            written.append(blob_name(one.seq))
    except BaseException:
        if run.holder() is None:  # a run that was resumed meanwhile uses them
            for name in reversed(written):
                run.delete(name)
        raise
    asked.given.update((one.name, one) for one in answers)
    return answers


def _stored(
    asked: OpenQuestions, question: Mapping[str, Any], value: str, reason: str | None, *, by: str, masker: Masker
) -> StoredAnswer:
    return StoredAnswer(
        run_id=asked.run.run_id,
        step_key=asked.key,
        name=str(question["name"]),
        seq=int(question["seq"]),
        question=question_digest(question),
        value="" if reason is not None else str(masker.mask(value)),
        by=by,
        at=timestamp(datetime.now(UTC)),
        declined=None if reason is None else str(masker.mask(reason or DECLINED)),
    )


def _put(asked: OpenQuestions, one: StoredAnswer) -> None:
    try:
        AnswerStore(asked.run).put(one)
    except StoreError:  # another person was faster
        raise _duplicate(asked, one.name) from None


def _upload(run: StoredRun, text: str, masker: Masker) -> str:
    """Copy a file that is an answer into the run, where it stays when the original goes; return its name."""
    source = Path(text).expanduser()
    try:
        return copy_file(source, run, UPLOADS, name=shown_name(source, masker), masker=masker)
    except UnreadableError as error:
        raise UsageError(error.message, kind=ErrorKind.ATTACHMENT) from None
    except OSError as error:
        message = f"{text} cannot be copied: {error.strerror}"
        raise UsageError(message, kind=ErrorKind.ATTACHMENT) from None


def _not_asked(state: RunState, step: str, asking: list[str], option: str) -> UsageError:
    """Return why a step of a run cannot be answered."""
    run_id, record = state.run_id, state.steps.get(step)
    if state.over and state.status != RunStatus.CANCELLED:
        command = f"gert resume --run {run_id}{option} --retry-failed --questions suspend"
        again = f"{command} asks a failed step's questions again"
        hint = again if state.status != RunStatus.COMPLETED else f"gert runs list{option} shows the runs that wait"
        return _unknown(f"run {run_id} is over ({state.status}), and asks nothing", hint)
    if record is not None and record.done:
        return _unknown(f"step {step} of run {run_id} is over ({record.status}), and asks nothing", _asking(asking))
    if record is not None:
        return _unknown(f"step {step} of run {run_id} asks nothing", _asking(asking))
    return _unknown(f"run {run_id} has no step {step!r} that asks{_near(step, asking)}", _asking(asking))


def _asking(keys: list[str]) -> str:
    return f"steps that ask: {', '.join(map(readable_key, keys))}" if keys else "no step of the run asks anything"


def _duplicate(asked: OpenQuestions, name: str) -> RunError:
    before = asked.given.get(name)
    who = "" if before is None else f", by {before.by} at {before.at}"
    open_names = _still_open(asked, name)
    resumed = f"a resumed run uses it: {resume_command(asked.run.run_id, asked.state)}{asked.run.option}"
    return RunError(
        f"{name} of step {asked.key} was answered already{who}",
        kind=ErrorKind.ANSWER_DUPLICATE,
        hint=f"answer what is still open: {open_names}" if open_names else resumed,
    )


def _still_open(asked: OpenQuestions, given: str) -> str:
    """Return what the run waits for beside the answer that was given: without it a resumed run is suspended again."""
    store, names = AnswerStore(asked.run), dict[str, list[str]]()
    for one in asked.state.unanswered:
        key, name = str(one["step_key"]), str(one["name"])
        if (key, name) != (asked.key, given) and store.find(int(one["seq"])) is None:
            names.setdefault(readable_key(key), []).append(name)
    return "; ".join(f"{', '.join(found)} of step {key}" for key, found in names.items())


def _unknown(message: str, hint: str) -> UsageError:
    return UsageError(message, kind=ErrorKind.ANSWER_UNKNOWN, hint=hint)


def _near(name: str, known: Iterable[str]) -> str:
    from gert_core.kit.nearest import nearest  # only mistakes need it

    near = nearest(name, known)
    return f"; did you mean {near}?" if near else ""


__all__ = ["OpenQuestions", "answer", "fault_of", "open_questions"]
