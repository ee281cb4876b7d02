"""``gert tools``: list and show the tools that runbooks here can use."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from gert_core.api.errors import UsageError
from gert_core.cli.lazy import typer
from gert_core.cli.render.contracts import contract_line
from gert_core.cli.render.table import table
from gert_core.cli.render.terminal import err, escape, out, paint
from gert_core.cli.session import project_here, registry_for
from gert_core.explain.tools import tool_entries
from gert_core.kit.escaping import cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Param
    from gert_core.explain.tools import ToolAction, ToolEntry

_HEADER: Final = ("TOOL", "ACTION", "RISK", "WRITES", "DOES")
_DOES: Final = 60
_COLOURS: Final = {"low": "green", "medium": "yellow", "high": "red", "critical": "red"}


def list_(
    ctx: typer.Context, json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
) -> int:
    """List every tool of this project and of the installed packs, with its actions."""
    found = _entries(ctx)
    if json:
        out(json_.dumps({"tools": [entry.to_json() for entry in found]}, ensure_ascii=False))
        return 0
    rows = [_row(entry, action) for entry in found for action in entry.actions]
    if rows:
        for line in table(_HEADER, rows, column=2, colour=lambda risk: _COLOURS[risk.strip()]):
            out(line)
    else:
        err("there is no tool here; `gert new tool NAME` writes one")
    for entry in found:
        if entry.problem:
            out(f"{escape(entry.name)}  {paint('not valid', 'red')}: {escape(entry.problem)} ({escape(entry.file)})")
    return 0


def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="As a runbook lists it: `net/curl`, or only `curl`.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Show a tool: its actions with inputs, outputs, contract, risk, secrets and a step to paste."""
    entry = _find(_entries(ctx), name)
    if json:
        out(json_.dumps(entry.to_json(), ensure_ascii=False))
    else:
        _print(entry)
    return 1 if entry.problem else 0


def _entries(ctx: typer.Context) -> list[ToolEntry]:
    project = project_here()
    registry = registry_for(project, ctx.obj)
    return list(tool_entries(registry=registry, project=project, base=Path(), environ=ctx.obj.environ))


def _find(found: list[ToolEntry], name: str) -> ToolEntry:
    """Return the tool of this name, else the only one of a pack that is called so."""
    same = [entry for entry in found if entry.name == name]
    same = same or [entry for entry in found if entry.name.rpartition("/")[2] == name]
    if len(same) == 1:
        return same[0]
    if same:
        names = ", ".join(entry.name for entry in same)
        raise UsageError(f"several packs have a tool {name!r}", hint=f"write one of {names}")
    from gert_core.documents.model_hints import meant

    short = {entry.name.rpartition("/")[2]: entry.name for entry in found}
    near = meant(name, [entry.name for entry in found]) or short.get(meant(name, short) or "")
    hint = f"did you mean `{near}`?" if near else "`gert tools list` lists them"
    raise UsageError(f"there is no tool {name!r} here", hint=hint)


def _row(entry: ToolEntry, action: ToolAction) -> tuple[str, ...]:
    contract = action.contract
    writes = ", ".join(contract.writes) or ("?" if contract.writing else "-")
    does = escape(" ".join((action.description or entry.description).split()))
    return escape(entry.name), escape(action.name), action.risk, escape(writes), cut(does, _DOES)


def _print(entry: ToolEntry) -> None:
    out(paint(escape(entry.name), "bold"))
    if entry.description:
        out(f"  {escape(' '.join(entry.description.split()))}")
    out(f"  file: {escape(entry.file)}")
    if entry.problem:
        out(f"  {paint('not valid', 'red')}: {escape(entry.problem)}")
        return
    if entry.platform:
        out(f"  only on: {', '.join(entry.platform)}")
    for secret in entry.secrets:
        state = "set" if secret.present else "missing" if secret.required else "not set, not required"
        out(f"  secret: {escape(secret.env)} ({state}){_about(secret.description)}")
    for action in entry.actions:
        out()
        out(f"  {paint(escape(action.name), 'bold')}{_about(action.description)}")
        _params("input", action.contract.inputs, given=True)
        _params("output", action.contract.outputs, given=False)
        out(f"    contract: {contract_line(action.contract)}")
        out(f"    risk: {paint(action.risk, _COLOURS[action.risk])}: {action.risk_reason}")
        if action.example:
            out("    example, with the tool under `tools`:")
            for line in action.example.splitlines():
                out(f"      {escape(line)}")


def _params(word: str, params: Mapping[str, Param], *, given: bool) -> None:
    for name, param in params.items():
        facts = [param.type]
        if given and param.has_default:
            facts.append(f"default {json_.dumps(param.default, ensure_ascii=False)}")
        elif given and param.required:
            facts.append("required")
        elif not given and not param.required:
            facts.append("optional")
        if param.secret:
            facts.append("secret")
        out(f"    {word}: {escape(name)} ({escape(', '.join(facts))}){_about(param.description)}")


def _about(text: str) -> str:
    return f": {escape(' '.join(text.split()))}" if text else ""


__all__ = ["list_", "show"]
