"""The sleep step: its fields and what it does."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gert_core.api import Completed, StepContext
from gert_core.kit.models import StepModel, Templated


class Sleep(StepModel):
    """``seconds`` may be a number or a template that renders to one."""

    seconds: Templated[Annotated[float, Field(ge=0)]] = Field(description="How long to sleep.")


def run(step: Sleep, ctx: StepContext) -> Completed:
    """Sleep through the context: cancellable in a real run, instant in replay and dry-run."""
    ctx.sleep(step.seconds)
    return Completed(fields={"slept": step.seconds})
