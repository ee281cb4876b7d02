"""Mask the secret outputs of a step from the moment they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, StepProblem
from gert_core.template import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.engine.steps.execution import StepExecution
    from gert_core.secrets import Masker

SHORTEST: Final = 8
"""The least number of characters of a secret output: shorter ones would mask other text by chance."""


def learn_outputs(execution: StepExecution, names: Sequence[str], outputs: Mapping[str, object]) -> None:
    """Mask the outputs of a tool's reply that have these names; raise ``StepProblem`` when one is too short."""
    for name in names:
        learn_output(execution.services.masker, execution.key, name, outputs.get(name))


def learn_output(masker: Masker, key: str, name: str, value: object) -> None:
    """Mask one output of a step, by its key and name; raise ``StepProblem`` when it is too short."""
    if value is None or isinstance(value, Symbol):
        return
    text = str(value)
    if len(text) < SHORTEST:
        raise StepProblem(
            ErrorKind.SECRET_TOO_SHORT,
            f"output {name!r} is secret and has less than {SHORTEST} characters, too few to be masked safely",
        )
    masker.learn(f"{key}.{name}", text)


__all__ = ["SHORTEST", "learn_output", "learn_outputs"]
