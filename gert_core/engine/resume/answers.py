"""Find the answer that a person gave to a question of a step while the run was suspended."""

from __future__ import annotations

import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api import ErrorKind, StepProblem
from gert_core.engine.journal import principal_of
from gert_core.kit.files import UnreadableError, open_file
from gert_core.runs.answers import UPLOADS, AnswerStore, question_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import Principal, Question
    from gert_core.api.stores import StoredRun
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.runs.answers import StoredAnswer


class GivenAnswer(Struct, frozen=True, kw_only=True):
    """An answer as the step gets it."""

    line: str
    principal: Principal
    declined: str | None = None
    stored: StoredAnswer


class GivenAnswers:
    """The answers that were stored before this process began, each of which is used once by it.

    A step that is entered again asks the same questions in the same order, and gets the same answers. Answers to the
    questions of an execution that is over do not count for the next one.
    """

    def __init__(self, run: StoredRun, warn: Callable[[str], None]) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], list[StoredAnswer]] = {}
        self._warn = warn
        try:
            found = AnswerStore(run).all()
        except UnreadableError as error:
            found = [error]
        for answer in found:
            if isinstance(answer, UnreadableError):
                warn(f"an answer is left out: {answer.message}")
            elif answer.run_id == run.run_id:
                self._known.setdefault((answer.step_key, answer.name), []).append(answer)

    def take(self, key: str, name: str, digest: str, *, since: int) -> StoredAnswer | None:
        """Return the next answer to a question of a step; None when there is none, or it is one to another question."""
        with self._lock:
            waiting = [answer for answer in self._known.pop((key, name), []) if answer.seq >= since]
            if not waiting:
                return None
            if waiting[0].question == digest:
                self._known[key, name] = waiting[1:]
                return waiting[0]
        self._warn(f"the answer to {name} of step {key} was given to another question; it is asked again")
        return None


def given_answer(execution: StepExecution, question: Question, prompt: str) -> GivenAnswer | None:
    """Return the answer that was given to a question of a step before the run was resumed, if there is one."""
    services, stored = execution.services, execution.facts.stored
    recorded, asked = services.recorded, services.journal.state.questions.get(execution.key)
    if recorded is None or stored is None or asked is None:
        return None
    with recorded.lock:
        if recorded.answers is None:
            recorded.answers = GivenAnswers(stored, services.progress.warn)
    items = services.masker.mask(list(question.items))
    shown = {"name": question.name, "kind": question.kind, "prompt": prompt, "items": items}
    found = recorded.answers.take(execution.key, question.name, question_digest(shown), since=asked.since)
    if found is None:
        return None
    line = str(services.masker.unmask(found.value))
    if question.kind == "attachment" and found.declined is None:
        line = str(_upload(stored, line.rpartition("/")[2]))
    reason = None if found.declined is None else str(services.masker.unmask(found.declined))
    return GivenAnswer(line=line, principal=principal_of(found.by), declined=reason, stored=found)


def _upload(stored: StoredRun, name: str) -> Path:
    """Return the path of a file that is an answer; what a store has no file of is copied for this process."""
    if stored.path is not None:
        file = stored.path / UPLOADS / name
        _refuse_link(file)
        return file
    folder = _copies()
    data = stored.get(f"{UPLOADS}/{name}")
    if data is not None:
        (folder / name).write_bytes(data)
    return folder / name


def _refuse_link(file: Path) -> None:
    """Refuse an upload behind a link of any kind, which would have another file copied into the run."""
    try:
        with open_file(file) as opened:
            linked, names = file.parent.is_symlink(), os.fstat(opened.fileno()).st_nlink
    except FileNotFoundError:
        return  # said where it is copied
    except UnreadableError as error:
        raise StepProblem(ErrorKind.ATTACHMENT, error.message) from None
    if linked:
        message = f"{file.parent} is a symbolic link; what belongs to a run is not read behind links"
        raise StepProblem(ErrorKind.ATTACHMENT, message)
    if names > 1:
        raise StepProblem(ErrorKind.ATTACHMENT, f"{file} has {names} names, and may be a file of somebody else")


@cache
def _copies() -> Path:
    """Return a private directory for copies of uploads, which is removed when the process ends."""
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="gert-uploads-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def forget_upload(stored: StoredRun, file: Path) -> bool:
    """Delete a file that is an answer from the run; return False when it is another file."""
    if file.parent != (_copies() if stored.path is None else stored.path / UPLOADS):
        return False
    stored.delete(f"{UPLOADS}/{file.name}")
    return True


__all__ = ["GivenAnswers", "forget_upload", "given_answer"]
