"""Resolved contracts: risk, conflicts, and the contract of a step, of its outputs and of its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api import PURE, Contract, Param, Tools
from gert_core.documents.merge import Relaxation, tighten, tool_contract
from gert_core.documents.type_functions import MissingTool
from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.tool import ActionModel
    from gert_core.documents.tree import BlockNode, Included, Path, Runbook, StepNode, ToolNode


PROBE_EFFECTS: Final = frozenset({"network"})
"""The effects of steps that a probe executes, unless it is told otherwise."""
_NO_TOOL: Final = "tool-undeclared"
_NO_ACTION: Final = "action-unknown"
_UNDECLARED: Final = Contract(_assumed_writing=True)
"""The contract of a step that must declare its own and has not."""


def risk(contract: Contract) -> str:
    """Return the risk: ``low``, ``medium``, ``high`` or ``critical``."""
    if not contract.writing:
        return "low"
    if contract.idempotent:
        return "medium"
    return "high" if contract.deterministic else "critical"


def risk_line(contract: Contract) -> tuple[str, str]:
    """Return the risk with the line of the table of risks that it follows from."""
    found = risk(contract)
    if not contract.writing:
        return found, "effects but no writes (read-only)" if contract.effects else "no effects, no writes"
    if contract.idempotent:
        return found, "effects + writes + idempotent"
    return found, f"effects + writes + not idempotent + {'' if contract.deterministic else 'not '}deterministic"


def probe_refusal(contract: Contract, allowed: frozenset[str], *, gated: bool) -> str:
    """Return why a probe does not execute a step, or nothing; ``gated``: the step demands an approval itself."""
    if gated:
        return "it demands an approval"
    if contract.writing:
        return "it writes"
    forbidden = sorted(set(contract.effects) - allowed)
    return f"effects {', '.join(forbidden)} are not allowed" if forbidden else ""


def conflict(a: Contract, b: Contract) -> frozenset[str]:
    """Return the resources that keep two blocks from running at the same time: written by one, used by the other."""
    a_writes, b_writes = frozenset(a.writes), frozenset(b.writes)
    return (a_writes & (b_writes | frozenset(b.reads))) | (b_writes & frozenset(a.reads))


def stricter(written: Contract, rendered: Contract) -> Contract:
    """Return everything that a step's contract states as it is written or rendered; inputs and outputs are rendered."""
    return replace(Contract.union([written, rendered]), inputs=rendered.inputs, outputs=rendered.outputs)


def find_action(tool: ToolNode, action: str | None) -> tuple[str, ActionModel]:
    """Return an action by name, or the only one; raise ``LookupError`` with a message when there is none."""
    actions = tool.tool.actions
    if action is None:
        if len(actions) == 1:
            return next(iter(actions.items()))
        raise MissingTool(
            f"tool {tool.name!r} has several actions ({', '.join(actions)}); name one with `action`", rule=_NO_ACTION
        )
    if action not in actions:
        raise MissingTool(f"tool {tool.name!r} has no action {action!r}; it has {', '.join(actions)}", rule=_NO_ACTION)
    return action, actions[action]


def action_outputs(tool: ToolNode, action: str | None) -> dict[str, Param]:
    """Return the outputs of an action: those its ``extract`` names, or all declared ones without ``extract``."""
    name, model = find_action(tool, action)
    declared = tool.contracts[name].outputs
    if not model.extract:
        return dict(declared)
    return {output: param for output, param in declared.items() if output in model.extract}


class DeclaredTools(Tools):
    """The tools of a runbook, for a step type's ``contract`` function."""

    def __init__(self, tools: Mapping[str, ToolNode]) -> None:
        self._tools = tools

    def contract(self, tool: str, action: str | None) -> Contract:
        """Return the contract of one action; raise ``LookupError`` with a message if there is none."""
        return self.node(tool).contracts[find_action(self.node(tool), action)[0]]

    def node(self, tool: str) -> ToolNode:
        """Return a listed tool; raise ``LookupError`` with a message if there is none."""
        found = self._tools.get(tool)
        if found is None:
            raise MissingTool(
                f"tool {tool!r} is not available: not listed under `tools`, not found, or not valid", rule=_NO_TOOL
            )
        return found


class Contracts:
    """The contracts of a runbook's steps and blocks, each resolved once and kept by key or path.

    Every method raises ``LookupError`` with a message when a tool or an action that a step names does not exist, and
    ``PluginFault`` when a function of a step's type fails.
    """

    def __init__(self, runbook: Runbook) -> None:
        self._functions = runbook.functions
        self._tools = DeclaredTools(runbook.tools)
        self._steps: dict[Path, Contract] = {}
        self._outputs: dict[Path, dict[str, Param]] = {}
        self._whole: dict[Path, Contract] = {}
        self._blocks: dict[Path, Contract] = {}

    def of(self, step: StepNode) -> Contract:
        """Return the contract of a step itself, tightened by what it declares."""
        key = self.key(step)
        found = self._steps.get(key)
        if found is None:
            found, _ = tighten(self._base(step), step.fields.contract, floor=_is_floor(step))
            self._steps[key] = found
        return found

    def levels(self, step: StepNode) -> tuple[Contract, ...]:
        """Return what policies decide about: what the tool's action or the type states, and the contract of the step.

        The strictest decision applies, so that nothing a step adds leads to a milder one. A step whose type states
        nothing, or only a default that the step replaces, has one level.
        """
        found = self.of(step)
        return (found,) if step.fields.contract is None else _levels(step, self._base(step), found)

    def rendered_levels(self, step: StepNode, body: object) -> tuple[Contract, ...]:
        """Return the levels of the rendered step: what its type states for it, and that tightened by the step."""
        stated = self._functions.contract(step, self._tools, body)
        if stated is None:
            return self.levels(step)
        return _levels(step, stated, tighten(stated, step.fields.contract, floor=_is_floor(step))[0])

    def key(self, step: StepNode) -> Path:
        """Return what determines a step's contract: the action, the type, or else the step's own path.

        Steps with equal keys have the same contract, so that a long list of them shares one.
        """
        if step.fields.contract is None:
            use = self._functions.tool_use(step)
            if use is not None:
                return ("action", use.tool, use.action or "")
            if not callable(load_target(step.type.contract)):
                return ("type", step.type.name)
        return step.path

    def outputs(self, step: StepNode) -> dict[str, Param]:
        """Return the outputs a step promotes: the action's or the contract's, and those its type reads in the step."""
        found = self._outputs.get(step.path)
        if found is None:
            found = self._outputs[step.path] = self._find_outputs(step)
        return found

    def whole(self, step: StepNode) -> Contract:
        """Return a step's own contract joined with those of its blocks."""
        found = self._whole.get(step.path)
        if found is None:
            found = Contract.union([self.of(step), *map(self.block, step.blocks), *map(self.block, step.includes)])
            self._whole[step.path] = found
        return found

    def block(self, block: BlockNode) -> Contract:
        """Return the union of everything in a block, at any depth."""
        found = self._blocks.get(block.path)
        if found is None:
            found = _of_included(block.included) if block.included is not None else None
            found = found or Contract.union(map(self.whole, block.steps))
            self._blocks[block.path] = found
        return found

    def relaxations(self, step: StepNode) -> list[Relaxation]:
        """Return what a step's own ``contract`` relaxes; paths are relative to the step."""
        return tighten(self._base(step), step.fields.contract, floor=_is_floor(step))[1]

    def _base(self, step: StepNode) -> Contract:
        """Return what a step's type or tool declares before the step itself adds anything."""
        use = self._functions.tool_use(step)
        if use is not None:
            return self._tools.contract(use.tool, use.action)
        stated = self._functions.contract(step, self._tools)
        if stated is None:
            return _UNDECLARED if step.type.requires_contract else PURE
        return stated

    def _find_outputs(self, step: StepNode) -> dict[str, Param]:
        declared: Mapping[str, Param] = self.of(step).outputs
        use = self._functions.tool_use(step)
        if use is not None:
            yielded = action_outputs(self._tools.node(use.tool), use.action)
            own = step.fields.contract
            extra = (own.outputs if own is not None else None) or {}
            declared = {name: param for name, param in declared.items() if name in yielded or name in extra}
        found = dict(declared)
        if step.type.outputs is not None:
            known = self._functions.outputs(step)
            found.update({name: Param(type=type_, required=True) for name, type_ in known.items()})
        return found


def _of_included(included: Included) -> Contract:
    """Return the union of everything in an included runbook; what its own validation refuses is left out."""
    contracts = Contracts(included.runbook)
    try:
        return Contract.union(map(contracts.block, included.runbook.lists))
    except LookupError:
        return PURE


def accepts_any_input(node: StepNode) -> bool:
    """Return whether a step takes inputs that its contract does not name, because it declares none at all."""
    own = node.fields.contract
    return _states_its_own(node) and (own is None or own.inputs is None)


def _levels(node: StepNode, base: Contract, found: Contract) -> tuple[Contract, ...]:
    """Return the contract that a step builds on, and its own; only the latter where the step states another one."""
    if base == found or _states_its_own(node) or (node.type.relaxable and not _extends(found, base)):
        return (found,)
    return base, found


def _extends(found: Contract, base: Contract) -> bool:
    """Return whether a contract has every tag of another one: it adds to it, and does not replace it."""
    tags = ((base.effects, found.effects), (base.writes, found.writes), (base.reads, found.reads))
    return all(set(before) <= set(after) for before, after in tags)


def _is_floor(node: StepNode) -> bool:
    """Return whether a step may only tighten what its type states."""
    return not node.type.relaxable and not _states_its_own(node)


def _states_its_own(node: StepNode) -> bool:
    return node.type.requires_contract and node.type.contract is None


__all__ = [
    "PROBE_EFFECTS",
    "Contracts",
    "DeclaredTools",
    "Relaxation",
    "accepts_any_input",
    "action_outputs",
    "conflict",
    "find_action",
    "probe_refusal",
    "risk",
    "risk_line",
    "stricter",
    "tighten",
    "tool_contract",
]
