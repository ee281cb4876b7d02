"""The step type ``repeat``: runs a block up to a bound, until a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core import hookimpl
from gert_core.api import PURE, Flow, StepType

if TYPE_CHECKING:
    from collections.abc import Mapping


def claims(raw: Mapping[str, Any]) -> bool:
    """A step of any type with ``repeat.steps`` is a repeat; asked about every step, so it is here, without models."""
    nested = raw.get("repeat")
    return isinstance(nested, dict) and "steps" in nested


@hookimpl
def gert_step_types() -> list[StepType]:
    """Register ``repeat``; it also claims steps of any type that nest ``repeat.steps``."""
    return [
        StepType(
            name="repeat",
            model="gert_step_repeat.step:RepeatStep",
            run="gert_step_repeat.step:run",
            blocks="gert_step_repeat.step:blocks",
            claims=claims,
            contract=PURE,
            flow=Flow.IN_ORDER,
            fields={"iterations": "int"},
            binds=True,
            summary="Repeats a block until a condition holds, up to a bound.",
        )
    ]
