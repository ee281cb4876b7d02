"""Resolved contracts: risk, conflicts, and the contract of a step, of its outputs and of its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import PURE, Contract, Param, Tools
from gert_core.documents.merge import Relaxation, tighten, tool_contract
from gert_core.plugin.lazy import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.tool import ActionModel
    from gert_core.documents.tree import BlockNode, Runbook, StepNode, ToolNode


_UNDECLARED: Final = Contract(_assumed_writing=True)
"""What is known about a step whose contract only the document can state."""


def risk(contract: Contract) -> str:
    """``low``, ``medium``, ``high`` or ``critical``; writing without named effects counts as unknown effects."""
    if not contract.writing:
        return "low"
    if contract.idempotent:
        return "medium"
    return "high" if contract.deterministic else "critical"


def conflict(a: Contract, b: Contract) -> frozenset[str]:
    """The resources that keep two blocks from running at the same time: written by one, touched by the other."""
    a_writes, b_writes = frozenset(a.writes), frozenset(b.writes)
    return (a_writes & (b_writes | frozenset(b.reads))) | (b_writes & frozenset(a.reads))


def find_action(tool: ToolNode, action: str | None) -> tuple[str, ActionModel]:
    """An action by name, or the only one; ``LookupError`` with a sentence when there is none."""
    actions = tool.tool.actions
    if action is None:
        if len(actions) == 1:
            return next(iter(actions.items()))
        raise LookupError(f"tool {tool.name!r} has several actions ({', '.join(actions)}); name one with `action`")
    if action not in actions:
        raise LookupError(f"tool {tool.name!r} has no action {action!r}; it has {', '.join(actions)}")
    return action, actions[action]


def action_outputs(tool: ToolNode, action: str | None) -> dict[str, Param]:
    """The outputs an action yields: those its ``extract`` names, all declared ones without ``extract``."""
    name, model = find_action(tool, action)
    declared = tool.contracts[name].outputs
    if not model.extract:
        return dict(declared)
    return {output: param for output, param in declared.items() if output in model.extract}


class DeclaredTools(Tools):
    """The tools of a runbook, as a step type's ``contract`` function may ask for them."""

    def __init__(self, tools: Mapping[str, ToolNode]) -> None:
        self._tools = tools

    def contract(self, tool: str, action: str | None) -> Contract:
        """The contract of one action; raises ``LookupError`` with a sentence if there is none."""
        return self.node(tool).contracts[find_action(self.node(tool), action)[0]]

    def node(self, tool: str) -> ToolNode:
        """A listed tool; raises ``LookupError`` with a sentence if there is none."""
        found = self._tools.get(tool)
        if found is None:
            raise LookupError(f"tool {tool!r} is not there: not listed under `tools`, not found, or not valid")
        return found


def base_contract(node: StepNode, runbook: Runbook) -> Contract:
    """What a step's type or tool says before the step itself adds anything; ``LookupError`` without the tool."""
    kind = node.type
    tools = DeclaredTools(runbook.tools)
    use = resolve(kind.tool_use)(node.body) if kind.tool_use is not None else None
    if use is not None:
        return tools.contract(use.tool, use.action)
    source = resolve(kind.contract)
    if source is None:
        return _UNDECLARED if kind.requires_contract else PURE
    contract: Contract = source if isinstance(source, Contract) else source(node.body, tools)
    return contract


def step_contract(node: StepNode, runbook: Runbook) -> Contract:
    """The contract of a step itself, tightened by what it declares; ``LookupError`` when its tool is not there."""
    found: Contract | None = node.cache.get("contract")
    if found is None:
        found, _ = tighten(base_contract(node, runbook), node.fields.contract, floor=_is_floor(node))
        node.cache["contract"] = found
    return found


def relaxations(node: StepNode, runbook: Runbook) -> list[Relaxation]:
    """What a step's own ``contract`` relaxes; paths are relative to the step."""
    return tighten(base_contract(node, runbook), node.fields.contract, floor=_is_floor(node))[1]


def accepts_any_input(node: StepNode) -> bool:
    """Return whether a step takes inputs that its contract does not name: nobody has declared which there are."""
    own = node.fields.contract
    return _states_its_own(node) and (own is None or own.inputs is None)


def _is_floor(node: StepNode) -> bool:
    """Return whether a step may only tighten what its type states."""
    return not node.type.relaxable and not _states_its_own(node)


def _states_its_own(node: StepNode) -> bool:
    return node.type.requires_contract and node.type.contract is None


def step_outputs(node: StepNode, runbook: Runbook) -> dict[str, Param]:
    """The outputs a step promotes: the action's or the contract's, and those its type reads from the document."""
    found: dict[str, Param] | None = node.cache.get("outputs")
    if found is not None:
        return found
    kind = node.type
    declared: Mapping[str, Param] = step_contract(node, runbook).outputs
    use = resolve(kind.tool_use)(node.body) if kind.tool_use is not None else None
    if use is not None:
        tools = DeclaredTools(runbook.tools)
        yielded = action_outputs(tools.node(use.tool), use.action)
        own = node.fields.contract
        extra = (own.outputs if own is not None else None) or {}
        declared = {name: param for name, param in declared.items() if name in yielded or name in extra}
    found = dict(declared)
    if kind.outputs is not None:
        known: Mapping[str, Any] = resolve(kind.outputs)(node.body)
        found.update({name: Param(type=type_, required=True) for name, type_ in known.items()})
    node.cache["outputs"] = found
    return found


def whole_contract(node: StepNode, runbook: Runbook) -> Contract:
    """A step's own contract joined with those of its blocks."""
    found: Contract | None = node.cache.get("whole_contract")
    if found is None:
        parts = [step_contract(node, runbook), *(block_contract(block, runbook) for block in node.blocks)]
        found = node.cache["whole_contract"] = Contract.union(parts)
    return found


def block_contract(block: BlockNode, runbook: Runbook) -> Contract:
    """The union of everything in a block, at any depth."""
    return Contract.union(whole_contract(step, runbook) for step in block.steps)


__all__ = [
    "DeclaredTools",
    "Relaxation",
    "accepts_any_input",
    "action_outputs",
    "base_contract",
    "block_contract",
    "conflict",
    "find_action",
    "relaxations",
    "risk",
    "step_contract",
    "step_outputs",
    "tighten",
    "tool_contract",
    "whole_contract",
]
