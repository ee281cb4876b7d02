"""Read the seals of a trace: the chain hash of the event that ended a process's part of it, and its signature."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from msgspec import Struct

from gert_core.kit.json_reader import loads
from gert_core.kit.wire import unique
from gert_core.trace.events import SEAL_FIELDS

_SEAL: Final = re.compile(
    rb',"chain_hash":"([0-9a-f]{64})"(?:,"signature":"((?:[0-9a-f]{2})+)")?'
    rb'(?=\},"prev_hash":"[0-9a-f]{64}"\}\Z)'
)
_ENVELOPE: Final = ("type", "timestamp", "run_id", "seq", "step_key", "principal", "data", "prev_hash")


class Seal(Struct, frozen=True, kw_only=True):
    """A sealed event whose hash matches its line."""

    event: int
    chain_hash: str
    signature: str | None
    algorithm: str | None
    key_id: str | None


class AlteredError(Exception):
    """A line that is not as gert wrote it; ``event`` is its number."""

    def __init__(self, event: int, detail: str) -> None:
        super().__init__(detail)
        self.event = event


def seal_matches(body: bytes) -> bool:
    """Return whether a line ends in a seal whose hash matches the line."""
    match = _SEAL.search(body)
    if match is None:
        return False
    return sha256(body[: match.start()] + body[match.end() :]).hexdigest().encode() == match.group(1)


def read_seal(body: bytes, number: int) -> Seal:
    """Return the seal of the sealed event with this number; raise ``AlteredError`` when it does not fit its line."""
    match = _SEAL.search(body)
    if match is None or not seal_matches(body):
        raise AlteredError(number, f"event {number} does not match its chain_hash")
    signature = match.group(2).decode() if match.group(2) else None
    try:
        raw = loads(body, object_pairs_hook=unique)
        data = raw["data"]
        names = list(data)
        order = tuple(name for name in _ENVELOPE if name in raw)
        shape = tuple(raw) == order and data["chain_hash"].encode() == match.group(1)
    except (ValueError, KeyError, TypeError, AttributeError):
        shape, names, data = False, [], {}
    expected = SEAL_FIELDS if signature else ("chain_hash",)
    seal = tuple(name for name in names if name in SEAL_FIELDS)
    if not shape or seal != expected or tuple(names[-len(seal) :]) != seal:
        raise AlteredError(number, f"event {number} does not have the fields of a sealed event")
    return Seal(
        event=number,
        chain_hash=data["chain_hash"],
        signature=signature,
        algorithm=str(data["signature_alg"]) if signature else None,
        key_id=str(data["signing_key_id"]) if signature else None,
    )


__all__ = ["AlteredError", "Seal", "read_seal", "seal_matches"]
