"""What a host may follow while a run goes on: small records about its steps; every method does nothing here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import ApprovalRequest, Contract, Outcome, StepStatus
    from gert_core.governance import Decision


class StepInfo(Struct, frozen=True, kw_only=True):
    """One execution of a step, as far as it is shown."""

    key: str
    step_id: str
    type: str
    """The name of the step's type."""
    depth: int
    """How many steps it stands in."""
    leaf: bool
    """Whether it acts itself, instead of through blocks."""
    loop: bool = False
    """Whether it stands for all items of its ``for_each``; each item has an execution of its own."""
    item: int | None = None
    """The number of the item, if it is one item of a ``for_each``."""
    maybe: bool = False
    """Whether only a real run knows if its guard skips it (dry-run and probe)."""


class Evaluation(Struct, frozen=True, kw_only=True):
    """What a dry-run or a probe found out about a step that a real run would execute."""

    contract: Contract
    decision: Decision
    inputs: Mapping[str, Any]
    secrets: Mapping[str, bool]
    """The secrets its tool needs, and whether each has a value."""
    platforms: tuple[str, ...] = ()
    """The platforms its tool is made for; empty: any."""


class Progress:
    """Base of listeners; methods may be called from several threads at once. Texts and data are not masked."""

    def started(self, step: StepInfo) -> None:
        """Take note that a step begins."""

    def finished(self, step: StepInfo, status: StepStatus, data: Mapping[str, Any], duration: float) -> None:
        """Take note of a step's result; ``data`` is that of its ``step_complete``."""

    def evaluated(self, step: StepInfo, evaluation: Evaluation) -> None:
        """Take note of what is known about a finished step (dry-run and probe)."""

    def recorded(self, step: StepInfo) -> None:
        """Take note that a step returned its recorded result."""

    def left_open(self, step: StepInfo, *, cancelled: bool) -> None:
        """Take note that a step has no result: the run was cancelled, or one of the step's blocks was suspended."""

    def pending(self, step: StepInfo, request: ApprovalRequest) -> None:
        """Take note that a step waits for an approval that will come later."""

    def possible(self, outcome: Outcome) -> None:
        """Take note of an end that was reached (in dry-run: one of the possible ones)."""

    def arm(self, step: StepInfo, name: str, why: str) -> None:
        """Take note that an undecided arm of a step is explored (dry-run and probe)."""

    def warn(self, message: str, *, step: StepInfo | None = None) -> None:
        """Take note of something the person should know; the run goes on."""


__all__ = ["Evaluation", "Progress", "StepInfo"]
