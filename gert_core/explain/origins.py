"""Find where each field of a step's contract comes from: the tool, its action, the step, its type or a default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.contracts import find_action

if TYPE_CHECKING:
    from gert_core.api import Contract
    from gert_core.documents.contract import ContractModel
    from gert_core.documents.tree import Path, Runbook, StepNode
    from gert_core.documents.yaml import Document

FIELDS: Final = ("effects", "writes", "reads", "deterministic", "idempotent", "inputs", "outputs")


class Origin(Struct, frozen=True, kw_only=True):
    """The innermost place that declares a field of a contract.

    ``level`` is ``step``, ``action``, ``tool`` or ``type``; ``blocks`` for a step that acts through its blocks only;
    ``default`` for a field that no contract declares; ``undeclared`` where, for want of a declaration, the step counts
    as writing.
    """

    level: str
    name: str = ""
    file: str | None = None
    line: int | None = None

    def to_json(self) -> dict[str, object]:
        """Return one value of ``origins`` in ``gert explain --json``."""
        return {"level": self.level, "name": self.name, "file": self.file, "line": self.line}


def origins(step: StepNode, runbook: Runbook, contract: Contract, *, governed: bool) -> dict[str, Origin]:
    """Return where each field of the contract of a step comes from; raise ``LookupError`` when its tool is missing."""
    if not governed:
        return {name: Origin(level="blocks") for name in FIELDS}
    levels = _levels(step, runbook)
    return {name: _find(name, levels, step, contract) for name in FIELDS}


_Level = tuple[str, str, "ContractModel | None", "Document", "Path"]


def _levels(step: StepNode, runbook: Runbook) -> list[_Level]:
    """Return the declarations of a contract, the innermost first."""
    found: list[_Level] = [("step", step.id, step.fields.contract, runbook.document, (*step.path, "contract"))]
    use = runbook.functions.tool_use(step)
    if use is not None:
        tool = runbook.tools[use.tool]
        action, model = find_action(tool, use.action)
        found.append(("action", action, model.contract, tool.document, ("actions", action, "contract")))
        found.append(("tool", tool.name, tool.tool.contract, tool.document, ("contract",)))
    return found


def _find(name: str, levels: list[_Level], step: StepNode, contract: Contract) -> Origin:
    for level, who, model, document, path in levels:
        field = _declared(name, model)
        if field is not None:
            line, _ = document.locate((*path, field))
            return Origin(level=level, name=who, file=document.file, line=line)
    if len(levels) == 1 and step.type.contract is not None:
        return Origin(level="type", name=step.type.name)
    if name in ("effects", "writes") and contract.writing and not contract.writes:
        return Origin(level="undeclared")
    return Origin(level="default")


def _declared(name: str, model: ContractModel | None) -> str | None:
    """Return the field of a declaration that a field of the contract is read from."""
    if model is None:
        return None
    if getattr(model, name) is not None:
        return name
    return "side_effects" if name in ("effects", "writes") and model.side_effects is not None else None


__all__ = ["FIELDS", "Origin", "origins"]
