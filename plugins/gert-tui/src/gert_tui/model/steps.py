"""The tree of a run's steps: those that its runbook plans, and each execution as the run comes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.hosting.steps import StepPlaces, parent_key
from gert_core.kit.display import readable_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.hosting.steps import Graph, GraphStep


class ShownStep:
    """One row of the tree: a step that is planned, or one execution of it."""

    __slots__ = (
        "attempt",
        "children",
        "command",
        "depth",
        "detail",
        "duration",
        "file",
        "folded",
        "key",
        "line",
        "loop",
        "name",
        "outputs",
        "parent",
        "risk",
        "since",
        "status",
        "step_id",
        "type",
    )

    def __init__(self, name: str, type_: str, parent: ShownStep | None) -> None:
        self.name = name
        self.step_id = name
        self.type = type_
        self.parent = parent
        self.children: list[ShownStep] = []
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.key = ""
        self.status = ""
        self.attempt = 1
        self.duration = ""
        self.since = ""
        self.risk = ""
        self.detail = ""
        self.file = ""
        self.line = 0
        self.loop: Mapping[str, Any] | None = None
        self.outputs: Mapping[str, Any] = {}
        self.folded = False

    @property
    def container(self) -> bool:
        """Whether other steps are inside it."""
        return bool(self.children)


class StepTree:
    """The steps of one run in the order of its runbook."""

    def __init__(self, graph: Graph | None = None) -> None:
        self.roots: list[ShownStep] = []
        self._places = None if graph is None else StepPlaces(graph)
        self._planned: dict[str, ShownStep] = {}
        self._by_key: dict[str, ShownStep] = {}
        self._rows: list[ShownStep] | None = None
        if graph is not None:
            for block in graph.blocks:
                for step in block.steps:
                    self._plan(step, None)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rows(self) -> list[ShownStep]:
        """The rows that are shown, from top to bottom."""
        if self._rows is None:
            self._rows = list(_visible(self.roots))
        return self._rows

    def every(self) -> Iterator[ShownStep]:
        """Yield every step, folded ones included."""
        stack = list(reversed(self.roots))
        while stack:
            step = stack.pop()
            yield step
            stack += reversed(step.children)

    def find(self, key: str) -> ShownStep | None:
        """Return the row of a step key."""
        return self._by_key.get(key)

    def fold(self, step: ShownStep, folded: bool) -> None:
        """Hide or show what is inside a step."""
        step.folded = folded
        self._rows = None

    def at(self, key: str, *, step_id: str = "", type_: str = "") -> ShownStep:
        """Return the row of a step key, made where the runbook does not plan it."""
        found = self._by_key.get(key)
        if found is None:
            found = self._claim(key) or self._add(key, step_id, type_)
            found.key = key
            self._by_key[key] = found
        found.step_id = step_id or found.step_id
        found.type = type_ or found.type
        return found

    def _claim(self, key: str) -> ShownStep | None:
        """Return the planned step that has not been executed yet; items and further rounds have rows of their own."""
        if self._places is None or "[" in key or "#" in key:
            return None
        planned = self._planned.get(self._places.key_of(key))
        return planned if planned is not None and not planned.key else None

    def _add(self, key: str, step_id: str, type_: str) -> ShownStep:
        above = parent_key(key)
        parent = self._by_key.get(above) if above else None
        while above and parent is None:
            above = parent_key(above)
            parent = self._by_key.get(above) if above else None
        last = key.rpartition("/")[2]
        step = ShownStep(readable_key(last) if "[" in last or "#" in last else step_id or last, type_, parent)
        self._place(step, key, self.roots if parent is None else parent.children)
        self._rows = None
        return step

    def _place(self, step: ShownStep, key: str, siblings: list[ShownStep]) -> None:
        """Put a step behind the earlier rounds of itself; the plan of a loop gives way to its items."""
        if key.endswith("]"):
            siblings[:] = [one for one in siblings if one.key]
        before = [
            n for n, one in enumerate(siblings) if "#" in key and one.key.partition("#")[0] == key.partition("#")[0]
        ]
        siblings.insert(before[-1] + 1 if before else len(siblings), step)

    def _plan(self, step: GraphStep, parent: ShownStep | None) -> None:
        shown = ShownStep(step.step_id, step.type, parent)
        shown.detail, shown.file, shown.line = step.detail, step.file, step.line
        self._planned[step.key] = shown
        (self.roots if parent is None else parent.children).append(shown)
        for block in step.blocks:
            for inner in block.steps:
                self._plan(inner, shown)


def _visible(steps: list[ShownStep]) -> Iterator[ShownStep]:
    stack = list(reversed(steps))
    while stack:
        step = stack.pop()
        yield step
        if not step.folded:
            stack += reversed(step.children)


__all__ = ["ShownStep", "StepTree"]
