"""A step type that pauses: ``gate``, in a directory that is on the path of the processes that a test starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.testing.fake_dist import FakeDist

if TYPE_CHECKING:
    from shell import Shell

GATE = """
from gert_core import hookimpl
from gert_core.api import Completed, Contract, Question, StepType
from gert_core.kit.models import StepModel

class Gate(StepModel):
    keys: list[str] = []
    reason: str = ""
    act: str = ""
    ask: str = ""
    first: str = ""
    given: dict[str, str] = {}
    safe: bool = False
    free: bool = False

def contract(step, tools):
    return Contract(effects=("x",), writes=() if step.free else ("x",), idempotent=step.safe or step.free)

def run(step, ctx):
    if step.first:
        ctx.call_tool(step.first, None, {})
    if step.act == "before":
        ctx.call_tool("box", None, {})
    for key in step.keys:
        ctx.pause(key, reason=step.reason, metadata={"step": ctx.step_id})
        if step.act == "between" and key == step.keys[0]:
            ctx.call_tool("box", None, {})
    if step.ask:
        ctx.ask(Question(name=step.ask, kind="text", prompt=step.ask))
    if step.act == "after":
        ctx.call_tool("box", None, step.given)
    return Completed(detail={"attempt": ctx.attempt})

@hookimpl
def gert_step_types():
    return [StepType(name="gate", model=Gate, run=run, contract=contract, summary="Pauses.")]
"""


def install(shell: Shell) -> None:
    """Install the step type, and a tool ``box`` that leaves a line in the file ``effects`` each time it acts."""
    FakeDist(directory=shell.root / "site").add("gert-step-gate", GATE)
    shell.environ["PYTHONPATH"] = str(shell.root / "site")
    shell.program("box", "echo acted >> effects")
    shell.tool("box", '["box"]', contract="{ effects: [x], writes: [x] }")


def effects(shell: Shell) -> int:
    """How often the tool acted."""
    file = shell.root / "effects"
    return len(file.read_text().splitlines()) if file.exists() else 0


__all__ = ["GATE", "effects", "install"]
