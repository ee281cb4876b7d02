"""Model and run of ``extension``: one ``execute`` of a runner that is kept for the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_jsonrpc import RpcError
from pydantic import Field

from gert_core.api import Completed, Errored, ErrorKind, Failed, Result, StepProblem
from gert_core.kit.excerpts import last_line
from gert_core.kit.models import InputsModel
from gert_step_extension.runner import Runner, program_of

if TYPE_CHECKING:
    from gert_core.api import Services, StepContext


class ExtensionStep(InputsModel):
    """A step executed by an external runner under the contract it declares."""

    extension: str = Field(
        min_length=1, description="The runner: `gert-ext-<name>` on PATH, a name that begins so, or a path."
    )


def program(step: ExtensionStep) -> str:
    """Return the runner that the step is executed in."""
    return program_of(step.extension)


def run(step: ExtensionStep, ctx: StepContext) -> Result:
    """Execute the step in its runner; a runner that has ended is dropped, so that the next use starts a new one."""
    runs = program(step)
    name = f"extension {runs}"

    def opened(services: Services) -> Runner:
        return Runner(runs, services.environ, ctx.deadline, cwd=services.cwd)

    try:
        runner: Runner = ctx.session(name, opened)
        if runner.lost:  # it ended after its last answer, without an open call
            ctx.drop_session(name)
            runner = ctx.session(name, opened)
        answer = runner.execute(
            inputs=dict(ctx.inputs),
            vars=dict(ctx.vars),
            contract=ctx.contract.to_json(),
            idempotency_key=ctx.idempotency_key,
            deadline=ctx.deadline,
        )
    except RpcError as error:
        message = f"{runs}: {error.message} (code {error.code})"
        return Failed(kind=ErrorKind.EXTENSION_FAILED, message=message, detail={"command": [runs], "data": error.data})
    except StepProblem as problem:
        ctx.drop_session(name)
        if problem.kind == ErrorKind.CANCELLED:
            raise
        detail = {"command": [runs], **problem.detail}
        return Errored(kind=problem.kind, message=problem.message, detail=detail, acted=problem.acted)
    detail = {"command": [runs], "exit_code": answer.exit_code, "stderr": answer.stderr}
    if answer.exit_code != 0:
        last = last_line(answer.stderr)
        message = f"{runs} reports exit code {answer.exit_code}" + (f": {last}" if last else "")
        return Failed(
            kind=ErrorKind.EXTENSION_FAILED,
            message=message,
            outputs=answer.outputs,
            detail=detail,
            principal=answer.principal,
        )
    return Completed(outputs=answer.outputs, detail=detail, principal=answer.principal)


__all__ = ["ExtensionStep", "program", "run"]
