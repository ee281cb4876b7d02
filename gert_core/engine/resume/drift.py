"""Compares a run's documents with what they were when it started, and names what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.api import DocumentError, ErrorKind, RunError, UsageError
from gert_core.documents import yaml
from gert_core.documents.generated import generated_digests
from gert_core.engine.check import check
from gert_core.template.regex import PATTERN_UNSUPPORTED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gert_core.documents.tree import Runbook
    from gert_core.documents.yaml import Document
    from gert_core.engine.request import Request, Resume
    from gert_core.governance import Policies

_HINT = "start a new run, or go on with the recorded results: --on-drift allow"


def same_runbook(request: Request, resume: Resume) -> Runbook:
    """Return the runbook, read and validated again; refuse a changed one before anything in it is looked at."""
    document = _read(request.runbook)
    changed = resume.run.state.facts.get("runbook_hash") != document.digest
    if changed and not resume.allow_drift:
        raise RunError(f"runbook {request.runbook} changed since the run started", kind=ErrorKind.DRIFT, hint=_HINT)
    try:
        return check(request, document)
    except DocumentError as error:
        if changed:
            raise
        _refuse_patterns(error)
        first = error.diagnostics[0].message if error.diagnostics else error.message
        raise RunError(
            f"something that {request.runbook} needs changed since the run started: {first}",
            kind=ErrorKind.DRIFT,
            file=error.file,
            hint="put it back as it was, or start a new run",
            diagnostics=error.diagnostics,
        ) from None


def _read(path: Path) -> Document:
    try:
        return yaml.load(path)
    except UsageError as error:
        raise RunError(
            f"{error.message}; a run is resumed only with its runbook",
            kind=ErrorKind.DRIFT,
            file=str(path),
            hint="put the runbook back as it was, or start a new run",
        ) from None


def _refuse_patterns(error: DocumentError) -> None:
    """Name a pattern that the version which started the run took and this one does not."""
    first = next((finding for finding in error.diagnostics if finding.rule == PATTERN_UNSUPPORTED), None)
    if first is not None:
        raise RunError(
            f"{first.file}, line {first.line}, has a pattern that this version of gert refuses: {first.message}",
            kind=ErrorKind.DRIFT,
            file=first.file,
            hint=f"{first.hint}; then start a new run, or go on with the recorded results: --on-drift allow",
            diagnostics=error.diagnostics,
        ) from None


def changes(facts: Mapping[str, Any], runbook: Runbook, policies: Policies) -> list[str]:
    """Return what is not as ``run_start`` recorded it, by file."""
    found = []
    if facts.get("runbook_hash") != runbook.document.digest:
        found.append(f"runbook {runbook.document.file}")
    before = facts.get("tool_hashes") or {}
    found += [f"tool {t.document.file}" for name, t in runbook.tools.items() if before.get(name) != t.digest]
    found += [f"tool {name} (no longer listed)" for name in before if name not in runbook.tools]
    found += _changed_blocks(facts.get("block_hashes"), generated_digests(runbook))
    if facts.get("policy_digest") != policies.digest:
        found += _changed_policies(facts.get("policies"), policies)
    return found


def _changed_blocks(recorded: object, now: Mapping[str, str]) -> list[str]:
    """Return the steps whose generated blocks changed; early runs of 0.1 did not record them."""
    if not isinstance(recorded, dict):
        return []
    names = dict.fromkeys((*now, *recorded))
    return [f"the generated blocks of step {name}" for name in names if recorded.get(name) != now.get(name)]


def refuse(found: list[str]) -> None:
    """Raise ``RunError`` when there are changes."""
    if found:
        raise RunError(f"{' and '.join(found)} changed since the run started", kind=ErrorKind.DRIFT, hint=_HINT)


def _changed_policies(recorded: object, policies: Policies) -> list[str]:
    """Return the changed sources; they keep their order, so another spelling of a path does not count."""
    now = policies.digests()
    if not isinstance(recorded, list) or len(recorded) != len(now):
        return ["the list of policies"]
    return [f"policy {name}" for (name, digest), old in zip(now, recorded, strict=True) if old.get("digest") != digest]


__all__ = ["changes", "refuse", "same_runbook"]
