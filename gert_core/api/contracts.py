"""The resolved contract: effects, writes, reads, and whether a step may be repeated."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_EMPTY: Final[Mapping[str, Param]] = MappingProxyType({})


class Param(Struct, frozen=True, kw_only=True):
    """One declared input or output of a contract."""

    type: str = "any"
    required: bool = False
    default: object = None
    has_default: bool = False
    description: str = ""
    secret: bool = False
    """Whether the value of an output is masked everywhere from the moment it is read."""

    def to_json(self) -> dict[str, object]:
        """Return the shape written to traces and approval requests."""
        out: dict[str, object] = {"type": self.type, "required": self.required}
        if self.has_default:
            out["default"] = self.default
        if self.secret:
            out["secret"] = True
        return out


class Contract(Struct, frozen=True, kw_only=True):
    """What a step declares about itself; governance, risk, probe and recovery use nothing else.

    ``effects`` are the systems it touches, ``writes`` and ``reads`` the resources it changes and observes.
    ``deterministic``: the same inputs give the same outputs; ``idempotent``: it may safely run again. ``inputs`` and
    ``outputs`` are those it declares by name. ``PURE`` and ``UNKNOWN`` are the two extremes.
    """

    effects: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    deterministic: bool = False
    idempotent: bool = False
    inputs: Mapping[str, Param] = field(default_factory=lambda: _EMPTY)
    outputs: Mapping[str, Param] = field(default_factory=lambda: _EMPTY)
    _assumed_writing: bool = False
    # Set by the core for documents that declare neither effects nor writes, or `side_effects: true`: it counts as
    # writing for risk, probe, recovery and durability, but adds no tag for parallel conflicts.

    @property
    def writing(self) -> bool:
        """Whether the step may change something outside the run."""
        return bool(self.writes) or self._assumed_writing

    @property
    def pure(self) -> bool:
        """Whether the step touches nothing outside the run."""
        return not self.effects and not self.writing

    @property
    def repeatable(self) -> bool:
        """Whether an interrupted execution may simply be run again."""
        return not self.writing or self.idempotent

    @property
    def secret_outputs(self) -> tuple[str, ...]:
        """The outputs whose values are masked everywhere."""
        return tuple([name for name, param in self.outputs.items() if param.secret]) if self.outputs else ()

    @staticmethod
    def union(contracts: Iterable[Contract]) -> Contract:
        """Return the union: everything that any of them touches, as safe as the least safe one; ``PURE`` of none.

        Inputs and outputs are not included. It is for parallel conflicts and display: governance decides about one
        step at a time.
        """
        members = list(contracts)
        if not members:
            return PURE
        if len(members) == 1:
            return members[0]
        return Contract(
            effects=_joined(c.effects for c in members),
            writes=_joined(c.writes for c in members),
            reads=_joined(c.reads for c in members),
            deterministic=all(c.deterministic for c in members),
            idempotent=all(c.idempotent for c in members),
            _assumed_writing=any(c._assumed_writing for c in members),
        )

    def within(self, outer: Contract) -> bool:
        """Return whether it touches nothing that ``outer`` does not declare and is nowhere less safe."""
        return self is outer or (  # nearly always the step has its tool's contract
            # To compare takes less time than to make sets.
            (self.effects == outer.effects or set(self.effects) <= set(outer.effects))
            and (self.writes == outer.writes or set(self.writes) <= set(outer.writes))
            and (self.reads == outer.reads or set(self.reads) <= set(outer.reads))
            and (outer._assumed_writing or not self._assumed_writing)
            and (self.deterministic or not outer.deterministic)
            and (self.idempotent or not outer.idempotent)
        )

    def to_json(self) -> dict[str, object]:
        """Return the shape written to traces, approval requests and displays."""
        return {
            "effects": list(self.effects),
            "writes": list(self.writes),
            "reads": list(self.reads),
            "deterministic": self.deterministic,
            "idempotent": self.idempotent,
            "inputs": {name: param.to_json() for name, param in self.inputs.items()},
            "outputs": {name: param.to_json() for name, param in self.outputs.items()},
        }


def _joined(tags: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for group in tags for tag in group))


PURE: Final = Contract(deterministic=True, idempotent=True)
"""The contract of a step that only computes: no effects, no writes, deterministic, idempotent."""

UNKNOWN: Final = Contract(effects=("unknown",), _assumed_writing=True)
"""The contract of work that is not described: unknown effects, and it counts as writing."""

__all__ = ["PURE", "UNKNOWN", "Contract", "Param"]
