"""The catalogue of tools: what every installed and project tool can do, and a step to paste for each action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import GertError, Severity
from gert_core.contracts import risk_line
from gert_core.documents.load_tools import load_tool
from gert_core.documents.lookup import SUFFIX
from gert_core.documents.merge import tool_contract
from gert_core.explain.example import example_step
from gert_core.kit.files import is_text
from gert_core.validation.domain.secrets import SecretNeed, tool_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gert_core.api import Contract
    from gert_core.documents.project import Project
    from gert_core.documents.tool import ToolModel
    from gert_core.plugin.registry import Registry

HERE: Final = "tools"
"""The directory of tools beside a runbook."""


class ToolAction(Struct, frozen=True, kw_only=True):
    """One action of a tool; ``example`` is a step that uses it, in YAML."""

    name: str
    description: str
    contract: Contract
    risk: str
    risk_reason: str
    example: str

    def to_json(self) -> dict[str, object]:
        """Return one value of ``actions`` in ``gert tools show --json``."""
        contract = self.contract.to_json()
        return {
            "description": self.description,
            "inputs": contract.pop("inputs"),
            "outputs": contract.pop("outputs"),
            "contract": contract,
            "risk": self.risk,
            "risk_reason": self.risk_reason,
            "example": self.example,
        }


class ToolEntry(Struct, frozen=True, kw_only=True):
    """One tool; ``name`` is what a runbook lists, ``pack`` the tool pack it is in. ``problem``: it is not valid."""

    name: str
    file: str
    pack: str | None = None
    description: str = ""
    transport: str | None = None
    platform: tuple[str, ...] = ()
    secrets: tuple[SecretNeed, ...] = ()
    actions: tuple[ToolAction, ...] = ()
    problem: str = ""

    def to_json(self) -> dict[str, object]:
        """Return one entry of ``tools`` in ``gert tools list --json``."""
        out: dict[str, object] = {
            "name": self.name,
            "pack": self.pack,
            "file": self.file,
            "description": self.description,
            "transport": self.transport,
            "platform": list(self.platform),
            "secrets": [secret.to_json() for secret in self.secrets],
            "actions": {action.name: action.to_json() for action in self.actions},
        }
        return out | {"problem": self.problem} if self.problem else out


def tool_entries(
    *, registry: Registry, project: Project | None, base: Path, environ: Mapping[str, str]
) -> Iterator[ToolEntry]:
    """Yield every tool that a runbook in ``base`` can list: its own and the project's, then those of packs, by name."""
    seen: set[str] = set()
    for folder in dict.fromkeys([base / HERE, *([project.tools_dir] if project is not None else [])]):
        for file in sorted(one for one in folder.glob(f"*{SUFFIX}") if is_text(one.name)):
            name = file.name.removesuffix(SUFFIX)
            if name not in seen:
                seen.add(name)
                yield _entry(name, file, registry=registry, environ=environ)
    for pack in sorted(registry.tool_packs().values(), key=lambda one: one.name):
        for file in sorted(pack.directory.glob(f"*{SUFFIX}")):
            name = f"{pack.name}/{file.name.removesuffix(SUFFIX)}"
            yield _entry(name, file, registry=registry, environ=environ, pack=pack.name)


def _entry(
    name: str, file: Path, *, registry: Registry, environ: Mapping[str, str], pack: str | None = None
) -> ToolEntry:
    try:
        loaded = load_tool(file)
    except GertError as error:
        return ToolEntry(name=name, file=str(file), pack=pack, problem=error.message)
    tool = loaded.tool
    if tool is None:
        errors = [found.message for found in loaded.diagnostics if found.severity is Severity.ERROR]
        return ToolEntry(name=name, file=str(file), pack=pack, problem=errors[0] if errors else "it is not valid")
    return ToolEntry(
        name=name,
        file=str(file),
        pack=pack,
        description=tool.meta.description or "",
        transport=tool.meta.transport,
        platform=tuple(tool.meta.platform),
        secrets=tuple(tool_secrets(tool, environ)),
        actions=tuple(_action(name, tool, action, registry) for action in tool.actions),
    )


def _action(name: str, tool: ToolModel, action: str, registry: Registry) -> ToolAction:
    contract, _ = tool_contract(tool, action)
    level, line = risk_line(contract)
    facts: dict[str, Any] = {"name": action, "description": tool.actions[action].description or ""}
    example = example_step(name, action, contract, registry=registry)
    return ToolAction(**facts, contract=contract, risk=level, risk_reason=line, example=example)


__all__ = ["ToolAction", "ToolEntry", "tool_entries"]
