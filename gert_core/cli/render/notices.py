"""Write what happens in a run as lines of JSON: the notices that hosts are given, for programs in any language."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gert_core.api.hosting import Notice
from gert_core.cli.render.console import TerminalConsole
from gert_core.cli.render.screen import Screen
from gert_core.cli.render.ticker import Ticker
from gert_core.hosting.kept import event_notice
from gert_core.hosting.listener import HostProgress
from gert_core.hosting.notices import END
from gert_core.trace.events import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

    from gert_core.api import ApprovalRequest, Deadline, Question, TraceEvent
    from gert_core.engine.progress import Progress
    from gert_core.engine.run import Run
    from gert_core.trace.observers import Observer


class NoticeLines:
    """Notices that are written when they are made, and not kept."""

    def __init__(self, stream: TextIO) -> None:
        self.run_id = ""
        self.watched = True
        """Whether anybody is told of notices now."""
        self._screen = Screen(stream)
        self._number = 0
        self._ended = False

    def add(self, kind: str, data: Mapping[str, Any], *, step_key: str | None = None) -> None:
        """Write a notice; nothing comes after ``end``."""
        self._add(lambda number: self._notice(number, kind, data, step_key))

    def add_event(self, event: TraceEvent) -> None:
        """Write the notice of an event of the trace."""
        self._add(lambda number: event_notice(number, event, self.run_id))

    def _add(self, made: Callable[[int], Notice]) -> None:
        with self._screen.lock:
            if self._ended:
                return
            self._number += 1
            notice = made(self._number)
            self._ended = notice.kind == END
            # ASCII: whatever the encoding of the stream is, and whatever a tool writes, a line is a document.
            self._screen.print(json.dumps(notice.to_json(), default=str) + "\n")

    def _notice(self, number: int, kind: str, data: Mapping[str, Any], step_key: str | None) -> Notice:
        now = timestamp(datetime.now(UTC))
        return Notice(number=number, time=now, run_id=self.run_id, kind=kind, step_key=step_key, data=data)


class NoticeProgress:
    """Shows a run as lines of JSON."""

    def __init__(self, stream: TextIO) -> None:
        self._notices = NoticeLines(stream)
        self._ticker = Ticker()
        self._run: Run | None = None
        self._progress = HostProgress(self._notices, self._ticker, named=self._name, since_last=self._since_last)

    @property
    def listener(self) -> Progress:
        """What the engine tells of the run."""
        return self._progress

    @property
    def observers(self) -> Sequence[tuple[str, Observer]]:
        """Who is told of the events of the run."""
        return (("progress", self._progress.observe),)

    def attach(self, run: Run) -> None:
        """Take the run that is about to be executed."""
        self._run = run
        self._progress.begin(run)

    def console(self, *, no_input: bool) -> TerminalConsole:
        """Return who asks: a question is a notice, its answer a line of standard input."""
        return NoticeConsole(self._progress.tell, self._progress.mask, no_input=no_input)

    def close(self) -> None:
        """Take the end of the run."""
        self._ticker.end()

    def end(self, data: Mapping[str, Any]) -> None:
        """Tell how the run ended."""
        self._notices.add(END, data)

    def _name(self, run_id: str) -> None:
        self._notices.run_id = run_id

    def _since_last(self, request: ApprovalRequest) -> Mapping[str, Any] | None:
        """Return what changed since the step was approved last."""
        from gert_core.approvals.checks import Approvals
        from gert_core.approvals.since import since_last_json

        facts = None if self._run is None else self._run.facts
        if facts is None or facts.store is None:
            return None
        known = Approvals(
            actors=frozenset(),
            schemes=facts.registry.signature_scheme,
            environ=facts.environ,
            people=facts.policies.people,
        )
        return since_last_json(facts.store, request, known=lambda: known)


class NoticeConsole(TerminalConsole):
    """Asks by notices; standard input has the answers, line by line."""

    def __init__(self, tell: Callable[..., None], mask: Callable[[Any], Any], *, no_input: bool) -> None:
        super().__init__(no_input=no_input)
        self._tell = tell
        self._mask = mask
        self._count = 0

    def say(self, text: str) -> None:
        """Tell what would be shown at a terminal."""
        self._tell("warning", self._mask({"message": text}))

    def ask(
        self,
        prompt: str,
        *,
        deadline: Deadline,
        hidden: bool = False,
        fresh: bool = False,
        question: Question | None = None,
    ) -> str | None:
        """Return one line, or None at the end of input, on expiry or cancel."""
        with self.exclusive():
            self._count += 1
            name, key = f"q{self._count}", (question.step_key or None) if question is not None else None
            if self.interactive and not deadline.stopped:
                self._tell("question", {"question_id": name, **self._shown(prompt, question, hidden)}, step_key=key)
            line = super().ask(prompt, deadline=deadline, hidden=hidden, fresh=fresh, question=question)
            if line is not None:
                self._tell("answered", {"question_id": name, "by": "", "declined": False}, step_key=key)
            return line

    def show(self, text: str) -> None:
        """Show nothing: the question is a notice."""

    def _shown(self, prompt: str, question: Question | None, hidden: bool) -> dict[str, Any]:
        shown = {"name": "", "kind": "text", "title": prompt, "instructions": "", "items": []}
        if question is not None:
            shown = {
                "name": question.name,
                "kind": question.kind,
                "title": question.title or question.prompt,
                "instructions": question.instructions,
                "items": list(question.items),
            }
            hidden = hidden or question.hidden
        return {**self._mask(shown), "hidden": hidden, "expires_at": None}


__all__ = ["NoticeConsole", "NoticeLines", "NoticeProgress"]
