"""Keep what belongs to a ticket besides its answers: who was told, comments, refused answers, links that were used."""

from __future__ import annotations

import json
import re
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError
from gert_core.api.tickets import Comment
from gert_core.kit.files import MIB, UnreadableError, decode_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api.stores import StoredRun

TICKET_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
"""What the id of a ticket may be: it becomes part of names of blobs."""
TICKETS: Final = "tickets/"
"""Where the blobs of tickets are."""
REFUSALS: Final = 20
"""How many refused answers are kept of one person and ticket."""
COMMENTS: Final = 200
"""How many comments a ticket takes."""
LONGEST: Final = 4_000
"""The most characters of a comment."""


class TicketNotes:
    """Blobs beside the tickets of a run: ``<ticket>.sent.json``, and folders for comments, refusals and used links."""

    _run: StoredRun

    def sent(self, ticket_id: str) -> dict[str, Any] | None:
        """Return what a provider kept of the messages it sent about a ticket; None when it has sent none."""
        name = ticket_blob(ticket_id, ".sent.json")
        data = self._run.get(name, limit=MIB)
        return None if data is None else decode_record(data, dict[str, Any], path=self._run.where(name))

    def keep_sent(self, ticket_id: str, data: Mapping[str, Any]) -> None:
        """Keep what was sent about a ticket, durably."""
        self._run.put(ticket_blob(ticket_id, ".sent.json"), _encoded(data))

    def comment(self, ticket_id: str, comment: Comment) -> None:
        """Add a comment; raise ``RunError`` when it is too long or there are too many."""
        folder = ticket_blob(ticket_id, ".comments/")
        number = len(self._run.names(folder)) + 1
        if number > COMMENTS:
            raise RunError(f"ticket {ticket_id} has {COMMENTS} comments, and takes no more")
        if not comment.text.strip() or len(comment.text) > LONGEST:
            raise RunError(f"a comment has 1 to {LONGEST} characters", hint="write a shorter one")
        self._run.put(f"{folder}{number:04}-{secrets.token_hex(6)}.json", _encoded(comment.to_json()))

    def comments(self, ticket_id: str) -> list[Comment]:
        """Return the comments in order; one that cannot be read is left out."""
        folder = ticket_blob(ticket_id, ".comments/")
        found = []
        for name in self._run.names(folder)[:COMMENTS]:
            try:
                data = self._run.get(name, limit=MIB)
                if data is not None:
                    found.append(decode_record(data, Comment, path=self._run.where(name)))
            except UnreadableError:
                continue
        return found

    def refuse(self, ticket_id: str, who: str, data: Mapping[str, Any]) -> None:
        """Keep that an answer was refused, apart from the answers; of one person a bounded number."""
        folder = ticket_blob(ticket_id, f".refused/{sha256(who.encode()).hexdigest()[:16]}/")
        number = len(self._run.names(folder)) + 1
        if number <= REFUSALS:
            self._run.put(f"{folder}{number:04}-{secrets.token_hex(6)}.json", _encoded(data))

    def refused(self, ticket_id: str) -> list[dict[str, Any]]:
        """Return the refused answers that are kept, by person."""
        found = []
        for name in self._run.names(ticket_blob(ticket_id, ".refused/")):
            try:
                data = self._run.get(name, limit=MIB)
                if data is not None:
                    found.append(decode_record(data, dict[str, Any], path=self._run.where(name)))
            except UnreadableError:
                continue
        return found

    def use_link(self, ticket_id: str, nonce: str) -> None:
        """Mark a personal link as used; raise ``RunError`` ``link_used`` when it was used before."""
        name = ticket_blob(ticket_id, f".links/{sha256(nonce.encode()).hexdigest()}.json")
        try:
            self._run.put(name, b"{}\n", new=True)
        except StoreError as error:
            if error.kind != ErrorKind.BLOB_EXISTS:
                raise
            raise RunError("this link was used before", kind=ErrorKind.LINK_USED, hint="ask for a new one") from None

    def is_used(self, ticket_id: str, nonce: str) -> bool:
        """Return whether a personal link was used."""
        name = ticket_blob(ticket_id, f".links/{sha256(nonce.encode()).hexdigest()}.json")
        return self._run.get(name, limit=MIB) is not None


def ticket_blob(ticket_id: str, suffix: str = ".json") -> str:
    """Return the name of a blob of a ticket; raise ``RunError`` for what is not the name of a ticket."""
    if not TICKET_NAME.fullmatch(ticket_id):
        raise RunError(f"{ticket_id!r} is not the name of a ticket", kind=ErrorKind.TICKET_UNKNOWN)
    return f"{TICKETS}{ticket_id}{suffix}"


def _encoded(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, indent=2, default=msgspec.to_builtins).encode() + b"\n"


__all__ = ["COMMENTS", "LONGEST", "REFUSALS", "TICKETS", "TICKET_NAME", "TicketNotes", "ticket_blob"]
