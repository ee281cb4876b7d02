"""The step type ``runbook``: runs another runbook as a step of this one."""

from __future__ import annotations

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``runbook``; what it does is what the steps of the other runbook do."""
    return [
        StepType(
            name="runbook",
            model="gert_step_runbook.step:RunbookStep",
            run="gert_step_runbook.step:run",
            includes="gert_step_runbook.step:includes",
            detail="gert_step_runbook.step:detail",
            contract=PURE,
            flow=Flow.IN_ORDER,
            fields={"outcome": "object"},
            included_outcome="outcome",
            also_called={
                **dict.fromkeys(
                    ("include", "include_tasks", "import_tasks", "import_playbook", "include_role", "import_role"), ""
                ),
                **dict.fromkeys(("playbook", "jobref", "executeAutomation", "subworkflow"), ""),
                **dict.fromkeys(("path", "file"), "runbook"),
                **dict.fromkeys(("with", "args", "arguments", "params", "parameters", "vars"), "inputs"),
            },
            events={"runbook_outcome": {"runbook": "string", "outcome": "object", "accepted": "bool"}},
            summary="Runs another runbook, with its own inputs, tools and governance.",
        )
    ]
