"""The step type ``dag``: runs blocks in the order of what each of them depends on."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``dag``; all of its blocks run, each after those that it depends on."""
    return [
        StepType(
            name="dag",
            model="gert_step_dag.step:DagStep",
            run="gert_step_dag.step:run",
            blocks="gert_step_dag.step:blocks",
            check="gert_step_dag.step:check",
            detail="gert_step_dag.step:detail",
            contract=PURE,
            flow=Flow.ALL_OF,
            fields={"completed": "list", "failed": "list", "cancelled": "list", "summary": "string"},
            also_called={
                **dict.fromkeys(("graph", "workflow"), ""),
                **dict.fromkeys(("depends_on", "dependsOn", "needs", "requires", "after"), "nodes[].depends_on"),
                "id": "nodes[].name",
            },
            events={
                "dag_start": {
                    "nodes": "list",
                    "max_parallel": "int",
                    "forked_state_hash": "string",
                    "serialized": "list",
                },
                "dag_complete": {"completed": "list", "failed": "list", "cancelled": "list", "summary": "string"},
            },
            summary="Runs blocks in the order of what each of them depends on.",
        )
    ]
