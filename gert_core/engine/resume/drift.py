"""Compare a run's documents with what they were when it started, and name what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core import __version__
from gert_core.api import DocumentError, ErrorKind, RunError, UsageError
from gert_core.documents import yaml
from gert_core.documents.generated import generated_digests, tools_by_key
from gert_core.engine.check import check
from gert_core.governance.sources import FLOOR, PACK
from gert_core.template.regex import PATTERN_UNSUPPORTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gert_core.documents.tree import Runbook
    from gert_core.documents.yaml import Document
    from gert_core.engine.documents import IncludedDocuments
    from gert_core.engine.request import Request, Resume
    from gert_core.governance import Policies

_LIST: Final = "the list of policies"
_HINT: Final = "start a new run, or go on with the recorded results: --on-drift allow"


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


def changes(
    facts: Mapping[str, Any], runbook: Runbook, policies: Policies, documents: IncludedDocuments | None = None
) -> list[str]:
    """Return what is not as ``run_start`` recorded it, by file."""
    found = []
    if facts.get("runbook_hash") != runbook.document.digest:
        found.append(f"runbook {runbook.document.file}")
    found += _changed_includes(facts, runbook, documents.policy_digests() if documents is not None else {})
    before, tools = facts.get("tool_hashes") or {}, tools_by_key(runbook)
    found += [f"tool {t.document.file}" for name, t in tools.items() if before.get(name) != t.digest]
    found += [f"tool {name} (no longer listed)" for name in before if name not in tools]
    found += _changed_blocks(facts.get("block_hashes"), generated_digests(runbook))
    if facts.get("policy_digest") != policies.digest:
        found += changed_policies(facts.get("policies"), policies.to_json())
    plugins = facts.get("policy_plugins")
    if isinstance(plugins, list):  # early runs of 0.1 did not record them
        found += [f"policy plugin {name}" for name in sorted({*plugins} ^ {*policies.plugins})]
    return found


def _changed_includes(facts: Mapping[str, Any], runbook: Runbook, policies: Mapping[str, str]) -> list[str]:
    """Return the included runbooks that are others, and those whose policies are."""
    before, added = facts.get("include_hashes") or {}, facts.get("include_policies") or {}
    now = {name: one.runbook.document for name, one in runbook.included.items()}
    found = [f"runbook {document.file}" for name, document in now.items() if before.get(name) != document.digest]
    found += [f"runbook {name} (no longer included)" for name in before if name not in now]
    names = [name for name in dict.fromkeys((*added, *policies)) if added.get(name) != policies.get(name)]
    return found + [f"the policies of {name}" for name in names if before.get(name) and name in now]


def floor_changed(facts: Mapping[str, Any], policies: Policies) -> bool:
    """Return whether the machine floor changed since the run started; the one of today applies, which is not drift."""
    recorded = facts.get("policies")
    before = [one for one in recorded if isinstance(one, dict)] if isinstance(recorded, list) else []
    return _floor(before) != _floor(policies.to_json())


def same_policies(facts: Mapping[str, Any], policies: Policies) -> bool:
    """Return whether everything that decides is as it was: policies, the answers of packs, and gert itself."""
    recorded = facts.get("policies")
    before = [one.get("digest") for one in recorded if isinstance(one, dict)] if isinstance(recorded, list) else None
    same = before == [one["digest"] for one in policies.to_json()] and facts.get("policy_digest") == policies.digest
    return same and facts.get("gert_version") == __version__


def _floor(sources: Sequence[Mapping[str, Any]]) -> list[object]:
    return [one.get("digest") for one in sources if one.get("kind") == FLOOR]


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


def changed_policies(recorded: object, now: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the changed documents; they keep their order, so another spelling of a path does not count.

    Which packs a plugin gives, and what it gives as data, may depend on the time: of packs only a file that both lists
    have can have changed.
    """
    if not isinstance(recorded, list):
        return [_LIST]
    if any("kind" in one for one in recorded):  # early runs of 0.1 did not record it
        files = {one["name"]: one["digest"] for one in recorded if _is_file_of_pack(one)}
        packs = [one for one in now if _is_file_of_pack(one) and files.get(one["name"], one["digest"]) != one["digest"]]
        recorded, now = ([one for one in given if one.get("kind") != PACK] for given in (recorded, now))
    else:
        packs = []
    recorded, now = ([one for one in given if one.get("kind") != FLOOR] for given in (recorded, now))
    if len(recorded) != len(now):
        return [_LIST]
    changed = [one for one, old in zip(now, recorded, strict=True) if old.get("digest") != one["digest"]]
    return [f"policy {one['name']}" for one in packs + changed]


def _is_file_of_pack(source: Mapping[str, Any]) -> bool:
    return source.get("kind") == PACK and "answer" not in source


__all__ = ["changed_policies", "changes", "floor_changed", "refuse", "same_policies", "same_runbook"]
