"""Merge contracts: tool, then action, then defaults, then the step; every level can only tighten."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api.contracts import Contract, Param

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.contract import ContractModel, ParamModel
    from gert_core.documents.tool import ToolModel
    from gert_core.documents.tree import Path

_TAGS: Final = ("effects", "writes", "reads")
_FLAGS: Final = ("deterministic", "idempotent")
UNKNOWN: Final = "unknown"
"""The effect of something that is only known to have side effects."""


class Relaxation(Struct, frozen=True, kw_only=True):
    """A place where an inner contract claims to be safer than the one it builds on."""

    name: str
    before: object
    after: object
    message: str
    path: Path


class _Draft:
    """A contract while it is merged: None means not declared so far."""

    __slots__ = ("assumed", "flags", "inputs", "outputs", "path", "relaxed", "tags")

    def __init__(self) -> None:
        self.tags: dict[str, tuple[str, ...] | None] = dict.fromkeys(_TAGS)
        self.flags: dict[str, bool | None] = dict.fromkeys(_FLAGS)
        self.assumed: bool | None = None
        self.inputs: dict[str, Param] = {}
        self.outputs: dict[str, Param] = {}
        self.relaxed: list[Relaxation] = []
        self.path: Path = ()

    def relax(self, name: str, before: object, after: object, message: str, *below: str) -> None:
        self.relaxed.append(
            Relaxation(name=name, before=before, after=after, message=message, path=(*self.path, name, *below))
        )

    def apply(self, declared: ContractModel, path: Path, *, floor: bool = True) -> None:
        """Add what ``declared`` states; with ``floor`` what is there already may only be tightened."""
        self.path = path
        if not floor and (declared.effects is not None or declared.writes is not None):
            self.assumed = False
        for name in _TAGS:
            given = getattr(declared, name)
            if given is not None:
                self._tags(name, tuple(dict.fromkeys(given)), floor=floor)
        for name in _FLAGS:
            given = getattr(declared, name)
            if given is not None:
                self._flag(name, given, floor=floor)
        if declared.side_effects is not None and declared.effects is None:
            self._side_effects(declared.side_effects, floor=floor)
        self._params("inputs", self.inputs, declared.inputs, floor=floor, required=False)
        self._params("outputs", self.outputs, declared.outputs, floor=floor, required=True)

    def _tags(self, name: str, given: tuple[str, ...], *, floor: bool) -> None:
        held = self.tags[name]
        lost = [tag for tag in held or () if tag not in given] if floor else []
        if lost:
            self.relax(
                name,
                list(held or ()),
                list(given),
                f"`{name}` leaves out {', '.join(lost)}, which the outer contract has; it can only be extended",
            )
            given = tuple(dict.fromkeys((*(held or ()), *given)))
        self.tags[name] = given

    def _flag(self, name: str, given: bool, *, floor: bool) -> None:
        if floor and self.flags[name] is False and given:
            self.relax(
                name, False, True, f"`{name}` is false in the outer contract and can only stay so, not become true"
            )
        else:
            self.flags[name] = given

    def _side_effects(self, given: bool, *, floor: bool) -> None:
        """Apply the deprecated field: true means unknown effects that write, false means no effects."""
        held = self.tags["effects"]
        if given:
            self.tags["effects"] = held if floor and held else (UNKNOWN,)
            self.assumed = True
        elif not floor or held is None:
            self.tags["effects"] = ()
            self.assumed = False
        elif self.assumed or self.tags["writes"]:
            self.relax(
                "side_effects", True, False, "`side_effects: false` contradicts the outer contract, which writes"
            )

    def _params(
        self, name: str, held: dict[str, Param], given: Mapping[str, ParamModel] | None, *, floor: bool, required: bool
    ) -> None:
        for key, model in (given or {}).items():
            base = held.get(key)
            if base is None:
                held[key] = _param(model, Param(required=required))
                continue
            merged = _param(model, base)
            if floor and base.type not in (merged.type, "any"):
                self.relax(name, base.type, merged.type, f"`{key}` is {base.type} in the outer contract", key, "type")
                merged = replace(merged, type=base.type)
            if floor and base.secret and not merged.secret:
                self.relax(name, True, False, f"`{key}` is secret in the outer contract", key, "secret")
                merged = replace(merged, secret=True)
            if merged.secret and merged.type != "string":
                self.relax(name, base.type, "string", f"`{key}` is {base.type}, and secrets are strings", key, "secret")
            if floor and base.required and not merged.required:
                self.relax(name, True, False, f"`{key}` is required in the outer contract", key, "required")
                merged = replace(merged, required=True)
            held[key] = merged

    def contract(self) -> Contract:
        """Return the finished contract, with defaults for everything that was not declared."""
        effects, writes = self.tags["effects"], self.tags["writes"]
        undeclared = effects is None and writes is None
        return Contract(
            effects=effects or (),
            writes=writes or (),
            reads=self.tags["reads"] or (),
            deterministic=bool(self.flags["deterministic"]),
            idempotent=bool(self.flags["idempotent"]),
            inputs=MappingProxyType(self.inputs),
            outputs=MappingProxyType(self.outputs),
            _assumed_writing=undeclared if self.assumed is None else self.assumed,
        )


def tool_contract(tool: ToolModel, action: str) -> tuple[Contract, list[Relaxation]]:
    """Return the contract of one action and what in it relaxes the tool's; paths are those of the tool document."""
    draft = _Draft()
    if tool.contract is not None:
        draft.apply(tool.contract, ("contract",))
    inner = tool.actions[action].contract
    if inner is not None:
        draft.apply(inner, ("actions", action, "contract"))
    return draft.contract(), draft.relaxed


def tighten(base: Contract, declared: ContractModel | None, *, floor: bool = True) -> tuple[Contract, list[Relaxation]]:
    """Return a step's contract over ``base``, and what in it relaxes ``base``; paths are relative to the step.

    Without ``floor`` the base is replaced key by key.
    """
    if declared is None:
        return base, []
    draft = _Draft()
    draft.tags = {name: getattr(base, name) for name in _TAGS}
    draft.flags = {name: getattr(base, name) for name in _FLAGS}
    draft.assumed = base._assumed_writing
    draft.inputs, draft.outputs = dict(base.inputs), dict(base.outputs)
    draft.apply(declared, ("contract",), floor=floor)
    _only_of_tools(draft, base)
    added = draft.tags["effects"]
    if floor and base.writing and not base.effects and added and UNKNOWN not in added:
        # What the base touches stays unknown, whatever the step touches beside it.
        draft.tags["effects"] = (UNKNOWN, *added)
    return draft.contract(), draft.relaxed


def _only_of_tools(draft: _Draft, base: Contract) -> None:
    """Refuse outputs that only the step declares as secret: what its tool writes is recorded as always."""
    for key, param in draft.outputs.items():
        if param.secret and not (key in base.outputs and base.outputs[key].secret):
            message = f"`{key}` is not secret in the tool's contract; secret outputs are declared by tools"
            draft.relax("outputs", False, True, message, key, "secret")
            draft.outputs[key] = replace(param, secret=False)


def _param(model: ParamModel, base: Param) -> Param:
    given = getattr(model, "secret", None)  # only outputs have it
    secret = base.secret if given is None else bool(given)
    held = "string" if secret and base.type == "any" else base.type
    return Param(
        type=model.type or held,
        secret=secret,
        required=base.required if model.required is None else model.required,
        default=model.default if model.is_given("default") else base.default,
        has_default=base.has_default or model.is_given("default"),
        description=model.description or base.description,
    )


__all__ = ["UNKNOWN", "Relaxation", "tighten", "tool_contract"]
