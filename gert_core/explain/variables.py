"""What a step is given and what it sets: its inputs as they are written, and the variables that exist after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import Param
from gert_core.documents.limits import bounds
from gert_core.kit.models import InputsModel
from gert_core.validation.reads import spread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import Contract
    from gert_core.contracts import Contracts
    from gert_core.documents.tree import Runbook, StepNode

_HIDDEN: Final = "<secret>"
"""What is shown in place of a secret that stands in a runbook."""


class Input(Struct, frozen=True, kw_only=True):
    """One input of a step: how it is declared, and what the author wrote."""

    param: Param
    given: bool = False
    value: Any = None
    """As it is written, templates included."""
    limits: str = ""
    """The values that an input of an included runbook may have."""
    spread: tuple[str, ...] = ()
    """The variables whose members may give it, where it is not written itself."""

    def to_json(self) -> dict[str, object]:
        """Return one value of ``inputs`` in ``gert explain --json``."""
        limits = {"limits": self.limits} if self.limits else {}
        return {
            **self.param.to_json(),
            **limits,
            "given": self.given,
            "value": self.value,
            "spread": list(self.spread),
        }


class Set(Struct, frozen=True, kw_only=True):
    """A variable that exists after a step."""

    name: str
    type: str
    secret: bool = False
    """Whether its value is masked everywhere."""

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``sets`` in ``gert explain --json``."""
        found: dict[str, object] = {"name": self.name, "type": self.type}
        return found | {"secret": True} if self.secret else found


def inputs_of(step: StepNode, runbook: Runbook, contract: Contract) -> dict[str, Input]:
    """Return the inputs of a step by name: those declared, by its contract or an included runbook, and those given."""
    declared = dict(contract.inputs)
    limits: dict[str, str] = {}
    given: dict[str, Any] = dict(step.body.inputs) if isinstance(step.body, InputsModel) else {}
    for include, block in zip(runbook.functions.includes(step), step.includes, strict=False):
        given |= include.inputs
        models = block.included.runbook.model.meta.inputs if block.included is not None else {}
        for name, model in models.items():
            limits[name] = bounds(model)
            declared[name] = Param(
                type=model.type,
                required=model.required,
                default=_HIDDEN if model.secret else model.default,
                has_default=model.default is not None,
                secret=model.secret,
            )
            if model.secret and name in given and "{{" not in str(given[name]):
                given[name] = _HIDDEN
    found = {}
    for name in dict.fromkeys((*declared, *given)):
        sources = () if name in given else tuple("." + ".".join(path) for path in spread(step))
        param = declared.get(name, Param())
        found[name] = Input(
            param=param, given=name in given, value=given.get(name), limits=limits.get(name, ""), spread=sources
        )
    return found


def sets_of(step: StepNode, contracts: Contracts) -> Iterator[Set]:
    """Yield the variables of a step: its outputs, promoted or in its scope, its fields and what it exports."""
    fields = step.fields
    outputs = contracts.outputs(step)
    if fields.for_each is not None:
        yield Set(name=f".{step.id}", type="object" if fields.for_each.key is not None else "list")
    else:
        scope = f".scope.{fields.scope.replace('/', '.')}" if fields.scope is not None else ""
        yield from (
            Set(name=f"{scope}.{name}", type=param.type, secret=param.secret) for name, param in outputs.items()
        )
        yield from (Set(name=f".{step.id}.{name}", type=kind) for name, kind in step.type.fields.items())
    for name, source in fields.exports.items():
        known = outputs.get(source)
        held = "any" if known is None or fields.for_each is not None else known.type
        yield Set(name=f".{name}", type=held, secret=known is not None and known.secret)


__all__ = ["Input", "Set", "inputs_of", "sets_of"]
