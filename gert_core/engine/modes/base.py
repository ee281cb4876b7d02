"""The protocol of backends: what calls of a step's context do in a mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from gert_core.api import Answer, ApprovalRequest, Question, Reply, Result, Services
    from gert_core.api.context import Peer
    from gert_core.approvals import ApprovalDecision
    from gert_core.documents.tree import ToolNode
    from gert_core.engine.resume.records import RecordedApproval
    from gert_core.engine.run import Run
    from gert_core.engine.steps.execution import StepExecution


class Backend(Protocol):
    """One mode of running: which steps are executed, and what calls, questions and waits of steps do."""

    @property
    def sequential(self) -> bool:
        """Whether forked blocks run one by one in the calling thread."""

    @property
    def symbolic(self) -> bool:
        """Whether values may stay unknown."""

    @property
    def enforces(self) -> bool:
        """Whether denials stop the run and approvals are requested."""

    @property
    def acts(self) -> bool:
        """Whether steps really do what they do outside the run."""

    @property
    def jumps_back(self) -> bool:
        """Whether backward jumps are taken."""

    @property
    def repeats(self) -> bool:
        """Whether a block is run a second time; if not, one round represents all of them."""

    # -- the run -------------------------------------------------------------------------------------------------

    def seed(self, run: Run) -> str:
        """Return the seed of a step's random numbers."""

    def remarks(self, run: Run) -> list[str]:
        """Return warnings to show when the run is over."""

    def run_seconds(self, seconds: float) -> float:
        """Return the duration of the run as it is recorded."""

    # -- one step ------------------------------------------------------------------------------------------------

    def will_execute(self, execution: StepExecution) -> bool:
        """Return whether the step will really be executed, so that an approval makes sense."""

    def substitute(self, execution: StepExecution) -> Result | None:
        """Return the result that replaces the execution of a leaf, if there is one."""

    def decide_approval(
        self, execution: StepExecution, request: ApprovalRequest, recorded: RecordedApproval | None
    ) -> ApprovalDecision:
        """Return the decision about an approval request; ``recorded`` is what the trace already has of it."""

    def step_seconds(self, began: float) -> float:
        """Return the seconds since a step began, as they are recorded."""

    # -- calls of its context ------------------------------------------------------------------------------------

    def now(self, execution: StepExecution) -> datetime:
        """Return the time of day."""

    def sleep(self, execution: StepExecution, seconds: float) -> None:
        """Wait."""

    def call_tool(self, execution: StepExecution, tool: ToolNode, action: str, inputs: Mapping[str, object]) -> Reply:
        """Return the tool's reply, with its outputs extracted."""

    def session(self, execution: StepExecution, name: str, open: Callable[[Services], Peer]) -> Peer:  # noqa: A002
        """Return the long-lived peer of that name, opened on first use."""

    def ask(self, execution: StepExecution, question: Question) -> Answer:
        """Return a person's answer."""

    def attach(self, execution: StepExecution, path: str) -> Mapping[str, object]:
        """Return name, hash and size of a file that was added to the run."""


__all__ = ["Backend"]
