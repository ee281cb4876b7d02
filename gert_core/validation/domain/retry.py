"""Check retry policies: where they cannot take effect, and kinds of failures that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.api import ErrorKind, Flow
from gert_core.documents.retry import NEVER_RETRIED, RetryPolicy, policy_of
from gert_core.validation.domain.report import phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Contract
    from gert_core.documents.retry import RetryModel
    from gert_core.documents.tool import ToolModel
    from gert_core.documents.tree import Path, StepNode
    from gert_core.documents.yaml import Document
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import Facts, FactTable
    from gert_core.validation.domain.report import Report

_RETRY: Final = "retry"
_HUMAN: Final = "human"
"""The effect of steps that only ask people."""
_KINDS: Final = tuple(str(kind) for kind in ErrorKind if kind not in NEVER_RETRIED)


def check_retry(ctx: Context, facts: FactTable) -> None:
    """Report policies of steps that cannot take effect."""
    for step in ctx.steps:
        own = step.fields.retry
        if own is None:
            continue
        path = (*step.path, _RETRY)
        if step.type.flow not in (Flow.LEAF, Flow.TERMINAL):
            inside = any(block.steps for block in step.blocks) or bool(step.includes)
            ctx.add(
                "retry-container",
                f"step `{step.id}` {'has steps inside it' if inside else 'does not act'},"
                " and `retry` is for a step that acts itself",
                path=path,
                key=True,
                hint="move `retry` to the steps inside it that may be attempted again" if inside else "remove `retry`",
            )
            continue
        _check_policy(ctx.report, ctx.runbook.document, own, path)
        known = facts.of(step)
        if own.max > 1 and known.contract is not None:
            _check_effect(ctx, step, known, path)


def _check_effect(ctx: Context, step: StepNode, known: Facts, path: Path) -> None:
    own, contract = step.fields.retry, known.contract
    assert own is not None  # noqa: S101 - asked by the caller
    assert contract is not None  # noqa: S101 - asked by the caller
    if not contract.repeatable:
        place = "the contract of its action" if known.tool is not None else "its `contract`"
        ctx.add(
            "retry-not-repeatable",
            f"step `{step.id}` writes and is not idempotent, so it is attempted once",
            path=path,
            key=True,
            hint=f"remove `retry`, or declare `idempotent: true` in {place} if repeating it is safe",
        )
        return
    if step.type.gate is not None and set(contract.effects) <= {_HUMAN} and not contract.writes:
        ctx.add(
            "not-acted-on",
            f"step `{step.id}` only asks for an approval, and a run asks once: it is attempted once",
            path=path,
            key=True,
            hint="remove `retry`",
        )
        return
    if not RetryPolicy.applies(contract):
        ctx.add(
            "not-acted-on",
            f"step `{step.id}` only computes, so another attempt would give the same: it is attempted once",
            path=path,
            key=True,
            hint="remove `retry`",
        )
        return
    if known.tool is None or known.action is None:
        return
    document = known.tool.tool
    theirs = document.actions[known.action].retry
    tool = theirs or document.meta.retry
    if tool is None:
        return
    if own.max > tool.max:
        times = "once" if tool.max == 1 else f"at most {tool.max} times"
        name = f"tool `{known.tool.name}`" if theirs is None else f"action `{known.tool.name}:{known.action}`"
        place = f"`{'meta' if theirs is None else f'actions.{known.action}'}` of {known.tool.document.file}"
        ctx.add(
            "not-acted-on",
            f"the {name} is attempted {times}, so step `{step.id}` cannot raise that to {own.max}",
            path=path,
            key=True,
            hint=f"remove `retry` here, or write `retry: {{max: {own.max}}}` in {place}",
        )
    merged = policy_of(own, tool)
    if merged is not None and merged.on is not None and not merged.on:
        ctx.add(
            "not-acted-on",
            f"`on` names none of the kinds that the tool `{known.tool.name}` is attempted again after",
            path=(*path, "on"),
            hint=f"the tool names {phrase(sorted(tool.on or ()))}",
        )


def check_tool_retry(report: Report, document: Document, tool: ToolModel, contracts: Mapping[str, Contract]) -> None:
    """Report policies of a tool that cannot take effect; that of ``meta`` is for those actions that can be repeated."""
    for name, action in tool.actions.items():
        if action.retry is None:
            continue
        path: Path = ("actions", name, _RETRY)
        _check_policy(report, document, action.retry, path)
        if action.retry.max > 1 and not contracts[name].repeatable:
            _not_repeatable(report, document, f"action `{name}` writes and is not idempotent, so it is", path)
    if tool.meta.retry is None:
        return
    path = ("meta", _RETRY)
    _check_policy(report, document, tool.meta.retry, path)
    left = [contracts[name] for name, action in tool.actions.items() if action.retry is None]
    if tool.meta.retry.max > 1 and left and not any(contract.repeatable for contract in left):
        _not_repeatable(report, document, "every action writes and is not idempotent, so each is", path)


def _not_repeatable(report: Report, document: Document, message: str, path: Path) -> None:
    report.add(
        "retry-not-repeatable",
        f"{message} attempted once",
        document=document,
        path=path,
        key=True,
        hint="remove `retry`, or declare `idempotent: true` in the contract if repeating it is safe",
    )


def _check_policy(report: Report, document: Document, retry: RetryModel, path: Path) -> None:
    """Report pauses and kinds that have no effect; a plugin may have kinds that gert does not know."""
    if retry.delay is not None and retry.max_delay is not None and retry.delay > retry.max_delay:
        report.add(
            "not-acted-on",
            "`delay` is longer than `max_delay`, so every pause takes `max_delay`",
            document=document,
            path=(*path, "delay"),
            hint="make `max_delay` at least as long as `delay`, or leave it out",
        )
    kinds = retry.on or ()
    for number, kind in enumerate(kinds):
        if kind in _KINDS:
            continue
        if kind in NEVER_RETRIED:
            message = f"after a failure of kind `{kind}` there is never another attempt"
            hint = "remove `retry`" if NEVER_RETRIED.issuperset(kinds) else "remove it"
        else:
            message = f"`{kind}` is not a kind of failure that gert or its standard plugins report"
            hint = report.did_you_mean(kind, _KINDS) or "no change needed if a plugin reports it"
        report.add("not-acted-on", message, document=document, path=(*path, "on", number), hint=hint)


__all__ = ["check_retry", "check_tool_retry"]
