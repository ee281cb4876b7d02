"""The frame that the steps of a list share, and the result of one executed step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.api import StepStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.cancel import Deadline
    from gert_core.engine.signals import Signal
    from gert_core.engine.state import Layer
    from gert_core.engine.steps.execution import StepExecution


NEVER: Final = -1
"""``ignored_doubts`` of a list of which it is not known whether it is entered at all."""


class Frame:
    """One pass over one list of steps: its variables, key prefix, deadline and indentation on screen."""

    __slots__ = (
        "base",
        "branch",
        "caught",
        "continues",
        "deadline",
        "depth",
        "ignored_doubts",
        "layer",
        "passed",
        "prefix",
        "quiet",
        "round",
        "visits",
    )

    def __init__(
        self,
        *,
        layer: Layer,
        prefix: str,
        deadline: Deadline,
        branch: Mapping[str, object] | None = None,
        depth: int = 0,
        caught: bool = False,
        continues: bool = False,
        base: Deadline | None = None,
        quiet: bool = False,
        ignored_doubts: int = 0,
        passed: str = "",
    ) -> None:
        self.layer = layer
        self.prefix = prefix
        self.deadline = deadline
        self.base = base or deadline
        """What limits cleanup inside this list: the run, or the cleanup that the list is part of."""
        self.branch = branch
        self.depth = depth
        self.caught = caught
        """Whether a step around the list catches a failure that ends it, and decides whether the run continues."""
        self.continues = continues
        """Whether the run continues after such a failure in any case: by ``continue_on_fail`` of a step around.

        A step between the two that catches failures decides instead.
        """
        self.quiet = quiet
        """Whether the steps of the list are not shown one by one."""
        self.ignored_doubts = ignored_doubts
        """In dry-run: how many of the run's unknown results do not decide whether this list is reached."""
        self.passed = passed
        """What tells this pass over the list apart from others in names: items, rounds and runbooks around it."""
        self.round: int | None = None
        """The number of the pass over a list that repeats, from 1."""
        self.visits: dict[str, int] = {}

    @property
    def label(self) -> str:
        """What tells the list apart from others: the name of its branch, and the number of its round."""
        words = [str(self.branch["label"])] if self.branch is not None and self.branch.get("label") else []
        return ", ".join([*words, f"round {self.round}"] if self.round is not None else words)

    @property
    def cleanup(self) -> bool:
        """Whether the list is part of cleanup: only that has a limit of its own."""
        return self.base.remaining() is not None

    def open_key(self, step_id: str) -> str:
        """Return the step key of the next execution of a step in this pass over its list."""
        visit = self.visits.get(step_id, 0) + 1
        self.visits[step_id] = visit
        return f"{self.prefix}{step_id}" if visit == 1 else f"{self.prefix}{step_id}#{visit}"


def ignored_beside(execution: StepExecution) -> int:
    """Return ``ignored_doubts`` of a list that is reached if its step is, whatever the step's other lists come to."""
    return execution.frame.ignored_doubts + execution.run.doubts - execution.doubts


def again_in(key: str) -> str:
    """Return what a step key has behind the id of its step: which visit and which item it is, such as ``#2[a]``."""
    return key.rpartition("/")[2][len(step_id_of(key)) :]


def step_id_of(key: str) -> str:
    """Return the id of the step that a step key belongs to."""
    return key.rpartition("/")[2].partition("[")[0].partition("#")[0]


class Done(Struct, kw_only=True):
    """The result of one execution of a step; after a ``signal`` its list does not continue."""

    status: StepStatus
    outputs: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)
    failure: Mapping[str, str] | None = None
    """Kind and message when it did not succeed."""
    signal: Signal | None = None
    jump: str | None = None
    maybe: bool = False
    """In dry-run: whether it is known only in a real run if the step is skipped."""
    uncertain: bool = False
    """In dry-run: whether its status is known only in a real run."""

    @property
    def ran(self) -> bool:
        """Whether the step was executed, so that its ``next`` counts."""
        return self.status is not StepStatus.SKIPPED


__all__ = ["NEVER", "Done", "Frame", "again_in", "ignored_beside", "step_id_of"]
