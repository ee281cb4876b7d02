"""Phase 3, the meaning of a runbook: one module per concern, all working on the same tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook
    from gert_core.plugin.registry import Registry
    from gert_core.validation.domain.report import Report


def check_runbook(
    runbook: Runbook,
    *,
    registry: Registry,
    project: Project | None,
    environ: Mapping[str, str],
    report: Report,
    gaps: frozenset[str] = frozenset(),
) -> None:
    """Run every rule of phase 3; ``gaps`` are the parts missing from the runbook."""
    from gert_core.validation.domain.concurrent import check_concurrent
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.facts import FactTable
    from gert_core.validation.domain.head import check_head
    from gert_core.validation.domain.names import check_names
    from gert_core.validation.domain.paths import check_paths
    from gert_core.validation.domain.step_checks import check_step_types
    from gert_core.validation.domain.toolfiles import ToolFile
    from gert_core.validation.domain.tools import check_tool_use, used_actions
    from gert_core.validation.domain.variables import VariableWalk

    ctx = Context(runbook, registry=registry, project=project, environ=environ, report=report, gaps=gaps)
    facts = FactTable(runbook)
    check_head(ctx)
    check_names(ctx, facts)
    check_paths(ctx)
    check_step_types(ctx, facts)
    check_tool_use(ctx, facts)
    VariableWalk(ctx, facts).run()
    check_concurrent(ctx, facts)
    if any(step.fields.retry is not None for step in ctx.steps):
        from gert_core.validation.domain.retry import check_retry

        check_retry(ctx, facts)
    used = used_actions(ctx, facts)
    for node in {tool.document: tool for tool in runbook.tools.values()}.values():
        known = used.get(node.document.file, set())
        ToolFile(report, node.document, node.tool, cwd=node.cwd).check(
            registry=registry, environ=environ, used=known, complete=not ctx.broken
        )


__all__ = ["check_runbook"]
