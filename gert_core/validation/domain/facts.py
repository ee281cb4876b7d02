"""Facts about each step: its tool, its contract, its outputs and the shape of ``.id``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.contracts import Contracts
from gert_core.documents.type_functions import MissingTool
from gert_core.plugin.lazy import load_target
from gert_core.validation.domain.shapes import ANY, Shape, declared_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Contract, ToolUse
    from gert_core.documents.tree import Runbook, StepNode, ToolNode
    from gert_core.validation.domain.outcomes import Outcomes

_COMMON: Final = {
    "status": declared_shape("string"),
    "attempts": declared_shape("int"),
    "retry_count": declared_shape("int"),
}
_FAILURE: Final = Shape("object", fields={"kind": declared_shape("string"), "message": declared_shape("string")})
OF_ITEMS: Final = {"status": declared_shape("string"), "failure": _FAILURE}
"""What is read of every item of a loop, but never passed on."""


class Facts:
    """One step's tool, contract and outputs; ``known`` is False when its tool or contract is missing."""

    __slots__ = (
        "action",
        "beside",
        "contract",
        "fields",
        "known",
        "missing",
        "outputs",
        "result",
        "shape",
        "tool",
        "use",
    )

    def __init__(self) -> None:
        self.use: ToolUse | None = None
        self.tool: ToolNode | None = None
        self.action: str | None = None
        self.contract: Contract | None = None
        self.known = False
        self.missing: MissingTool | None = None
        """The tool that the contract of the step's type asks for, if the runbook does not have it."""
        self.outputs: Mapping[str, Shape] = {}
        self.fields: Mapping[str, Shape] = {}
        """What the step has by its type, beside its outputs."""
        self.shape: Shape = ANY
        """The shape of ``.id``."""
        self.result: Shape = ANY
        """The shape of the result of one item of a loop, if the step has no blocks."""
        self.beside: Mapping[str, Shape] = {}
        """What is read of one item of a loop beside its result."""


class FactTable:
    """The facts of every step, computed once; steps that call the same action, or whose type says all, share theirs."""

    __slots__ = ("_outcomes", "_runbook", "_shared", "_steps", "contracts", "warned")

    def __init__(self, runbook: Runbook) -> None:
        self.contracts = Contracts(runbook)
        self._outcomes: Outcomes | None = None
        self._runbook = runbook
        self._steps: dict[StepNode, Facts] = {}
        self._shared: dict[object, Facts] = {}
        self.warned: set[Facts] = set()
        """Those whose outputs were reported already."""

    def of(self, step: StepNode) -> Facts:
        """Return the facts of one step."""
        facts = self._steps.get(step)
        if facts is None:
            facts = self._steps[step] = self._find(step)
        return facts

    def fields(self, step: StepNode) -> dict[str, Shape]:
        """Return the fields that the step has by its type."""
        found = {name: declared_shape(kind) for name, kind in step.type.fields.items()}
        if step.includes and step.type.included_outcome in found:
            if self._outcomes is None:
                from gert_core.validation.domain.outcomes import Outcomes

                self._outcomes = Outcomes()
            found[step.type.included_outcome] = self._outcomes.of(step, self._runbook.functions.includes(step))
        return found

    def _find(self, step: StepNode) -> Facts:
        kind = step.type
        use = self._runbook.functions.tool_use(step)
        if step.fields.contract is not None or kind.outputs is not None or step.includes:
            return self._own(step, use)
        if use is None and callable(load_target(kind.contract)):
            return self._own(step, None)
        key = (kind.name, use, bool(step.blocks))
        facts = self._shared.get(key)
        if facts is None:
            facts = self._shared[key] = self._own(step, use)
        return facts

    def _own(self, step: StepNode, use: ToolUse | None) -> Facts:
        facts = Facts()
        facts.use = use
        if use is not None:
            facts.tool = self._runbook.tools.get(use.tool)
            if facts.tool is None:
                return facts
            facts.action = use.action or _only(facts.tool)
            if facts.action not in facts.tool.contracts:
                facts.action = None
                return facts
        try:
            facts.contract = self.contracts.of(step)
        except MissingTool as missing:
            facts.missing = missing
            return facts
        facts.known = True
        facts.outputs = {
            name: declared_shape(param.type, optional=not param.required)
            for name, param in self.contracts.outputs(step).items()
        }
        fields = self.fields(step)
        facts.fields = fields
        facts.beside = {**fields, **OF_ITEMS}
        if not step.blocks:
            facts.result = Shape("object", fields=facts.outputs, beside=facts.beside)
        facts.shape = Shape("object", fields={**_COMMON, **fields, **facts.outputs})
        return facts


def _only(tool: ToolNode) -> str | None:
    actions = tool.tool.actions
    return next(iter(actions)) if len(actions) == 1 else None


__all__ = ["OF_ITEMS", "FactTable", "Facts"]
