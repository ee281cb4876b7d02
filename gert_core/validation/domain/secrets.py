"""List the secrets a document needs, and warn about those missing from the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.documents.parts import SecretModel
    from gert_core.documents.tool import ToolModel
    from gert_core.documents.tree import Path, Runbook, StepNode
    from gert_core.documents.yaml import Document
    from gert_core.validation.domain.report import Report


class SecretNeed(Struct, frozen=True, kw_only=True):
    """One secret: what needs it and whether the environment has it. Values are never read."""

    env: str
    required: bool
    present: bool
    needed_by: tuple[str, ...]
    description: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the object in ``secrets`` of ``gert validate --json``."""
        return {
            "env": self.env,
            "required": self.required,
            "present": self.present,
            "needed_by": list(self.needed_by),
            "description": self.description,
        }


def runbook_secrets(runbooks: Sequence[Runbook], environ: Mapping[str, str]) -> list[SecretNeed]:
    """Return the secrets of a runbook, of those it includes and of the tools they list, by name."""
    needs: dict[str, SecretNeed] = {}
    for number, runbook in enumerate(runbooks):
        who = "runbook" if number == 0 else runbook.document.file
        _collect(needs, runbook.model.meta.secrets, who=who, environ=environ)
        for tool in runbook.tools.values():
            _collect(needs, tool.tool.all_secrets, who=tool.tool.meta.name, environ=environ)
    return list(needs.values())


def step_secrets(runbook: Runbook, step: StepNode, environ: Mapping[str, str]) -> list[SecretNeed]:
    """Return the secrets that a step's tool or program receives: its own and the runbook's."""
    needs: dict[str, SecretNeed] = {}
    use = runbook.functions.tool_use(step)
    if use is not None or runbook.functions.program(step) is not None:
        _collect(needs, runbook.model.meta.secrets, who="runbook", environ=environ)
    tool = runbook.tools.get(use.tool) if use is not None else None
    if tool is not None:
        _collect(needs, tool.tool.all_secrets, who=tool.tool.meta.name, environ=environ)
    return list(needs.values())


def tool_secrets(tool: ToolModel, environ: Mapping[str, str]) -> list[SecretNeed]:
    """Return the secrets of a tool."""
    needs: dict[str, SecretNeed] = {}
    _collect(needs, tool.all_secrets, who=tool.meta.name, environ=environ)
    return list(needs.values())


def check_secrets(
    report: Report,
    document: Document,
    secrets: Sequence[SecretModel],
    *,
    base: Path,
    who: str,
    environ: Mapping[str, str],
) -> None:
    """Warn about required secrets that are not in the environment."""
    for index, secret in enumerate(secrets):
        if secret.required and not environ.get(secret.env):
            report.add(
                "secret-missing",
                f"{who} requires the secret `{secret.env}`, which is not in this environment",
                document=document,
                path=(*base, index, "env"),
                hint=secret.description or f"set {secret.env} where the runbook runs",
            )


def _collect(
    needs: dict[str, SecretNeed], secrets: Sequence[SecretModel], *, who: str, environ: Mapping[str, str]
) -> None:
    for secret in secrets:
        held = needs.get(secret.env)
        if held is None:
            needs[secret.env] = SecretNeed(
                env=secret.env,
                required=secret.required,
                present=bool(environ.get(secret.env)),
                needed_by=(who,),
                description=secret.description or "",
            )
        elif who not in held.needed_by:
            needs[secret.env] = replace(
                held, required=held.required or secret.required, needed_by=(*held.needed_by, who)
            )


__all__ = ["SecretNeed", "check_secrets", "runbook_secrets", "step_secrets", "tool_secrets"]
