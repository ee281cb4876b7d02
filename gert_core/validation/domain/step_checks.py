"""Run the checks that step types define for their own steps and blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.documents.tree import BlockNode, StepNode
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import FactTable


def check_step_types(ctx: Context, facts: FactTable) -> None:
    """Run the check of every step's type and add its findings."""
    for step in ctx.steps:
        for block in step.blocks:
            if block.block is not None and block.block.read_only:
                _check_reads(ctx, facts, block, block.block.read_only, owner=step.id)
        if step.type.gate is not None:
            ctx.runbook.functions.gate(step)  # what it raises is an error here, not in a run
        for finding in ctx.runbook.functions.check(step) if step.type.check is not None else ():
            ctx.add(
                finding.rule,
                finding.message,
                path=(*step.path, *finding.path),
                hint=finding.hint,
                severity=finding.severity,
            )


def _check_reads(ctx: Context, facts: FactTable, block: BlockNode, rule: str, *, owner: str) -> None:
    """Warn about the steps of a block that only reads, where they write."""
    for step in _leaves(block):
        contract = facts.contracts.whole(step) if step.includes else facts.of(step).contract
        if contract is not None and contract.writing:
            ctx.add(
                rule,
                f"`{step.id}` writes, and `{owner}` runs it once per round",
                path=step.path,
                severity=Severity.WARNING,
                hint="look with steps that only read, and write before or after it",
            )


def _leaves(block: BlockNode) -> Iterator[StepNode]:
    for step in block.steps:
        if not step.blocks:
            yield step
        for inner in step.blocks:
            yield from _leaves(inner)


__all__ = ["check_step_types"]
