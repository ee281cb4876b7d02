"""Store tickets as files: a run's open requests and the answers to them, for providers and ``gert approve``."""

from __future__ import annotations

import json
import os
import re
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from gert_core.api.approvals import ApprovalRequest, ApprovalResponse
from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.kit.durable import sync_name
from gert_core.kit.files import MIB, UnreadableError, decode_record, list_names, read_file_info, read_record
from gert_core.kit.sharing import Sharing
from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_LIMIT: Final = 16 * MIB


class TicketStore:
    """The directory ``tickets`` of a run.

    ``<ticket>.json`` is the request, each file in ``<ticket>.answers/`` one answer. Files are private (0600) or shared
    with the directory's group, appear atomically, and symbolic links are never followed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, request: ApprovalRequest) -> None:
        """Store a request; the same ticket again must be the same request."""
        path = self._path(request.ticket_id, ".json")
        held = self.get(request.ticket_id)
        if held is None:
            _write(path, request.to_json(), self._sharing())
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
        """Return the request of a ticket, or ``None``; raise ``UnreadableError`` when its file is damaged."""
        path = self._path(ticket_id, ".json")
        try:
            request = read_record(path, ApprovalRequest, limit=_LIMIT)
        except UnreadableError as error:
            error.kind = ErrorKind.TICKET_BROKEN
            raise
        if request is not None and (request.ticket_id != ticket_id or not _has_times(request)):
            reason = "is damaged: it is of another ticket, or its times are invalid"
            raise UnreadableError(path, reason, kind=ErrorKind.TICKET_BROKEN)
        return request

    def tickets(self) -> list[str]:
        """Return the ids of all tickets, in the order of their names; raise ``UnreadableError``."""
        stems = [name.removesuffix(".json") for name in list_names(self._directory) if name.endswith(".json")]
        return [stem for stem in stems if _NAME.fullmatch(stem)]

    def answer(self, response: ApprovalResponse) -> None:
        """Add one answer to its ticket; the names of answers sort in the order they were given."""
        folder = self._path(response.ticket_id, ".answers")
        sharing = self._sharing()
        sharing.make_directory(folder)
        number = len(list_names(folder)) + 1
        _write(folder / f"{number:04}-{secrets.token_hex(6)}.json", response.to_json(), sharing)

    def answers(self, ticket_id: str) -> list[tuple[str, ApprovalResponse | UnreadableError]]:
        """Return file name and content of every answer in order, rejections first; of an unreadable one the error.

        A rejection is final, so no approval comes before it by the name of its file.
        One that is damaged counts as nothing. One that the system hides may be a rejection, so nothing behind it counts
        before it can be read. Raise ``UnreadableError`` when the answers cannot be listed.
        """
        folder = self._path(ticket_id, ".answers")
        found = [(name, _response(folder / name)) for name in list_names(folder) if _is_answer(name)]
        return sorted(found, key=lambda pair: isinstance(pair[1], UnreadableError) or pair[1].approved)

    def _sharing(self) -> Sharing:
        """Return who shares the directory, which is created private when there is none."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            if not self._directory.is_symlink():
                raise RunError(f"{self._directory} cannot be created: {error.strerror}") from None
        return Sharing.of(self._directory)

    def _path(self, ticket_id: str, suffix: str) -> Path:
        if not _NAME.fullmatch(ticket_id):
            raise RunError(f"{ticket_id!r} is not the name of a ticket", kind=ErrorKind.TICKET_UNKNOWN)
        if os.path.islink(self._directory):  # noqa: PTH114 - a directory that cannot be reached is named by its reader
            raise UnreadableError(self._directory, "is a symbolic link; tickets are not stored behind links")
        return self._directory / (ticket_id + suffix)


def _shown(request: ApprovalRequest) -> str:
    """Return what an approver sees; a file with other values may have misled approvers."""
    return json.dumps(request.to_json(), sort_keys=True, default=str)


def _has_times(request: ApprovalRequest) -> bool:
    try:
        return all(parse_time(text) for text in (request.created, request.expires_at) if text)
    except ValueError:
        return False


def _is_answer(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")  # a file being written begins with a dot


def _response(path: Path) -> ApprovalResponse | UnreadableError:
    """Return an answer with who wrote its file and when, whatever the file says about that; of a bad one the error."""
    try:
        found = read_file_info(path, limit=_LIMIT)
        if found is None:
            raise UnreadableError(path, "was removed")
        data, info = found
        if info.st_nlink > 1:
            raise UnreadableError(path, f"has {info.st_nlink} names, and may be an answer to something else")
        written = datetime.fromtimestamp(info.st_ctime, UTC).isoformat(timespec="milliseconds")
        return replace(decode_record(data, ApprovalResponse, path=path), uid=info.st_uid, written=written)
    except UnreadableError as error:
        return error


def _write(path: Path, data: dict[str, object], sharing: Sharing) -> None:
    """Write to a temporary file, sync, rename, sync the directories: after a crash the file is complete or absent."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                sharing.give(stream.fileno())
                stream.write(json.dumps(data, ensure_ascii=False, indent=2).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        sync_name(path)
    except OSError as error:
        raise RunError(f"the ticket file {path} cannot be written: {error.strerror}", file=str(path)) from error


__all__ = ["TicketStore"]
