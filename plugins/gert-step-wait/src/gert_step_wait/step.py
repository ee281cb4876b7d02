"""Model and run of ``wait``: a pause, or rounds of steps that look until a condition is true."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.api import Block, BlockStatus, Completed, ErrorKind, Failed, Finding, Severity
from gert_core.kit.durations import duration_text
from gert_core.kit.models import Duration, LenientExpr, StepModel, Steps, Templated

if TYPE_CHECKING:
    from datetime import datetime

    from pydantic.config import JsonDict

    from gert_core.api import BlockResult, Result, StepContext

EVERY: Final = 10.0
"""Seconds from the start of one look to the start of the next."""
_LOOK: Final = "add a step that looks, or write `for` to wait for a time"
_NULL: Final[JsonDict] = {"type": "null"}


class WaitStep(StepModel):
    """Either ``for`` alone, or ``steps`` with ``timeout`` and mostly ``until``."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {
                    "required": ["for"],
                    "properties": {"for": {"not": _NULL}, "until": _NULL, "steps": _NULL},
                },
                {
                    "required": ["steps", "timeout"],
                    "properties": {"for": _NULL, "steps": {"type": "array"}, "timeout": {"not": _NULL}},
                },
            ]
        }
    )

    for_: Templated[Duration] | None = Field(default=None, alias="for", description="How long to wait.")
    until: LenientExpr | None = Field(
        default=None, description="Look again until this is true; without it, until all steps succeed."
    )
    every: Templated[Duration] = Field(default=EVERY, description="From the start of a look to the next; 10s.")
    timeout: Templated[Duration] | None = Field(
        default=None, description="How long the condition may take to become true."
    )
    steps: Steps | None = Field(default=None, description="The steps that look; a failed look means: not yet.")

    @model_validator(mode="after")
    def _one_shape(self) -> WaitStep:
        problem = _problem(self)
        if problem is not None:
            message, hint = problem
            raise PydanticCustomError("wait-shape", "{problem}", {"problem": message, "hint": hint})
        return self


def _problem(step: WaitStep) -> tuple[str, str] | None:
    """Return what is wrong with the fields together, and what to do."""
    if step.for_ is not None:
        others = " and ".join(f"`{name}`" for name in ("until", "steps") if getattr(step, name) is not None)
        hint = f"remove {others}"
        if step.steps is not None:
            hint += ", or remove `for`" if step.timeout is not None else ", or write `timeout: 10m` instead of `for`"
        return (f"`for` waits for a time alone: remove {others}", hint) if others else None
    if step.steps is None:
        if step.until is not None:
            return "`until` needs `steps` that look", "add `steps: [...]` with a step whose outputs it reads"
        return "a wait needs `for` or `steps`", "add `for: 60s`"
    if step.timeout is None:
        return "a wait with `steps` needs a `timeout`, such as `timeout: 10m`", "add `timeout: 10m`"
    return None


def check(step: WaitStep) -> list[Finding]:
    """Report what a wait never does: look again in a wait for a time, come to the end of one that is cut, or look."""
    if step.for_ is None:
        if step.steps:
            return []
        return [Finding(rule="wait-shape", message="`steps` has no step that looks", path=("steps",), hint=_LOOK)]
    found = []
    if "every" in step.model_fields_set:
        message = "`every` has no effect: `for` waits once"
        found.append(
            Finding(rule="not-acted-on", message=message, path=("every",), hint="remove it", severity=Severity.WARNING)
        )
    limit = step.timeout
    if isinstance(limit, float) and isinstance(step.for_, float) and limit < step.for_:
        message = f"the timeout of {limit:g}s is shorter than the wait, which therefore always fails"
        hint = "remove `timeout`"
        found.append(
            Finding(rule="wait-shape", message=message, path=("timeout",), hint=hint, severity=Severity.WARNING)
        )
    return found


def blocks(step: WaitStep) -> list[Block]:
    """Return the steps of one look; the last look stays readable after the wait."""
    if step.steps is None:
        return []
    look = Block(
        name="look",
        steps=step.steps,
        runs=(1, None),
        label=_label(step),
        keeps=True,
        quiet=True,
        read_only="wait-look-writes",
    )
    return [look]


def _label(step: WaitStep) -> str:
    """Return how often and how long a wait looks, for graphs."""
    every, longest = (v if isinstance(v, str) else duration_text(v) for v in (step.every, step.timeout or 0.0))
    until = "" if step.until is None else f", until {step.until}"
    return f"every {every}, at most {longest}{until}"


def detail(step: WaitStep) -> str:
    """Return how long a wait for a time takes; the label of the block says how often and how long others look."""
    if step.for_ is None:
        return ""
    least, most = (v if v is None or isinstance(v, str) else duration_text(v) for v in (step.for_, step.timeout))
    return f"for {least}" if most is None else f"for {least}, at most {most}"


def run(step: WaitStep, ctx: StepContext) -> Result:
    """Wait; a run that was interrupted waits no longer than it would have, and looks at least once more."""
    if step.for_ is not None:
        return _pass(step.for_, step.timeout, ctx)
    began = ctx.now()
    end = began + timedelta(seconds=step.timeout or 0.0)
    number, looked = 1, began
    while True:
        ctx.show(f"round {number}")
        result = ctx.run_block(ctx.blocks[0], key=number - 1, catch=True)
        reached = _is_reached(step, ctx, result)
        ctx.emit("wait_round", {"step_id": ctx.step_id, "round": number, "result": reached})
        now = ctx.now()
        fields = {"rounds": number, "waited": round((now - began).total_seconds(), 3)}
        if reached:
            return Completed(fields=fields)
        # A look that an interrupted run had not decided about is followed by another one.
        if looked >= end or (now >= end and not ctx.interrupted):
            return Failed(kind=ErrorKind.WAIT_TIMEOUT, message=_message(step, result, number), fields=fields)
        ctx.sleep(_pause(looked, now, end=end, every=step.every))
        number, looked = number + 1, ctx.now()


def _pass(seconds: float, timeout: float | None, ctx: StepContext) -> Result:
    """Wait for a time, at most until the step's own timeout."""
    waited = seconds if timeout is None else min(seconds, timeout)
    ctx.sleep(waited)
    fields = {"rounds": 0, "waited": waited}
    if waited < seconds:
        return Failed(
            kind=ErrorKind.WAIT_TIMEOUT, message=f"the timeout of {waited:g}s is shorter than the wait", fields=fields
        )
    return Completed(fields=fields)


def _is_reached(step: WaitStep, ctx: StepContext, result: BlockResult) -> bool:
    """Return whether the wait is over: a failed look and a condition with an undefined name mean not yet."""
    if result.status is not BlockStatus.SUCCESS:
        return False
    return step.until is None or ctx.test(step.until, after=result, undefined=False)


def _pause(looked: datetime, now: datetime, *, end: datetime, every: float) -> float:
    """Return the seconds until the next look, of which the last one is at the end."""
    return max(0.0, (min(looked + timedelta(seconds=every), end) - now).total_seconds())


def _message(step: WaitStep, result: BlockResult, number: int) -> str:
    rounds = f"after {number} round{'s' if number > 1 else ''}"
    if result.message is not None:
        return f"the last look failed {rounds}: {result.failed_key}: {result.message}"
    return f"not true {rounds}: {step.until}"


__all__ = ["WaitStep", "blocks", "check", "detail", "run"]
