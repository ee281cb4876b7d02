"""The interface to follow a run in progress: records about its steps, and listeners, whose errors do not reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.api import ApprovalRequest, Contract, Outcome, StepStatus
    from gert_core.documents.retry import RetryPolicy
    from gert_core.governance import Decision


class StepInfo(Struct, frozen=True, kw_only=True):
    """One execution of a step, for display."""

    key: str
    step_id: str
    type: str
    """The name of the step's type."""
    depth: int
    """The number of steps around it."""
    leaf: bool
    """Whether it acts itself, instead of through blocks."""
    loop: bool = False
    """Whether it represents all items of its ``for_each``; each item has an execution of its own."""
    item: int | None = None
    """The number of the item, if it is one item of a ``for_each``."""
    maybe: bool = False
    """Whether only a real run shows if it is reached: after a step that was not run, or an undecided guard."""
    continues: bool = False
    """Whether the run continues when it fails: by ``continue_on_fail`` of it or of a step around it.

    A step between the two that catches failures decides instead.
    """
    caught: bool = False
    """Whether a step around it catches failures, and decides after one whether the run continues."""
    gated: bool = False
    """Whether its type may demand an approval by itself: an error of it ends the run, whatever ``continues`` says."""
    description: str | None = None
    """What the author says about it."""
    quiet: bool = False
    """Whether it is part of a step that is shown in one line."""
    single: bool = False
    """Whether it is shown in one line, although it has blocks."""
    label: str = ""
    """Which of several concurrent lists it is in, and which round of a repeated one; not masked."""


class Outline(Struct, frozen=True, kw_only=True):
    """What a dry-run or probe shows of any step that would be reached, as far as it is known before a real run."""

    detail: str = ""
    """What it does, in words of its type."""
    blocks: tuple[str, ...] = ()
    """Its blocks that run on a condition, in an order or several times, and how."""
    loop: str = ""
    """Over what it runs, and until when."""
    notes: tuple[tuple[str, str], ...] = ()
    """What its common fields say, each with the word it is shown under."""


class Evaluation(Struct, frozen=True, kw_only=True):
    """The findings of a dry-run or probe about a step that a real run would execute."""

    contract: Contract
    decision: Decision
    inputs: Mapping[str, object]
    command: tuple[str, ...]
    """The command line of its tool; values known only in a real run stand in it as their templates."""
    secrets: Mapping[str, bool]
    """The secrets its tool needs, and whether each has a value."""
    platforms: tuple[str, ...] = ()
    """The platforms its tool supports; empty: any."""
    retry: RetryPolicy | None = None
    """How often it would be attempted; None: once."""
    outline: Outline = Outline()
    asks: str | None = None
    """The message of the approval that it demands by itself."""
    terms: str = ""
    """Who is to give that approval until when, and what a rejection does."""
    lacking: str = ""
    """Why the approval that it needs cannot be given; empty where it may be."""


class CallWatcher(Protocol):
    """Who watches one call of a tool; its functions raise nothing."""

    def feed(self, stream: str, data: bytes) -> None:
        """Take what the tool has written to a stream: ``stdout``, ``stderr`` or ``progress``."""

    def close(self) -> None:
        """Take the end of the call."""


class Progress:
    """Base of listeners; methods may be called from several threads at once. Texts and data are not masked."""

    listens = True
    """Whether it is to be told of the start and the end of every step."""
    watches = False
    """Whether it is to be told of calls of tools and of the items of loops; asked before each."""

    def named(self, run_id: str) -> None:
        """Handle the id of the run, which is known before its inputs are."""

    def calling(self, step: StepInfo, tool: str, action: str, command: Sequence[str]) -> CallWatcher | None:
        """Handle a tool that is about to be called; return who watches what it writes, if anybody does."""

    def items(self, step: StepInfo, *, done: int, failed: int, skipped: int, total: int) -> None:
        """Handle how many items of a loop are over, of which some failed or were skipped; of none at its start."""

    def submitted(self, step: StepInfo, request: ApprovalRequest) -> None:
        """Handle an approval request that its provider has, in this process or an earlier one."""

    def started(self, step: StepInfo) -> None:
        """Handle the start of a step."""

    def finished(self, step: StepInfo, status: StepStatus, data: Mapping[str, object], duration: float) -> None:
        """Handle the result of a step; ``data`` is that of its ``step_complete``."""

    def evaluated(self, step: StepInfo, evaluation: Evaluation) -> None:
        """Handle the findings about a finished step (dry-run and probe)."""

    def outlined(self, step: StepInfo, outline: Outline) -> None:
        """Handle what is known of a step with blocks before they run, or of a loop before its items (as above)."""

    def shown(self, step: StepInfo, text: str) -> None:
        """Handle what a step says about what it is doing."""

    def retrying(self, step: StepInfo, *, attempt: int, most: int, delay: float, failure: Mapping[str, str]) -> None:
        """Handle a failed attempt after which the given one, of at most ``most``, follows in ``delay`` seconds."""

    def recorded(self, step: StepInfo) -> None:
        """Handle a step that returned its recorded result."""

    def left_open(self, step: StepInfo, *, cancelled: bool) -> None:
        """Handle a step without a result: the run was cancelled, or one of the step's blocks was suspended."""

    def pending(self, step: StepInfo, request: ApprovalRequest) -> None:
        """Handle a step that waits for an approval."""

    def unanswered(self, step: StepInfo) -> None:
        """Handle a step that is left open until its questions are answered."""

    def paused(self, step: StepInfo, key: str) -> None:
        """Handle a step that is left open until somebody unblocks the run with this key."""

    def possible(self, outcome: Outcome) -> None:
        """Handle an outcome that was reached (in dry-run: one of the possible ones)."""

    def arm(self, step: StepInfo, name: str, why: str) -> None:
        """Handle the exploration of an undecided arm of a step (dry-run and probe)."""

    def warn(self, message: str, *, step: StepInfo | None = None) -> None:
        """Handle a warning; the run continues."""


class Unheard(Progress):
    """The listener of a run that has none."""

    listens = False


class SafeProgress(Progress):
    """A listener whose exceptions do not reach the run; the first one is given to ``on_fault``."""

    def __init__(self, listener: Progress, on_fault: Callable[[Exception], None]) -> None:
        self._listener = listener
        self._on_fault = on_fault
        self._failed = False

    @property
    def watches(self) -> bool:  # type: ignore[override]
        """Whether the listener wants to be told of calls now."""
        return self._listener.watches

    def calling(self, step: StepInfo, tool: str, action: str, command: Sequence[str]) -> CallWatcher | None:
        try:
            return self._listener.calling(step, tool, action, command)
        except Exception as fault:
            self._note(fault)
            return None

    def items(self, step: StepInfo, *, done: int, failed: int, skipped: int, total: int) -> None:
        self._tell(self._listener.items, step, done=done, failed=failed, skipped=skipped, total=total)

    def submitted(self, step: StepInfo, request: ApprovalRequest) -> None:
        self._tell(self._listener.submitted, step, request)

    # The two that are called for every step are written out, which costs half of what ``_tell`` does.

    def started(self, step: StepInfo) -> None:
        try:
            self._listener.started(step)
        except Exception as fault:
            self._note(fault)

    def finished(self, step: StepInfo, status: StepStatus, data: Mapping[str, object], duration: float) -> None:
        try:
            self._listener.finished(step, status, data, duration)
        except Exception as fault:
            self._note(fault)

    def evaluated(self, step: StepInfo, evaluation: Evaluation) -> None:
        self._tell(self._listener.evaluated, step, evaluation)

    def outlined(self, step: StepInfo, outline: Outline) -> None:
        self._tell(self._listener.outlined, step, outline)

    def shown(self, step: StepInfo, text: str) -> None:
        self._tell(self._listener.shown, step, text)

    def retrying(self, step: StepInfo, *, attempt: int, most: int, delay: float, failure: Mapping[str, str]) -> None:
        self._tell(self._listener.retrying, step, attempt=attempt, most=most, delay=delay, failure=failure)

    def recorded(self, step: StepInfo) -> None:
        self._tell(self._listener.recorded, step)

    def left_open(self, step: StepInfo, *, cancelled: bool) -> None:
        self._tell(self._listener.left_open, step, cancelled=cancelled)

    def pending(self, step: StepInfo, request: ApprovalRequest) -> None:
        self._tell(self._listener.pending, step, request)

    def unanswered(self, step: StepInfo) -> None:
        self._tell(self._listener.unanswered, step)

    def paused(self, step: StepInfo, key: str) -> None:
        self._tell(self._listener.paused, step, key)

    def possible(self, outcome: Outcome) -> None:
        self._tell(self._listener.possible, outcome)

    def arm(self, step: StepInfo, name: str, why: str) -> None:
        self._tell(self._listener.arm, step, name, why)

    def warn(self, message: str, *, step: StepInfo | None = None) -> None:
        self._tell(self._listener.warn, message, step=step)

    def _tell(self, method: Callable[..., None], *given: object, **named: object) -> None:
        try:
            method(*given, **named)
        except Exception as fault:
            self._note(fault)

    def _note(self, fault: Exception) -> None:
        if not self._failed:
            self._failed = True
            self._on_fault(fault)


__all__ = ["CallWatcher", "Evaluation", "Outline", "Progress", "SafeProgress", "StepInfo", "Unheard"]
