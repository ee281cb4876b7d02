"""Where steps run: what the steps of a list share, and how one executed step came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from gert_core.api import StepStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.engine.cancel import Deadline
    from gert_core.engine.signals import Signal
    from gert_core.engine.state import Layer


class Frame:
    """One run of one list of steps: its variables, its key prefix, its deadline and its place on screen."""

    __slots__ = ("branch", "deadline", "depth", "layer", "prefix", "visits")

    def __init__(
        self,
        *,
        layer: Layer,
        prefix: str,
        deadline: Deadline,
        branch: Mapping[str, Any] | None = None,
        depth: int = 0,
    ) -> None:
        self.layer = layer
        self.prefix = prefix
        self.deadline = deadline
        self.branch = branch
        self.depth = depth
        self.visits: dict[str, int] = {}

    def open_key(self, step_id: str) -> str:
        """Return the step key of the next execution of a step in this run of its list."""
        visit = self.visits.get(step_id, 0) + 1
        self.visits[step_id] = visit
        return f"{self.prefix}{step_id}" if visit == 1 else f"{self.prefix}{step_id}#{visit}"


def step_id_of(key: str) -> str:
    """Return the id of the step that a step key belongs to."""
    return key.rpartition("/")[2].partition("[")[0].partition("#")[0]


class Done(Struct, kw_only=True):
    """How one execution of a step came out; ``signal`` is what its list does not go on after."""

    status: StepStatus
    outputs: Mapping[str, Any] = field(default_factory=dict)
    signal: Signal | None = None
    jump: str | None = None
    maybe: bool = False
    """In dry-run: whether only a real run knows if the step is skipped."""

    @property
    def ran(self) -> bool:
        """Whether the step was executed, so that its ``next`` counts."""
        return self.status is not StepStatus.SKIPPED


__all__ = ["Done", "Frame", "step_id_of"]
