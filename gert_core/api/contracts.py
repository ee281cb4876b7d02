"""The resolved contract: what a step touches, what it writes, whether it may be repeated."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


class Param(Struct, frozen=True, kw_only=True):
    """One declared input or output of a contract."""

    type: str = "any"
    required: bool = False
    default: Any = None
    has_default: bool = False
    description: str = ""

    def to_json(self) -> dict[str, Any]:
        """The shape written to traces and approval requests."""
        out: dict[str, Any] = {"type": self.type, "required": self.required}
        if self.has_default:
            out["default"] = self.default
        return out


class Contract(Struct, frozen=True, kw_only=True):
    """What a step declares about itself; governance, risk, probe and recovery read this and nothing else.

    ``assumed_writing`` marks a contract that declares neither effects nor writes (or a migrated
    ``side_effects: true``): it counts as writing for risk, probe, recovery and durability but adds no tag for
    parallel conflicts. ``open_inputs`` accepts any input. ``floor`` False makes the contract a default that a
    step may replace instead of a floor it may only tighten.
    """

    effects: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    deterministic: bool = False
    idempotent: bool = False
    inputs: Mapping[str, Param] = field(default_factory=lambda: _EMPTY)
    outputs: Mapping[str, Param] = field(default_factory=lambda: _EMPTY)
    assumed_writing: bool = False
    open_inputs: bool = False
    floor: bool = True

    @property
    def writing(self) -> bool:
        """Whether the step may change the outside world."""
        return bool(self.writes) or self.assumed_writing

    @property
    def pure(self) -> bool:
        """Whether the step touches nothing outside the run."""
        return not self.effects and not self.writes and not self.assumed_writing

    @property
    def repeatable(self) -> bool:
        """Whether an interrupted execution may simply be run again."""
        return not self.writing or self.idempotent

    def to_json(self) -> dict[str, Any]:
        """The shape written to traces, approval requests and displays."""
        return {
            "effects": list(self.effects),
            "writes": list(self.writes),
            "reads": list(self.reads),
            "deterministic": self.deterministic,
            "idempotent": self.idempotent,
            "inputs": {name: param.to_json() for name, param in self.inputs.items()},
            "outputs": {name: param.to_json() for name, param in self.outputs.items()},
        }


PURE: Final = Contract(deterministic=True, idempotent=True)
"""The contract of a step that only computes: no effects, no writes, deterministic, idempotent."""

__all__ = ["PURE", "Contract", "Param"]
