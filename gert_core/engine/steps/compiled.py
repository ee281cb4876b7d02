"""A step compiled once per document: everything about it that does not change between executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import PURE, Contract, Flow, Principal
from gert_core.contracts import find_action, step_contract
from gert_core.engine.steps.body import Body
from gert_core.plugin.lazy import resolve
from gert_core.template import compile_condition, compile_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.api import ToolUse
    from gert_core.documents.tree import BlockNode, Runbook, StepNode

_CACHE = "compiled"


class Jump:
    """Where a step goes on after success, and how often at most."""

    __slots__ = ("backward", "index", "limit", "source", "target")

    def __init__(self, *, source: str, target: str, index: int, backward: bool, limit: Any) -> None:
        self.source = source
        self.target = target
        self.index = index
        self.backward = backward
        self.limit = None if limit is None else compile_value(limit)


class CompiledStep:
    """One step of the document, ready to run any number of times."""

    __slots__ = (
        "action",
        "blocks",
        "body",
        "contract",
        "external",
        "governed",
        "has_inputs",
        "id",
        "key_template",
        "leaf",
        "named",
        "node",
        "outcome",
        "over",
        "parallel_limit",
        "principal",
        "run",
        "scope",
        "summary",
        "timeout",
        "type",
        "use",
        "when",
    )

    def __init__(self, node: StepNode, runbook: Runbook) -> None:
        step_type, fields = node.type, node.fields
        self.node = node
        self.id = node.id
        self.type = step_type
        self.run: Callable[..., Any] = resolve(step_type.run)
        self.body = Body(node)
        self.leaf = step_type.flow in (Flow.LEAF, Flow.TERMINAL)
        self.governed = self.leaf
        self.contract: Contract = step_contract(node, runbook) if self.leaf else PURE
        self.use: ToolUse | None = resolve(step_type.tool_use)(node.body) if step_type.tool_use else None
        self.action = None if self.use is None else find_action(runbook.tools[self.use.tool], self.use.action)[0]
        self.external = self.use is not None or step_type.requires_contract
        self.has_inputs = hasattr(node.body, "inputs") and hasattr(node.body, "inputs_from")
        self.outcome = resolve(step_type.outcome) if step_type.outcome else None
        self.when = None if fields.when is None else compile_condition(fields.when)
        self.scope = None if fields.scope is None else compile_value(fields.scope)
        self.timeout = fields.timeout if fields.timeout is not None else step_type.timeout
        each = fields.for_each
        self.over = None if each is None else compile_value(each.over)
        self.key_template = None if each is None or each.key is None else compile_value(each.key)
        self.parallel_limit = None if each is None else compile_value(each.max_parallel or 16)
        self.blocks: dict[int, BlockNode] = {id(b.block.steps): b for b in node.blocks if b.block is not None}
        given = fields.principal
        named = None if given is None else compile_value(given.model_dump(exclude_none=True))
        self.named = None if named is None or named.static else named
        self.principal = None if given is None or self.named is not None else Principal(**given.model_dump())
        self.summary = {
            "effects": list(self.contract.effects),
            "writes": list(self.contract.writes),
            "writing": self.contract.writing,
            "idempotent": self.contract.idempotent,
            "deterministic": self.contract.deterministic,
        }


class CompiledList:
    """The jumps of one list of steps, resolved to positions."""

    __slots__ = ("ids", "index_of", "jumps", "targets")

    def __init__(self, block: BlockNode) -> None:
        self.ids = [step.id for step in block.steps]
        self.index_of = {step_id: index for index, step_id in enumerate(self.ids)}
        self.jumps: dict[int, Jump] = {}
        for index, step in enumerate(block.steps):
            wanted = step.fields.next
            if wanted is None:
                continue
            target = wanted if isinstance(wanted, str) else wanted.step
            at = self.index_of[target]
            limit = None if isinstance(wanted, str) else wanted.max
            self.jumps[index] = Jump(source=step.id, target=target, index=at, backward=at <= index, limit=limit)
        self.targets = {jump.target for jump in self.jumps.values() if jump.backward}


def compiled(node: StepNode, runbook: Runbook) -> CompiledStep:
    """The compiled step, made on first use and kept with the document."""
    found = node.cache.get(_CACHE)
    if found is None:
        found = node.cache[_CACHE] = CompiledStep(node, runbook)
    return found


__all__ = ["CompiledList", "CompiledStep", "Jump", "compiled"]
