"""What an approval is bound to: the document shown to the approver, computed again before the step is executed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from gert_core.api import ApprovalRequest, ErrorKind, StepProblem
from gert_core.approvals.requests import ticket_id
from gert_core.kit.programs import find_program
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api import Deadline

VERSION: Final = 2
_ABSENT: Final = object()
_READS: Final = 3
"""How often a program is read that is written to meanwhile."""
_PART: Final = 4 * 1024 * 1024
SHOWN: Final = "shown"
"""The part of the document that only has what else an approver sees; requests of before it was added have none."""
DOCUMENTS: Final = "documents"
"""The digest of all documents of the run; requests of before it was added have none."""
MESSAGE: Final = "message"
"""What a step that demands its approval itself asks; None in requests of other steps."""
_BOUND: Final = (
    *("run_id", "step_key", "step_id", "description", "requested_by", "runbook_hash", "contract", "inputs"),
    *("min_approvers", "exclude_actor", "expires_at", "generation"),
)
_SHOWN: Final = (
    *("runbook_name", "step_type", "rule", "command", "created", "timeout", "require_signed", "extensions"),
)


def document_hash(document: Mapping[str, Any]) -> str:
    """Return the hash that tickets and signatures cover."""
    return hashlib.sha256(canonical(document)).hexdigest()


def changed_fields(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that differ, those of the command one by one: ``["inputs", "command.argv"]``."""
    if before is None or before.get("v") != now.get("v"):
        return ["v"]
    found = []
    for name in dict.fromkeys((*before, *now)):
        old, new = before.get(name, _ABSENT), now.get(name, _ABSENT)
        if old == new:
            continue
        if name == "command" and isinstance(old, dict) and isinstance(new, dict):
            found += [f"{name}.{part}" for part in dict.fromkeys((*old, *new)) if old.get(part) != new.get(part)]
        else:
            found.append(name)
    return found


def request_of(document: Mapping[str, Any]) -> ApprovalRequest:
    """Return the request for a masked document: its ticket, and everything that is shown of it, come from there."""
    shown = dict(document[SHOWN])
    return ApprovalRequest(
        **_named(document),
        risk_level=document["risk"],
        approvers=tuple(document["approvers"]),
        command=tuple(shown.pop("command")),
        **{name: document[name] for name in _BOUND},
        **shown,
    )


def as_older(request: ApprovalRequest) -> ApprovalRequest:
    """Return a request as it was made before its hash covered everything that is shown: answers to it can be read."""
    return replace(request, **_named({name: value for name, value in request.document.items() if name != SHOWN}))


def _named(document: Mapping[str, Any]) -> dict[str, Any]:
    digest = document_hash(document)
    ticket = ticket_id(document["run_id"], document["step_key"], digest)
    return {"ticket_id": ticket, "request_hash": digest, "document": document}


def matches_document(request: ApprovalRequest) -> bool:
    """Return whether a request shows what its hash covers; one that was read from a file may have been altered."""
    document, fields = request.document, request.to_json()
    digest = document_hash(document)
    # A ticket is named after its hash: another document with its own hash cannot stand under this name.
    named = (ticket_id(request.run_id, request.step_key, digest), digest)
    if (request.ticket_id, request.request_hash) != named:
        return False
    bound: dict[str, Any] = {name: fields[name] for name in _BOUND}
    bound |= {"risk": request.risk_level, "approvers": list(request.approvers)}
    bound[SHOWN] = {name: fields[name] for name in _SHOWN}
    return all(document.get(name) == value for name, value in bound.items())


def bound_program(
    name: str | None, environ: Mapping[str, str], cwd: str | None = None, *, deadline: Deadline
) -> dict[str, str | None]:
    """Return the program that would be started with this environment: its absolute path and the hash of its content.

    It is started in ``cwd``, or in gert's own directory.
    Both are null when it is not found. Of one that cannot be read the hash is null, and ``program_file`` is what tells
    the file from another one. A script's interpreter and what a program loads are not covered.
    """
    path = find_program(name, environ, cwd) if name else None
    if path is None:
        return {"program": None, "program_sha256": None}
    found = {"program": str(Path(path).absolute())}
    try:
        digest = _digest(path, deadline)
    except OSError:  # executable and not readable
        return {**found, "program_sha256": None, "program_file": _file(path)}
    return {**found, "program_sha256": digest}


def _file(path: str) -> str | None:
    """Return what is known about a file without reading it, as one text; a program in its place has another."""
    try:
        info = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    facts = {"device": info.st_dev, "inode": info.st_ino, "size": info.st_size}
    facts |= {"modified": info.st_mtime_ns, "changed": info.st_ctime_ns}
    return " ".join(f"{name}={value}" for name, value in facts.items())


def _digest(path: str, deadline: Deadline) -> str | None:
    """Return the hash of a regular file, read in parts: a cancelled run does not wait for a large one.

    One that is written to meanwhile is read again: what was read of it may never have been its content.
    """
    # Something else may have taken the file's place since it was found.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as file:  # noqa: PTH123
        for _ in range(_READS):
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                return None
            digest = _content(file, path, deadline)
            if _times(os.fstat(file.fileno())) == _times(before):
                return digest
            file.seek(0)
    raise StepProblem(
        ErrorKind.APPROVAL_VOID, f"{path}, which the approval is bound to, is written to while it is read", acted=False
    )


def _content(file: IO[bytes], path: str, deadline: Deadline) -> str:
    digest = hashlib.sha256()
    while part := file.read(_PART):
        digest.update(part)
        if deadline.stopped:
            kind = ErrorKind.CANCELLED if deadline.cancelled else ErrorKind.TIMEOUT
            raise StepProblem(kind, f"no time was left to read {path}, which the approval is bound to")
    return digest.hexdigest()


def _times(info: os.stat_result) -> tuple[int, ...]:
    """Return what changes when a file is written to; programs cannot set the last time."""
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns


__all__ = [
    "DOCUMENTS",
    "MESSAGE",
    "SHOWN",
    "VERSION",
    "as_older",
    "bound_program",
    "changed_fields",
    "document_hash",
    "matches_document",
    "request_of",
]
