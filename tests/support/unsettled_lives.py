"""The life of a run over several processes, with other documents, answers and deaths between them, as it happened."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gert_step_approval
import gert_step_runbook
from lab import Lab
from unsettled_books import BOOK, POLICY, YES, Documents

from gert_core.api import GertError
from gert_core.approvals.inbox import entries, respond
from gert_core.engine.resume.plan import RunFinished
from gert_core.runs.fold import fold
from gert_core.stores.directory import DirectoryStore
from gert_core.trace.reader import read
from gert_core.trace.verify import verify
from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gert_core.api import Reply


class EffectLab(Lab):
    """A laboratory that keeps each effect in a file, so that those of processes that died are known as well."""

    file: Path
    sick: frozenset[str] = frozenset()
    lock = threading.Lock()

    def answer(self, name: str, action: Any, inputs: dict[str, Any], deadline: Any) -> Reply:
        """Write what is done down, then do it; what is given a value in ``sick`` fails."""
        told = {"tool": name, "method": action.method, "inputs": inputs, "key": action.idempotency_key}
        with self.lock, self.file.open("a") as file:
            file.write(json.dumps(told) + "\n")
        if inputs.get("value") in self.sick:
            inputs = {**inputs, "exit": 3}
        return Lab.answer(self, name, action, inputs, deadline)


@dataclass(frozen=True, kw_only=True)
class Process:
    """What one process was given, and what it did."""

    documents: Documents
    approved: frozenset[str]
    """The tickets that were approved before it began."""
    rejected: frozenset[str]
    first: int
    """How many events there were when it began."""
    effects: list[dict[str, Any]]
    killed: bool
    ended: str
    """The status of the run, or the kind of the error."""


@dataclass(kw_only=True)
class Life:
    """One run."""

    lab: EffectLab
    directory: Path
    documents: Documents
    """Those of the start."""
    processes: list[Process] = field(default_factory=list)
    tickets: dict[str, tuple[dict[str, Any], int]] = field(default_factory=dict)
    """By id the document that people were shown, and the number of the process that asked."""
    approved: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)
    last: Any = None

    @property
    def trace(self) -> Path | None:
        """The trace, once there is one."""
        return next((self.directory / "runs").glob("*/trace.jsonl"), None)

    @property
    def run_id(self) -> str:
        """The run's id."""
        assert self.trace is not None
        return self.trace.parent.name

    def events(self) -> list[dict[str, Any]]:
        """Everything that is in the trace; a torn last line is not."""
        if self.trace is None:
            return []
        lines = self.trace.read_bytes().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def state(self) -> Any:
        """How the run stands."""
        assert self.trace is not None
        return fold(read(self.trace))

    def open_tickets(self) -> list[str]:
        """The tickets that nobody has answered."""
        return [one for one in self.tickets if one not in self.approved | self.rejected]

    def answer(self, ticket: str, *, approved: bool) -> None:
        """Answer a ticket as a person would; one that is no longer open stays as it is."""
        for entry in entries(DirectoryStore(self.directory / "runs")):
            if entry.request.ticket_id == ticket and entry.resolved is None:
                respond(entry, approved=approved, approver="bob", reason=None, environ={}, schemes=lambda _: None)
                (self.approved if approved else self.rejected).add(ticket)

    def process(self, documents: Documents, *, kill: int = 0, pw: str = YES, **options: Any) -> Process:
        """Start or resume the run; with ``kill`` the process dies at that event of it."""
        for name, document in documents.items():
            target = self.directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(document))
        self.lab.runner.directory = self.directory
        self.lab.file = self.directory / "effects"
        before = len(self.effects())
        first = len(self.events())
        size = self.trace.stat().st_size if self.trace is not None else 0

        def work() -> str:
            given: dict[str, Any] = {"environ": {}, "host_vars": {"pw": pw}}
            try:
                if self.trace is None:
                    options.update(approval="inbox", trace_sync="none", policies=[self.directory / POLICY])
                    del given["host_vars"]
                    self.last = self.lab.runner(self.directory / BOOK, inputs={"pw": pw}, **given, **options)
                else:
                    self.last = self.lab.runner.resume(self.run_id, **given, **options)
            except RunFinished:
                return "finished"
            except GertError as error:
                return f"error: {error.kind}: {error.message}"
            return str(self.last.status)

        self.last = None
        ended = _forked(work, kill) if kill else work()
        made = Process(
            documents=documents,
            approved=frozenset(self.approved),
            rejected=frozenset(self.rejected),
            first=first,
            effects=self.effects()[before:],
            killed=ended == "killed",
            ended=ended,
        )
        self.processes.append(made)
        if self.trace is not None:
            for entry in entries(DirectoryStore(self.directory / "runs")):
                shown = dict(entry.request.document)
                self.tickets.setdefault(entry.request.ticket_id, (shown, len(self.processes) - 1))
            if not made.killed and self.trace.stat().st_size != size:
                self._whole(ended)
        return made

    def effects(self) -> list[dict[str, Any]]:
        """Everything that was done so far."""
        file = self.directory / "effects"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _whole(self, ended: str) -> None:
        """Hold a process that wrote to the trace to having ended it."""
        verdict = verify(self.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned", (ended, verdict)
        state = self.state()
        assert str(state.status) not in ("running", "interrupted"), (ended, state.status)
        assert self.events()[-1]["type"] in ("run_suspended", "run_complete"), ended
        if str(state.status) == "approval_pending":
            assert state.tickets, f"{ended}: it waits, and nobody is asked"


def _forked(work: Callable[[], str], kill: int) -> str:
    """Do the work in a process that dies at its n-th event."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            add, count = TraceWriter.add, [0]

            def dying(self: TraceWriter, *args: Any, **named: Any) -> int:
                number = add(self, *args, **named)
                count[0] += 1
                if count[0] >= kill:
                    self.commit()
                    os.write(writer, b"killed")
                    os._exit(0)
                return number

            TraceWriter.add = dying  # type: ignore[method-assign]
            os.write(writer, work().encode())
        except BaseException as error:
            os.write(writer, f"broken: {error!r}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    assert not said.startswith("broken"), said
    return "killed" if said.startswith("killed") else said


def new_lab(directory: Path) -> EffectLab:
    """A laboratory with the step types that ask."""
    lab = EffectLab(directory)
    lab.runner.registry = lab.registry_with(gert_step_approval, gert_step_runbook)
    return lab


__all__ = ["EffectLab", "Life", "Process", "new_lab"]
