"""Tell which documents of a run changed since it began, so that what is advised resumes it all the same.

What resumes a run reads and compares everything exactly; this looks at files only, without any plugin.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import GertError
from gert_core.documents.kinds import DocumentKind
from gert_core.kit.files import read_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.runs.state import RunState

_LARGEST: Final = 64 * 1024 * 1024
"""The most bytes of a document that are read to see whether it changed."""
_PACK: Final = "pack"
_KINDS: Final = ("project", "file")
"""The policies of a project and of ``--policy``; those of the machine are not drift, and packs are looked at apart."""


_FIELDS: Final = {DocumentKind.RUNBOOK: "include", DocumentKind.TOOL: str(DocumentKind.TOOL)}
"""By kind of document how the fields of ``run_start`` begin that have the files and digests."""


def changed_documents(state: RunState) -> list[str]:
    """Return the documents that are others than the run began with, as messages name them; one that is gone is not."""
    facts = state.facts
    found = (*_changed_files(facts), *_changed_included(facts), *_changed_packs(facts), *_changed_policies(facts))
    return list(dict.fromkeys(found))


def _changed_files(facts: Mapping[str, Any]) -> Iterator[str]:
    if _differs(facts.get("runbook_path"), facts.get("runbook_hash")):
        yield f"{DocumentKind.RUNBOOK} {facts['runbook_path']}"
    for kind, field in _FIELDS.items():
        hashes = facts.get(f"{field}_hashes") or {}
        for name, path in (facts.get(f"{field}_files") or {}).items():
            if _differs(path, hashes.get(name)):
                yield f"{kind} {path}"


def _differs(path: object, known: object) -> bool:
    try:
        file = Path(str(path))
        if not path or not known or not file.is_file():
            return False
        data = read_named(file, most=_LARGEST + 1)
        return len(data) <= _LARGEST and f"sha256:{hashlib.sha256(data).hexdigest()}" != str(known)
    except (OSError, ValueError):
        return False


def _changed_policies(facts: Mapping[str, Any]) -> list[str]:
    """Return the policies of the project and of ``--policy`` that are others; none when no file was written since."""
    recorded = facts.get("policies")
    before = [one for one in recorded if one.get("kind") in _KINDS] if isinstance(recorded, list) else []
    project_file = facts.get("project_file")
    given = [Path(str(file)) for file in facts.get("policy_files") or ()]
    root = None if project_file is None else Path(str(project_file)).parent
    files = [*given, *([] if root is None else [Path(str(project_file)), *(root / one["name"] for one in before)])]
    if not _written_since(files, str(facts.get("started") or "")):
        return []
    from gert_core.documents.project import find_project
    from gert_core.engine.resume.drift import changed_policies
    from gert_core.governance.sources import load_policies

    try:
        project = None if root is None else find_project(root)
        now = load_policies(registry=None, project=project, files=given, runbook=None, floor=False).to_json()
    except (GertError, OSError):
        return []  # the run cannot be resumed, and what resumes it says why
    return changed_policies(before, [one for one in now if one.get("kind") in _KINDS])


def _changed_packs(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the packs of plugins whose files are others; which packs there are now only a plugin knows."""
    before = {one.get("name"): one.get("digest") for one in facts.get("policies") or () if one.get("kind") == _PACK}
    for name, path in (facts.get("pack_files") or {}).items():
        file, started = Path(str(path)), str(facts.get("started") or "")
        if _written_since([file], started) and _digests([file]) not in (None, [before.get(name)]):
            yield f"policy {name}"


def _changed_included(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the included runbooks for which the policies of a project of their own are others."""
    from gert_core.documents.project import find_project
    from gert_core.documents.project_file import FILE_NAME

    files = facts.get("include_files") or {}
    for name, before in (facts.get("include_policy_files") or {}).items():
        with suppress(GertError, OSError):  # what resumes the run says what is wrong
            own = find_project(Path(str(files.get(name))))
            now = [] if own is None else [own.root / entry for entry in own.model.policies]
            looked_at = [*map(Path, before), *([] if own is None else [own.root / FILE_NAME, *now])]
            written = _written_since(looked_at, str(facts.get("started") or ""))
            if written and _digests(now) not in (None, list(before.values())):
                yield f"the policies of {name}"


def _digests(files: list[Path]) -> list[str] | None:
    """Return the digests of policies; None when one of them is not valid, or not there."""
    from gert_core.governance.sources import load_policies

    try:
        found = load_policies(registry=None, project=None, files=files, runbook=None, floor=False)
        return [str(one["digest"]) for one in found.to_json()]
    except (GertError, OSError):
        return None


def _written_since(files: list[Path], started: str) -> bool:
    """Return whether the system changed a file after a moment; that time, unlike another, cannot be set back."""
    with suppress(ValueError):
        since = datetime.fromisoformat(started).timestamp()
        for file in files:
            with suppress(OSError):
                if file.stat().st_ctime >= since:
                    return True
    return False


__all__ = ["changed_documents"]
