"""Store tickets as files: a run's open requests and the answers to them, for providers and ``gert approve``."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.approvals import ApprovalRequest, ApprovalResponse
from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_LIMIT: Final = 16 * 1024 * 1024


class TicketStore:
    """The directory ``tickets`` of a run.

    ``<ticket>.json`` is the request, each file in ``<ticket>.answers/`` one answer. Files are private (0600), appear
    atomically, and symbolic links are never followed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, request: ApprovalRequest) -> None:
        """Store a request; the same ticket again must be the same request."""
        path = self._path(request.ticket_id, ".json")
        held = self.get(request.ticket_id)
        if held is None:
            _private_directory(self._directory)
            _write(path, request.to_json())
        elif held.request_hash != request.request_hash:
            raise RunError(
                f"ticket {request.ticket_id} was submitted for another request and cannot be used again",
                kind=ErrorKind.TICKET_REUSED,
                file=str(path),
                hint="start a new run; approvals are bound to the exact request they were given for",
            )
        elif _shown(held) != _shown(request):
            raise RunError(
                f"the ticket file {path} does not match the request to approve: it or a tool was altered",
                kind=ErrorKind.TICKET_ALTERED,
                file=str(path),
                hint="its approvers may have been shown something else; find out what changed and start a new run",
            )

    def get(self, ticket_id: str) -> ApprovalRequest | None:
        """Return the request of a ticket, or ``None``; raise ``RunError`` when its file is damaged."""
        path = self._path(ticket_id, ".json")
        data = _read(path)
        if data is None:
            return None
        known = set(ApprovalRequest.__struct_fields__)
        try:
            facts = {name: value for name, value in data.items() if name in known}
            request = ApprovalRequest(**facts | {"command": tuple(facts.get("command") or ())})
        except (TypeError, AttributeError):
            request = None
        if request is None or request.ticket_id != ticket_id:
            raise RunError(f"the ticket file {path} is damaged", kind=ErrorKind.TICKET_BROKEN, file=str(path))
        return request

    def tickets(self) -> list[str]:
        """Return the ids of all tickets, in the order of their names."""
        try:
            names = sorted(entry.name for entry in os.scandir(self._directory) if _plain_file(entry))
        except (FileNotFoundError, NotADirectoryError):
            return []
        stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return [stem for stem in stems if _NAME.fullmatch(stem)]

    def answer(self, response: ApprovalResponse) -> None:
        """Add one answer to its ticket; the names of answers sort in the order they were given."""
        folder = self._path(response.ticket_id, ".answers")
        _private_directory(folder)
        number = len(self.answers(response.ticket_id)) + 1
        _write(folder / f"{number:04}-{secrets.token_hex(6)}.json", response.to_json())

    def answers(self, ticket_id: str) -> list[tuple[str, ApprovalResponse]]:
        """Return file name and content of every answer in order; a damaged file gives an invalid answer."""
        folder = self._path(ticket_id, ".answers")
        if folder.is_symlink():
            return []
        try:
            names = sorted(entry.name for entry in os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [(name, _response(folder / name)) for name in names if name.endswith(".json")]

    def _path(self, ticket_id: str, suffix: str) -> Path:
        if not _NAME.fullmatch(ticket_id):
            raise RunError(f"{ticket_id!r} is not the name of a ticket", kind=ErrorKind.TICKET_UNKNOWN)
        return self._directory / (ticket_id + suffix)


def _shown(request: ApprovalRequest) -> str:
    """Return the fields an approver decides by; a file with other values may have misled approvers."""
    told = (request.step_key, request.risk_level, request.contract, request.inputs, request.command)
    return json.dumps(told, sort_keys=True, default=str)


def _response(path: Path) -> ApprovalResponse:
    broken = ApprovalResponse(ticket_id="", approved=False, approver_id="", method="file", timestamp="")
    known = set(ApprovalResponse.__struct_fields__)
    try:
        data = _read(path) or {}
        return ApprovalResponse(**{name: value for name, value in data.items() if name in known})
    except (RunError, TypeError, AttributeError):
        return broken


def _plain_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def _private_directory(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_symlink() or not stat.S_ISDIR(path.lstat().st_mode):
        raise RunError(f"{path} is not a directory; tickets are not stored behind links", file=str(path))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"the ticket file {path} cannot be read: {error.strerror}", file=str(path)) from error
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise RunError(f"the ticket file {path} is not a regular file", file=str(path))
        content = stream.read(_LIMIT + 1)
    try:
        data = json.loads(content) if len(content) <= _LIMIT else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise RunError(f"the ticket file {path} is damaged", kind=ErrorKind.TICKET_BROKEN, file=str(path))
    return data


def _write(path: Path, data: dict[str, object]) -> None:
    """Write to a temporary file, sync, rename, sync the directory: after a crash the file is complete or absent."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(json.dumps(data, ensure_ascii=False, indent=2).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise RunError(f"the ticket file {path} cannot be written: {error.strerror}", file=str(path)) from error


__all__ = ["TicketStore"]
