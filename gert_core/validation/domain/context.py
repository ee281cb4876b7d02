"""The context that all rules of phase 3 share: runbook, registry, project, environment and report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.validation.domain.expressions import Plans
from gert_core.validation.domain.flow import FlowMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Severity
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Path, Runbook
    from gert_core.plugin.registry import Registry
    from gert_core.validation.domain.report import Report

FAILURE: Final = "failure"
"""What cleanup blocks see of the failure before them."""
RESERVED: Final = frozenset({"step", "scope", "run", FAILURE})


class Context:
    """One runbook that is checked.

    ``gaps`` are parts of the document that could not be read, so that absence there proves nothing; ``broken``: steps
    are among them.
    """

    __slots__ = (
        "binders",
        "broken",
        "environ",
        "flow",
        "gaps",
        "plans",
        "project",
        "registry",
        "report",
        "reserved",
        "runbook",
        "steps",
        "sure_flow",
        "texts",
    )

    def __init__(
        self,
        runbook: Runbook,
        *,
        registry: Registry,
        project: Project | None,
        environ: Mapping[str, str],
        report: Report,
        gaps: frozenset[str] = frozenset(),
    ) -> None:
        self.runbook = runbook
        self.registry = registry
        self.project = project
        self.environ = environ
        self.report = report
        self.gaps = gaps
        self.broken = "steps" in gaps
        self.steps = list(runbook.walk())
        self.flow = FlowMap(runbook, generous=True)
        self.sure_flow = FlowMap(runbook) if self.flow.assumes else self.flow
        """The flow without what is only assumed about it."""
        self.plans = Plans()
        self.texts: dict[Any, Any] = {}
        self.binders = frozenset(name for name, kind in registry.step_types().items() if kind.binds)
        """Step types whose blocks bind variables under the type's name."""
        self.reserved = RESERVED | self.binders
        """Names of built-in variables of templates."""

    def add(
        self,
        rule: str,
        message: str,
        *,
        path: Path,
        key: bool = False,
        hint: str | None = None,
        severity: Severity | None = None,
        offset: int | None = None,
    ) -> None:
        """Add a finding in the runbook's own file."""
        self.report.add(
            rule,
            message,
            document=self.runbook.document,
            path=path,
            key=key,
            hint=hint,
            severity=severity,
            offset=offset,
        )


__all__ = ["FAILURE", "RESERVED", "Context"]
