"""Read what one run claimed and reserved in the ledger of a directory of runs."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.store_records import ClaimState, LedgerEntry
from gert_core.kit.claims import is_owned
from gert_core.kit.files import MIB, UnreadableError, decode_record, list_names, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LIMIT: Final = MIB
_SUFFIX: Final = ".jsonl"


class _Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a key, which is claimed or under which amounts are reserved."""

    owner: str
    state: ClaimState | None = None
    amount: str | None = None
    at: str = ""


def read_entries(root: Path, run_id: str) -> Iterator[LedgerEntry]:
    """Yield the entries of a run that stand, of the ledger below ``root``; raise ``UnreadableError``."""
    for folder in list_names(root):
        for name in list_names(root / folder):
            if name.endswith(_SUFFIX):
                yield from _of_key(root / folder / name, name.removesuffix(_SUFFIX), run_id)


def _of_key(path: Path, key: str, run_id: str) -> Iterator[LedgerEntry]:
    data = read_file(path, limit=_LIMIT) or b""
    found = [decode_record(line, _Line, path=path) for line in data[: data.rfind(b"\n") + 1].splitlines()]
    if found and found[-1].amount is None and is_owned(found[-1].owner, run_id):
        held = found[-1]
        yield LedgerEntry(key=key, owner=held.owner, at=held.at, state=held.state or "open")
    reserved = {line.owner: line for line in found if line.amount is not None and is_owned(line.owner, run_id)}
    for owner, line in reserved.items():
        try:
            yield LedgerEntry(key=key, owner=owner, at=line.at, amount=Decimal(str(line.amount)))
        except InvalidOperation:
            raise UnreadableError(path, f"is damaged: {line.amount!r} is not an amount") from None


__all__ = ["read_entries"]
