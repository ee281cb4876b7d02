"""Check the use of tools by steps: listed, with a known action, and contracts that only tighten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.plugin.functions import named
from gert_core.plugin.kinds import STEP
from gert_core.validation.domain.report import listing

if TYPE_CHECKING:
    from gert_core.api import ToolUse
    from gert_core.documents.tree import StepNode, ToolNode
    from gert_core.documents.type_functions import MissingTool
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import FactTable


def check_tool_use(ctx: Context, facts: FactTable) -> None:
    """Report steps that use unknown tools or actions, and contracts that relax."""
    for step in ctx.steps:
        known = facts.of(step)
        if step.fields.timeout is not None and "timeout" not in step.type.owns:
            _outer_timeout(ctx, step)
        if known.use is not None:
            if known.tool is None:
                _undeclared(ctx, step, known.use)
            elif known.action is None:
                _action(ctx, step, known.use, list(known.tool.tool.actions))
            elif step.fields.timeout is not None:
                _timeout(ctx, step, known.tool, known.action)
        elif known.missing is not None:
            _missing(ctx, step, known.missing)
        if known.known and step.fields.contract is not None:
            for relaxed in facts.contracts.relaxations(step):
                ctx.add(
                    "contract-relaxed",
                    f"step `{step.id}`: {relaxed.message}",
                    path=(*step.path, *relaxed.path),
                    hint="a step's contract can only add to what its tool or type declares",
                )


def used_actions(ctx: Context, facts: FactTable) -> dict[str, set[str]]:
    """Return the actions that the steps use that could be read, by the file of their tool."""
    used: dict[str, set[str]] = {}
    for step in ctx.steps:
        known = facts.of(step)
        if known.tool is not None and known.action is not None:
            used.setdefault(known.tool.document.file, set()).add(known.action)
    return used


def _undeclared(ctx: Context, step: StepNode, use: ToolUse) -> None:
    listed = ctx.runbook.model.tools
    if use.tool in listed or "tools" in ctx.gaps:
        return  # it is listed but could not be loaded, or the list itself is invalid, which is reported there
    missing = [name for name in listed if name not in ctx.runbook.tools]
    if any("/" in name.replace("\\", "/") for name in missing):
        return  # a file that is listed by its path is invalid, which is reported there, and may have that name
    if missing and ctx.report.did_you_mean(use.tool, missing):
        return  # the name in the list is misspelled, which is reported there
    path = _where(step, use.tool)
    if not listed:
        ctx.add(
            "tool-undeclared",
            f"step `{step.id}` uses the tool `{use.tool}` and the runbook lists no tools",
            path=path,
            hint=f"add `tools: [{use.tool}]` to the runbook",
        )
        return
    ctx.add(
        "tool-undeclared",
        f"step `{step.id}` uses the tool `{use.tool}`, which is not listed under `tools`",
        path=path,
        hint=_with_action(ctx, use, field=path[-1])
        or ctx.report.did_you_mean(use.tool, ctx.runbook.tools)
        or f"add `{use.tool}` to `tools`",
    )


def _with_action(ctx: Context, use: ToolUse, *, field: str | int) -> str | None:
    """Return how a tool that is written with its action, as scenarios do, is written in a step."""
    for sign in (":", "."):
        name, _, action = use.tool.partition(sign)
        tool = ctx.runbook.tools.get(name)
        if tool is not None and action in tool.tool.actions:
            return f"write `{field}: {name}`" + ("" if use.action == action else f" and `action: {action}`")
    return None


def _action(ctx: Context, step: StepNode, use: ToolUse, actions: list[str]) -> None:
    if use.action is None:
        ctx.add(
            "action-unknown",
            f"step `{step.id}` must name an `action`: the tool `{use.tool}` has {listing(actions)}",
            path=_where(step, use.tool),
            hint=f"add `action: {actions[0]}`" if actions else None,
        )
        return
    ctx.add(
        "action-unknown",
        f"the tool `{use.tool}` has no action `{use.action}`",
        path=_where(step, use.action),
        hint=ctx.report.did_you_mean(use.action, actions) or f"it has {listing(actions)}",
    )


def _timeout(ctx: Context, step: StepNode, tool: ToolNode, action: str) -> None:
    """Report a step's time limit that the tool's own, which is always reached before, keeps from taking effect."""
    own, model = step.fields.timeout, tool.tool.actions[action]
    limit = model.timeout or tool.tool.meta.timeout
    if own is None or limit is None or own <= limit:
        return
    raw = tool.document.value
    holder, written = (
        (f"action `{action}`", raw["actions"][action]["timeout"])
        if model.timeout
        else (f"tool `{tool.name}`", raw["meta"]["timeout"])
    )
    ctx.add(
        "timeout-ignored",
        f"`timeout: {step.raw['timeout']}` has no effect: {holder} may take {written} at most",
        path=(*step.path, "timeout"),
        hint=f"raise `timeout` in {tool.document.file}, or leave it out here",
    )


def _outer_timeout(ctx: Context, step: StepNode) -> None:
    """Report a step's time limit that one of a step around it, which covers it, keeps from taking effect."""
    if (owner := step.limited_by()) is not None:
        ctx.add(
            "timeout-ignored",
            f"`timeout: {step.raw['timeout']}` has no effect: `{owner.id}` around it may take"
            f" {owner.raw['timeout']} at most",
            path=(*step.path, "timeout"),
            hint=f"raise `timeout` of `{owner.id}`, or leave it out here",
        )


def _missing(ctx: Context, step: StepNode, missing: MissingTool) -> None:
    """Report a tool or action that the contract of the step's type asks for."""
    owner = named(ctx.registry.providers(STEP, step.type.name))
    ctx.add(
        missing.rule,
        f"step `{step.id}`: {missing}; its contract, which is that of {owner}, depends on it",
        path=step.path,
        hint="list the tool under `tools`, or change the step",
    )


def _where(step: StepNode, value: str) -> tuple[str | int, ...]:
    """Return the path of the step's field that has the value; of the step itself when none has."""
    field = next((key for key, given in step.raw.items() if given == value and key not in ("id", "type")), None)
    return (*step.path, field) if field is not None else step.path


__all__ = ["check_tool_use", "used_actions"]
