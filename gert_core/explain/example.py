"""Write a step that uses an action of a tool, for people to paste: what has to be given is there, to be replaced."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ToolUse
from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from gert_core.api import Contract, Param, StepType
    from gert_core.plugin.registry import Registry

_VALUES: Final[dict[str, object]] = {"int": 1, "float": 1.5, "bool": True, "list": [], "object": {}}


def example_step(tool: str, action: str, contract: Contract, *, registry: Registry) -> str:
    """Return the YAML of a step in a list, or nothing when no installed step type calls tools."""
    inputs = {name: _value(name, param) for name, param in contract.inputs.items() if _needed(param)}
    fields: dict[str, Any] = {"tool": tool, "action": action} | ({"inputs": inputs} if inputs else {})
    kind = next((one for one in registry.step_types().values() if _calls(one, fields)), None)
    if kind is None:
        return ""
    clash = action in contract.outputs or action in registry.step_types()
    lines = [
        f"- id: {tool.rpartition('/')[2]}_{action}" if clash else f"- id: {action}",
        f"  type: {kind.name}",
        f"  tool: {tool}",
        f"  action: {action}",
    ]
    if inputs:
        lines.append("  inputs:")
        lines += [f"    {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in inputs.items()]
    return "\n".join(lines) + "\n"


def _needed(param: Param) -> bool:
    return param.required and not param.has_default


def _value(name: str, param: Param) -> object:
    return _VALUES.get(param.type, name.upper())


def _calls(kind: StepType, fields: dict[str, Any]) -> bool:
    """Return whether a step of this type with these fields calls just this action."""
    if kind.tool_use is None:
        return False
    try:
        used = load_target(kind.tool_use)(load_target(kind.model).model_validate(fields))
    except Exception:
        return False
    return bool(used == ToolUse(tool=fields["tool"], action=fields["action"]))


__all__ = ["example_step"]
