"""The people of a hosted run: questions that are open at once, and what answers them from any thread."""

from __future__ import annotations

import secrets
import threading
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from gert_core.api import Answer, Declined, ErrorKind, Principal, UsageError
from gert_core.engine.answering import fault_of
from gert_core.engine.journal import principal_of
from gert_core.governance.people import id_fault, is_agent
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from gert_core.api import Deadline, Question

    Tell = Callable[..., None]


class OpenQuestion:
    """One question that waits for an answer."""

    __slots__ = ("answered", "question", "reply")

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answered = threading.Event()
        self.reply: Answer | Declined | None = None


class HostConsole:
    """A console whose questions are notices; ``tell(kind, data, step_key=)`` makes them.

    ``allowed`` returns the path of an attachment, or refuses it; ``asked`` is called when a question is open.
    """

    terminal = False

    def __init__(
        self,
        tell: Tell,
        *,
        actor: str,
        interactive: bool,
        allowed: Callable[[str], str],
        mask: Callable[[Any], Any],
        asked: Callable[[], None],
    ) -> None:
        self.interactive = interactive
        self._tell = tell
        self._actor = actor
        self._allowed = allowed
        self._lock = threading.Lock()
        self._open: dict[str, OpenQuestion] = {}
        self._count = 0
        self._mask = mask
        self._asked = asked

    @property
    def waiting(self) -> int:
        """How many questions are open."""
        return len(self._open)

    def names_of(self, step_key: str) -> dict[str, str]:
        """Return the ids of the open questions of a step, by their names."""
        with self._lock:
            return {one.question.name: name for name, one in self._open.items() if one.question.step_key == step_key}

    def say(self, text: str) -> None:
        """Tell what would be shown at a terminal."""
        self._tell("warning", {"message": text})

    def exclusive(self) -> AbstractContextManager[object]:
        """Enter at once: questions are apart."""
        return nullcontext()

    def ask(
        self,
        prompt: str,
        *,
        deadline: Deadline,
        hidden: bool = False,
        fresh: bool = False,
        question: Question | None = None,
    ) -> Answer | None:
        """Wait for the answer; None when the time is up, when the run is left, and for what is only a line of text."""
        if question is None or not self.interactive or deadline.stopped:
            return None
        asked = OpenQuestion(question)
        with self._lock:
            self._count += 1
            # Of this run only: an answer that is given to another one by mistake fits none of its questions.
            name = f"q{self._count}-{secrets.token_hex(4)}"
            self._open[name] = asked
        withdraw = deadline.on_stop(asked.answered.set)
        try:
            self._tell("question", self._shown(name, question, deadline, hidden), step_key=question.step_key or None)
            self._asked()
            asked.answered.wait(deadline.remaining())
        finally:
            withdraw()
            with self._lock:
                self._open.pop(name, None)
                reply = asked.reply
        if isinstance(reply, Declined):
            raise reply
        return reply

    def answer(self, question_id: str, value: object, *, by: str | None) -> bool:
        """Answer a question; False when it is not open any more, ``UsageError`` for what is not an answer to it."""
        found = self._open.get(question_id)
        if found is None:
            return False
        text = _text(value)
        question = found.question
        if question.kind == "attachment":
            text = self._allowed(text)
        asked = {"name": question.name, "kind": question.kind, "items": list(question.items)}
        if question.kind != "input" and (fault := fault_of(asked, text)) is not None:
            raise UsageError(f"this is not an answer to {question.name}. {fault}", kind=ErrorKind.ANSWER_INVALID)
        person = self._principal(by, agents=question.kind == "input")
        return self._settle(question_id, Answer(value=text, principal=person), declined=False)

    def decline(self, question_id: str, reason: str, *, by: str | None) -> bool:
        """Decline a question for a reason; False when it is not open any more."""
        return self._settle(question_id, Declined(reason, principal=self._principal(by)), declined=True)

    def _settle(self, question_id: str, reply: Answer | Declined, *, declined: bool) -> bool:
        with self._lock:
            found = self._open.get(question_id)
            if found is None or found.answered.is_set():
                return False
            del self._open[question_id]
            found.reply = reply
            by = "" if reply.principal is None else reply.principal.id
            # Told before the step goes on, so that it comes before what the step does with the answer.
            data = {"question_id": question_id, "by": by, "declined": declined}
            self._tell("answered", data, step_key=found.question.step_key or None)
            found.answered.set()
        return True

    def _principal(self, by: str | None, *, agents: bool = False) -> Principal:
        name = self._actor if by is None else by
        if (fault := id_fault(name)) is not None:
            raise UsageError(f"{name!a} cannot be the id of a person: it {fault}")
        if is_agent(name) and not agents:
            message = f"{name} is an agent, and the questions of a step are for a person"
            raise UsageError(message, kind=ErrorKind.ANSWER_AGENT)
        return principal_of(name)

    def _shown(self, name: str, question: Question, deadline: Deadline, hidden: bool) -> Mapping[str, Any]:
        left = deadline.remaining()
        shown = {
            "question_id": name,
            "name": question.name,
            "kind": question.kind,
            "title": question.title or question.prompt,
            "instructions": question.instructions,
            "items": list(question.items),
        }
        expires = None if left is None else timestamp(datetime.now(UTC) + timedelta(seconds=left))
        return {**self._mask(shown), "hidden": hidden or question.hidden, "expires_at": expires}


def _text(value: object) -> str:
    """Return an answer as the line that a person would type: ``yes``, or the numbers of a checklist's items."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "none"
    return str(value)


__all__ = ["HostConsole"]
