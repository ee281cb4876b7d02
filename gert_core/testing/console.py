"""A console for tests, with the answers of a person."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gert_core.api import Deadline, Question

    Answers = Sequence[str] | Mapping[str, str]

_LONG: Final = 3600.0


class ScriptedConsole:
    """A console that answers from a list, or by question; ``said`` and ``asked`` are the texts it was given.

    With a map, the answer is that of the first key which the question contains, however often it is asked. A question
    without an answer gets the end of input, with ``patient`` only at its deadline.
    """

    def __init__(
        self, answers: Answers = (), *, interactive: bool = True, patient: bool = False, terminal: bool = False
    ) -> None:
        self.interactive = interactive
        self.terminal = terminal
        self.said: list[str] = []
        self.asked: list[str] = []
        self._by_question = dict(answers) if isinstance(answers, Mapping) else {}
        self._in_order = [] if isinstance(answers, Mapping) else list(answers)
        self._patient = patient
        self._lock = threading.RLock()

    def say(self, text: str) -> None:
        """Record the text."""
        self.said.append(text)

    def ask(
        self,
        prompt: str,
        *,
        deadline: Deadline,
        hidden: bool = False,
        fresh: bool = False,
        question: Question | None = None,
    ) -> str | None:
        """Return the answer to a question, or None."""
        self.asked.append(prompt)
        for text, answer in self._by_question.items():
            if text in prompt:
                return answer
        if self._in_order:
            return self._in_order.pop(0)
        while self._patient and not deadline.wait(_LONG):
            pass
        return None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Allow one dialogue at a time."""
        with self._lock:
            yield


__all__ = ["ScriptedConsole"]
