"""Run the checks that step types define for their own steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gert_core.validation.domain.context import Context


def check_step_types(ctx: Context) -> None:
    """Run the check of every step's type and add its findings."""
    for step in ctx.steps:
        for finding in ctx.runbook.functions.check(step):
            ctx.add(
                finding.rule,
                finding.message,
                path=(*step.path, *finding.path),
                hint=finding.hint,
                severity=finding.severity,
            )


__all__ = ["check_step_types"]
