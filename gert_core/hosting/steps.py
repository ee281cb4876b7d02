"""Find the steps of a run in the graph of its runbook."""

from __future__ import annotations

from gert_core.graph.model import Graph, GraphBlock, GraphStep
from gert_core.graph.status import numbered_steps, place_in
from gert_core.runs.state import parent_key


class StepPlaces:
    """The steps of a graph, found by the keys that their executions have in a run."""

    def __init__(self, graph: Graph) -> None:
        self._numbered = numbered_steps(graph)

    def key_of(self, step_key: str) -> str:
        """Return the key that the graph has for the step of a step key, whichever turn of a loop that is."""
        return place_in(step_key, self._numbered)[0]


__all__ = ["Graph", "GraphBlock", "GraphStep", "StepPlaces", "parent_key"]
