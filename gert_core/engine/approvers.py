"""Find before a run the approvals that it needs and that cannot be given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import Diagnostic, ErrorKind
from gert_core.governance.enough import may_lack_approvers

if TYPE_CHECKING:
    from gert_core.documents.project import Project
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.resume.remaining import Remaining
    from gert_core.engine.steps.compiled import CompiledRunbook
    from gert_core.governance import Policies


def lacking_approvers(
    compiled: CompiledRunbook,
    policies: Policies,
    documents: IncludedDocuments | None,
    remaining: Remaining | None,
    *,
    project: Project | None,
    actors: frozenset[str],
) -> tuple[list[Diagnostic], list[str]]:
    """Return a finding for each step that certainly needs such an approval, and a sentence for each that may need one.

    ``actors`` are the ids of who starts the run.
    """
    runbook = compiled.runbook
    gates = any(step.type.gate is not None for step in runbook.by_id.values())
    if not (gates or runbook.included or may_lack_approvers(policies)):
        return [], []
    from gert_core.engine.denial import certain_approvals
    from gert_core.governance.enough import shortage
    from gert_core.governance.explain import consider

    findings = []
    certain = certain_approvals(compiled, policies, documents, remaining)
    for key, one in certain.items():
        if (found := shortage(one.decision, one.policies, actors)) is not None:
            message = f"step {key}: {found.message}"
            findings.append(Diagnostic(rule=ErrorKind.APPROVAL_IMPOSSIBLE, message=message, hint=found.hint))
    sentences = []
    for considered in consider(runbook, policies, project):
        key, decision = considered.explained.step_id, considered.explained.decision
        if decision is None or key in certain or (remaining is not None and remaining.over(key)):
            continue
        if (found := shortage(decision, considered.policies, actors)) is not None:
            sentences.append(f"step {key} cannot be approved if it is reached: {found.message}")
    return findings, sentences


__all__ = ["lacking_approvers"]
