"""Store tickets with a run: its open requests and the answers to them, for providers and ``gert approve``."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from gert_core.api.approvals import ApprovalRequest, ApprovalResponse
from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.kit.blob_names import is_answer, ticket_of
from gert_core.kit.files import MIB, UnreadableError, decode_record
from gert_core.kit.log import warning
from gert_core.kit.ticket_notes import TICKET_NAME, TICKETS, TicketNotes, ticket_blob
from gert_core.kit.times import parse_time

if TYPE_CHECKING:
    from gert_core.api.stores import StoredRun

_LIMIT: Final = 16 * MIB
_T = TypeVar("_T", ApprovalRequest, ApprovalResponse)


class TicketStore(TicketNotes):
    """The tickets of a run, blobs below ``tickets``.

    ``<ticket>.json`` is the request, each blob in ``<ticket>.answers/`` one answer. In a directory they are private
    files (0600) or shared with the directory's group, appear atomically, and symbolic links are never followed.
    """

    def __init__(self, run: StoredRun) -> None:
        self._run = run

    def put(self, request: ApprovalRequest) -> None:
        """Store a request; the same ticket again must be the same request."""
        name = ticket_blob(request.ticket_id)
        held = self.get(request.ticket_id)
        if held is None:
            self._write(name, request.to_json())
        elif held.request_hash != request.request_hash:
            raise RunError(
                f"ticket {request.ticket_id} was submitted for another request and cannot be used again",
                kind=ErrorKind.TICKET_REUSED,
                file=self._run.where(name),
                hint="start a new run; approvals are bound to the exact request they were given for",
            )
        elif _shown(held) != _shown(request):
            raise RunError(
                f"the ticket file {self._run.where(name)} does not match the request to approve: it or a tool was "
                "altered",
                kind=ErrorKind.TICKET_ALTERED,
                file=self._run.where(name),
                hint="its approvers may have been shown something else; find out what changed and start a new run",
            )

    def get(self, ticket_id: str) -> ApprovalRequest | None:
        """Return the request of a ticket, or ``None``; raise ``UnreadableError`` when it is damaged."""
        name = ticket_blob(ticket_id)
        where = self._run.where(name)
        try:
            data = self._run.get(name, limit=_LIMIT)
            request = None if data is None else _read(data, ApprovalRequest, where)
        except UnreadableError as error:
            error.kind = ErrorKind.TICKET_BROKEN
            raise
        if request is not None and (request.ticket_id != ticket_id or not _has_times(request)):
            reason = "is damaged: it is of another ticket, or its times are invalid"
            raise UnreadableError(where, reason, kind=ErrorKind.TICKET_BROKEN)
        return request

    def tickets(self) -> list[str]:
        """Return the ids of all tickets, in the order of their names; raise ``UnreadableError``."""
        found = (ticket_of(name) for name in self._run.names(TICKETS) if not is_answer(name))
        return [ticket for ticket in found if ticket is not None and TICKET_NAME.fullmatch(ticket)]

    def answer(self, response: ApprovalResponse) -> None:
        """Add one answer to its ticket; the names of answers sort in the order they were given."""
        folder = ticket_blob(response.ticket_id, ".answers/")
        number = len(self._run.names(folder)) + 1
        self._write(f"{folder}{number:04}-{secrets.token_hex(6)}.json", response.to_json())

    def answers(self, ticket_id: str) -> list[tuple[str, ApprovalResponse | UnreadableError]]:
        """Return name and content of every answer in order, rejections first; of an unreadable one the error.

        A rejection is final, so no approval comes before it by the name of its blob.
        One that is damaged counts as nothing. One that the system hides may be a rejection, so nothing behind it counts
        before it can be read. Raise ``UnreadableError`` when the answers cannot be listed.
        """
        folder = ticket_blob(ticket_id, ".answers/")
        names = [name for name in self._run.names(folder) if name.endswith(".json") and f"{folder}." not in name]
        found = [(name.removeprefix(folder), self._response(name)) for name in names]
        return sorted(found, key=lambda pair: isinstance(pair[1], UnreadableError) or pair[1].approved)

    def _response(self, name: str) -> ApprovalResponse | UnreadableError:
        """Return an answer with who wrote its blob and when, whatever it says about that; of a bad one the error."""
        where = self._run.where(name)
        try:
            found = self._run.blob(name, limit=_LIMIT)
            if found is None:
                raise UnreadableError(where, "was removed")
            if found.links > 1:
                raise UnreadableError(where, f"has {found.links} names, and may be an answer to something else")
            response = _read(found.data, ApprovalResponse, where)
            return replace(response, uid=found.uid, written=found.written)
        except UnreadableError as error:
            return error

    def _write(self, name: str, data: dict[str, object]) -> None:
        try:
            self._run.put(name, json.dumps(data, ensure_ascii=False, indent=2).encode() + b"\n")
        except StoreError as error:
            if self._run.path is None:  # what is wrong is the store, which the message names
                raise
            raise RunError(f"the ticket file {error.message}", file=self._run.where(name)) from error


class AnswerReader:
    """The answers to the tickets of a run, each of them once, for providers whose answers are files."""

    def __init__(self, store: TicketStore) -> None:
        self._store = store
        self._seen: dict[str, set[str]] = {}
        self._told: set[str] = set()

    def next(self, ticket_id: str) -> ApprovalResponse | None:
        """Return the next answer; none while the system hides one, because that may be a rejection.

        One that is damaged counts as nothing: who can damage it could remove it as well.
        """
        seen = self._seen.setdefault(ticket_id, set())
        try:
            for name, found in self._store.answers(ticket_id):
                if name in seen:
                    continue
                if isinstance(found, UnreadableError):
                    if found.hidden:
                        raise found
                    self._tell("an answer to ticket %s is left out: %s", ticket_id, found)
                    continue
                seen.add(name)
                return found
        except UnreadableError as error:
            self._tell("ticket %s stays pending: %s", ticket_id, error)
        return None

    def _tell(self, sentence: str, ticket_id: str, error: UnreadableError) -> None:
        """Warn once about an answer."""
        if error.message not in self._told:
            self._told.add(error.message)
            warning("approvals", sentence, ticket_id, error.message)


def _shown(request: ApprovalRequest) -> str:
    """Return what an approver sees; a file with other values may have misled approvers."""
    return json.dumps(request.to_json(), sort_keys=True, default=str)


def _read(data: bytes, kind: type[_T], where: str) -> _T:
    """Return a ticket or an answer; raise ``UnreadableError`` for one that could not be written, shown or hashed."""
    found = decode_record(data, kind, path=where)
    try:
        json.dumps(found.to_json(), ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:  # half of a surrogate pair, which JSON can escape, or a number without an end
        raise UnreadableError(where, f"is damaged: {error}") from None
    return found


def _has_times(request: ApprovalRequest) -> bool:
    try:
        return all(parse_time(text) for text in (request.created, request.expires_at) if text)
    except ValueError:
        return False


__all__ = ["AnswerReader", "TicketStore"]
