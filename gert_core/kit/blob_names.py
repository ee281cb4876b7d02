"""Check the names of blobs, which are paths below a run in a store that keeps files."""

from __future__ import annotations

from typing import Final

from gert_core.api.errors import RunError

BEING_WRITTEN: Final = ".~"
"""How the names of files begin that are not complete yet, in a store that keeps files."""
_LONGEST: Final = 255
_SENT: Final = ".sent"
"""How the names of blobs end that say who was told of a ticket."""
_RESERVED: Final = frozenset({"trace.jsonl", "lock", "children"})
"""Files of a run in a directory that are not blobs."""


def check_blob_name(name: str) -> str:
    """Return the name if it can be that of a blob; raise ``RunError`` for one that leads elsewhere or is taken."""
    parts = name.split("/")
    wrong = any(part in ("", ".", "..") or part.startswith(BEING_WRITTEN) or _too_long(part) for part in parts)
    if wrong or "\0" in name or parts[0] in _RESERVED:
        raise RunError(f"{name!r} is not the name of a blob")
    return name


def _too_long(part: str) -> bool:
    return len(part.encode("utf-8", "replace")) > _LONGEST


def is_answer(name: str) -> bool:
    """Return whether a blob is an answer to a ticket, which wakes its run."""
    first, _, rest = name.partition("/")
    return first == "tickets" and rest.partition("/")[0].endswith(".answers") and rest.endswith(".json")


def ticket_of(name: str) -> str | None:
    """Return the ticket whose request (``tickets/<id>.json``) or answer a blob is; None for every other blob.

    What else is kept of a ticket has other names: ``<id>.refused/``, ``<id>.comments/`` and ``<id>.sent.json``.
    """
    first, _, rest = name.partition("/")
    if first != "tickets" or not rest.endswith(".json"):
        return None
    folder, slash, _ = rest.partition("/")
    if slash:
        return folder.removesuffix(".answers") if folder.endswith(".answers") else None
    ticket = rest.removesuffix(".json")
    return None if ticket.endswith(_SENT) else ticket


__all__ = ["BEING_WRITTEN", "check_blob_name", "is_answer", "ticket_of"]
