"""Validate the runbook of a request completely before anything is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import DocumentError, Severity
from gert_core.documents import yaml
from gert_core.documents.kinds import DocumentKind
from gert_core.validation import validate_document

if TYPE_CHECKING:
    from gert_core.documents.tree import Runbook
    from gert_core.documents.yaml import Document
    from gert_core.engine.request import Request


def check(request: Request, document: Document | None = None) -> Runbook:
    """Return the runbook; raise ``DocumentError`` with every error when it is not valid.

    ``document`` is the runbook's file when it is read already.
    """
    found = validate_document(
        document or yaml.load(request.runbook),
        kind=DocumentKind.RUNBOOK,
        registry=request.registry,
        project=request.project,
        environ=request.environ,
    )
    errors = [d for d in found.diagnostics if d.severity is Severity.ERROR]
    if errors or found.runbook is None:
        count = f"{len(errors)} error{'s' if len(errors) != 1 else ''}"
        raise DocumentError(
            f"{request.runbook} is not valid: {count}; nothing was run",
            file=str(request.runbook),
            hint=f"gert validate {request.runbook} shows the lines",
            diagnostics=errors,
        )
    return found.runbook


__all__ = ["check"]
