"""The step context and related protocols: everything a running step may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeVar

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path
    from random import Random

    from gert_core.api.approvals import ApprovalRequest
    from gert_core.api.contracts import Contract
    from gert_core.api.data import Json
    from gert_core.api.results import BlockStatus, Outcome, Principal
    from gert_core.api.steps import Block, Branch
    from gert_core.api.stores import StoredRun
    from gert_core.api.tickets import Tickets
    from gert_core.api.transports import Reply
    from gert_core.api.views import ProjectInfo

WRONG_ANSWERS: Final = 100
"""How many answers that cannot be used a question takes before it stays unanswered: no person gives as many."""


class Deadline(Protocol):
    """A time limit that can be cancelled.

    Every call that waits takes one and must return within a second of it being stopped.
    """

    @property
    def stopped(self) -> bool:
        """Whether the work must stop now, because the time is over or the run is cancelled."""

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled (as opposed to running out of time)."""

    def remaining(self) -> float | None:
        """Return the seconds left, never negative; ``None`` means no limit."""

    def wait(self, seconds: float) -> bool:
        """Sleep for at most ``seconds``; returns True as soon as the work must stop."""

    def on_stop(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call ``fn`` once when the work is cancelled; returns a function that undoes this."""

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the run is cancelled, for ``select``."""


class Console(Protocol):
    """The person at the terminal, one question at a time."""

    @property
    def interactive(self) -> bool:
        """Whether questions can be answered: a terminal or piped standard input, and not ``--no-input``."""

    @property
    def terminal(self) -> bool:
        """Whether answers are typed at a terminal, not read from a pipe or a file."""

    def say(self, text: str) -> None:
        """Show a line to the person (on standard error)."""

    def ask(
        self,
        prompt: str,
        *,
        deadline: Deadline,
        hidden: bool = False,
        fresh: bool = False,
        question: Question | None = None,
    ) -> str | Answer | None:
        """Show ``prompt``, read one line; ``None`` at the end of input, on expiry or cancel.

        With ``fresh``, what was typed at a terminal before the question is thrown away. ``question`` says the same
        for a console that is not a terminal. An ``Answer`` also tells who gave it; ``Declined`` is raised when that
        person declines.
        """

    def exclusive(self) -> AbstractContextManager[object]:
        """Return a context manager that blocks other questions during a dialogue of several lines."""


class Question(Struct, frozen=True, kw_only=True):
    """A question of a step to a person; ``name`` identifies the answer in scenarios and outputs.

    ``kind`` is ``confirm``, ``text``, ``choice``, ``checklist`` or ``attachment``, and ``input`` for an input of the
    run; ``items`` are those of a checklist or a choice. ``prompt`` is what a terminal shows; ``title`` and
    ``instructions`` say the same without the grammar of answers. ``hidden``: the answer is a secret. ``following`` are
    the questions that the step asks after this one, for people who answer all at once. ``step_key`` is set by gert.
    """

    name: str
    prompt: str
    kind: str = "text"
    items: tuple[str, ...] = ()
    title: str = ""
    instructions: str = ""
    following: tuple[Question, ...] = ()
    hidden: bool = False
    step_key: str = ""


class Answer(Struct, frozen=True, kw_only=True):
    """The answer to a question: ``value`` is the line typed, or (``canned``) the value in a scenario."""

    value: Any
    canned: bool = False
    principal: Principal | None = None


class NoAnswer(Exception):  # noqa: N818 - end of input is an answer of its own
    """There is no answer: end of input, ``--no-input``, or a scenario without this answer."""


class BlockResult(Struct, frozen=True, kw_only=True):
    """The result of a block that was run with ``catch=True``, or to its end.

    ``kind`` and ``message`` are those of its first failure, ``failed_key`` is the key of the step that failed.
    """

    status: BlockStatus
    kind: str | None = None
    message: str | None = None
    failed_key: str | None = None
    outputs: Mapping[str, object] = field(default_factory=dict)
    """The names the block promoted, with their values."""
    outcome: Outcome | None = None
    """The outcome of an included runbook that reached its end; its ``status`` is ``ended``."""


class Services(Struct, frozen=True, kw_only=True):
    """The services that the core gives to providers, resolvers and transports when it opens them.

    ``run`` is the run in its store, None for one that is not kept; ``run_dir`` its directory, where it has one.
    ``project`` is None outside of a project. ``config`` is this plugin's own part of ``plugins.config``; for an
    approval provider it also includes ``approvals.config``. Programs are started in ``cwd``; None: gert's own.
    ``tickets`` is there for programs that answer for people, in callbacks; never in a run. ``since_last(request)``
    returns what changed since the step was approved last; None when it never was, or where that is unknown.
    """

    console: Console
    run_id: str = ""
    run: StoredRun | None = None
    run_dir: Path | None = None
    project: ProjectInfo | None = None
    actor: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Json] = field(default_factory=dict)
    cwd: str | None = None
    tickets: Tickets | None = None
    since_last: Callable[[ApprovalRequest], Mapping[str, Any] | None] = lambda _: None


class Closable(Protocol):
    """Something that is open until it is closed."""

    def close(self) -> None:
        """End it; called once, by the core."""


Peer = TypeVar("Peer", bound=Closable)
"""The type of a session that a plugin opens."""


class StepContext(Protocol):
    """The context of a step's ``run``: valid only in the calling thread, until ``run`` returns; values are copies."""

    inputs: Mapping[str, Any]
    """The resolved inputs: ``inputs_from``, ``inputs`` and contract defaults, coerced."""
    contract: Contract
    key: str
    step_id: str
    attempt: int
    """The number of this attempt, from 1; a resumed run continues to count."""
    is_retry: bool
    """Whether the step was attempted before: by its ``retry`` policy, or before a crash."""
    idempotency_key: str
    deadline: Deadline
    random: Random
    """A random generator seeded by run id and step key."""

    @property
    def config(self) -> Mapping[str, Json]:
        """The configuration of the step type's plugin under ``plugins.config``."""

    @property
    def approvers(self) -> Sequence[str]:
        """The ids of those who approved this execution, in the order of their answers; empty when none was required."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The step's blocks as its type lists them, rendered; ``run_block`` and ``fork`` take these."""

    @property
    def vars(self) -> Mapping[str, Any]:
        """The variables this step may see, filtered by its ``visibility``."""

    def render(self, value: object) -> Any:
        """Render a raw template value against the current variables."""

    def test(
        self,
        expression: object,
        *,
        bind: Mapping[str, object] | None = None,
        after: BlockResult | None = None,
        undefined: bool | None = None,
    ) -> bool:
        """Evaluate an ``Expr`` field to a truth value.

        With ``after``, the result of the last block that was run, it sees that block's steps and the names they set in
        front of all others. ``undefined`` is the value when a name in it is not defined; without it that is an error.
        """

    def show(self, text: str) -> None:
        """Show on the step's line what it is doing now; not recorded, and the last text stays when it has finished.

        A step with blocks that succeeds has no last line. It may show something after a failure, too.
        """

    def now(self) -> datetime:
        """Return the time; that of a logical clock in replay."""

    @property
    def interrupted(self) -> bool:
        """Whether the run was interrupted in this step, with blocks, just before the time that ``now`` gave last."""

    def sleep(self, seconds: float) -> None:
        """Wait, cancellable; instant in replay and dry-run."""

    def emit(self, type: str, data: Mapping[str, object]) -> None:  # noqa: A002 - the event's field name
        """Write a trace event of the step's own; names of the core's events are refused."""

    def run_block(
        self, block: Block, *, key: int | None = None, bind: Mapping[str, object] | None = None, catch: bool = False
    ) -> BlockResult:
        """Run a child block now; a failure unwinds unless ``catch``.

        In dry-run and probe it raises ``Undecided`` when a caught block may fail; blocks not run yet are then explored.
        ``block`` is one of ``blocks``, or a block that equals exactly one of them.
        """

    def reraise(self, *results: BlockResult) -> NoReturn:
        """Fail with failures that were caught, each from a ``catch=True``: the run names the steps that failed.

        It does not return. The step is ``failed`` or ``error`` as the worst of them is.
        """

    def fork(
        self,
        runs: Sequence[Branch],
        *,
        limit: int = 16,
        catch: bool = False,
        on_start: Callable[[Sequence[Sequence[int]]], None] | None = None,
    ) -> Sequence[BlockResult]:
        """Run blocks concurrently on forked state; ``on_start`` is called with which of them are serialised."""

    def conflicts(self, blocks: Sequence[Block]) -> Sequence[tuple[int, int]]:
        """Return pairs of blocks that must not run at the same time, by their contracts and by policy."""

    def state_hash(self) -> str:
        """Return the SHA-256 of the variables visible here, masked, for ``*_fork`` events."""

    def call_tool(self, tool: str, action: str | None, inputs: Mapping[str, object]) -> Reply:
        """Call a declared tool; refused when its contract is not within the step's.

        The first call has the step's idempotency key; later ones have keys of their own, by their number in the
        attempt, so call tools in the same order each time. Calls of types without ``tool_use``, and all but the first
        of the others, are traced as ``tool_call``.
        """

    def session(self, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002 - it opens
        """Return a long-lived peer of this run, opened on first use and closed by the core (``close()``).

        Names belong to the plugin: another plugin's session of the same name is another session. A step with an
        approval has sessions of its own, which are closed with the attempt.
        """

    def drop_session(self, name: str) -> None:
        """Close and remove a peer of this plugin that has ended; the next ``session`` opens a new one."""

    def ask(self, question: Question) -> Answer:
        """Ask a person; raise ``NoAnswer`` when there is no answer."""

    def pause(self, key: str, *, reason: str = "", metadata: Mapping[str, Json] | None = None) -> None:
        """Suspend the run until ``gert runs unblock`` is called with this key; return when it was.

        The process may end meanwhile. A resumed run calls ``run`` anew, and a pause that was unblocked returns at once,
        so pause before you act: what a step did before the pause, it does again. A step that acted and whose contract
        does not allow repeating it is refused with ``StepProblem``. Returns at once in dry-run, probe and replay.
        """

    def summarise(self, type: str, payload: Mapping[str, object]) -> None:  # noqa: A002 - the event's field name
        """Record a summary for the run as a whole, of at most 256 KiB; the latest of a type counts.

        ``task_progress`` has ``{"units": [{"id": ..., "state": "pending|in_progress|done|failed"}]}``, from which
        progress is computed, ``artifact::KEY`` has ``{"value": ...}``. Nothing is recorded in dry-run and probe.
        """

    def artifact(self, key: str) -> Any:
        """Return the latest value of an artifact that an earlier step of the run kept, None when there is none.

        Inside an item, a round or an included runbook it is the value that was kept there, if there is one. In dry-run
        and probe nothing is kept, and it raises ``Undecided``.
        """

    def attach(self, path: str) -> Mapping[str, object]:
        """Copy a file into the run directory; returns its name, size and SHA-256."""


__all__ = [
    "WRONG_ANSWERS",
    "Answer",
    "BlockResult",
    "Closable",
    "Console",
    "Deadline",
    "NoAnswer",
    "Question",
    "Services",
    "StepContext",
]
