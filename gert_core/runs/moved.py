"""Runs that were moved to another store: their mark in ``meta.json``, and what may still be done with them here."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.kit.json_reader import loads
from gert_core.kit.run_rows import MOVED
from gert_core.runs.meta import META, read_meta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api.stores import StoredRun

_KEY: Final = MOVED


class Moved(Struct, frozen=True, kw_only=True):
    """Where a run was moved to, when and by whom; ``done`` is false while the move is under way or was interrupted."""

    to: str
    """The address of the other store, without a password."""
    at: str
    by: str
    done: bool


def moved(meta: Mapping[str, Any]) -> Moved | None:
    """Return the mark in the content of ``meta.json``; None for a run that stayed."""
    told = meta.get(_KEY)
    if not isinstance(told, dict):
        return None
    return Moved(
        to=str(told.get("to")), at=str(told.get("at")), by=str(told.get("by")), done=told.get("done") is not False
    )


def refuse_moved(run: StoredRun, meta: Mapping[str, Any] | None = None) -> None:
    """Raise ``RunError`` when a run was moved to another store, where it goes on."""
    told = moved(read_meta(run) if meta is None else meta)
    if told is None:
        return
    place = shlex.quote(told.to)  # what a hint says is pasted
    if told.done:
        raise RunError(
            f"run {run.run_id} was moved to {told.to}", kind=ErrorKind.RUN_MOVED, hint=f"add --store {place}"
        )
    raise RunError(
        f"run {run.run_id} is being moved to {told.to}, and the move was interrupted",
        kind=ErrorKind.RUN_MOVED,
        hint=f"repeat it: gert store copy STORE {place} --run {run.run_id} --move",
    )


def mark(run: StoredRun, told: Moved | None) -> None:
    """Write, or take back, the mark of a run."""
    meta = {name: value for name, value in read_meta(run).items() if name != _KEY}
    if told is not None:
        meta[_KEY] = {"to": told.to, "at": told.at, "by": told.by, "done": told.done}
    run.put(META, json.dumps(meta, indent=2, ensure_ascii=False).encode() + b"\n")


def as_copied(meta: bytes) -> bytes:
    """Return ``meta.json`` as a copy of the run has it: not moved, and with its trace in the store itself."""
    try:
        known = loads(meta)
    except ValueError:  # it is copied as it is, and those who read it say that it is damaged
        return meta
    if not isinstance(known, dict) or not known.keys() & {_KEY, "trace"}:
        return meta
    kept = {name: value for name, value in known.items() if name not in (_KEY, "trace")}
    return json.dumps(kept, indent=2, ensure_ascii=False).encode() + b"\n"


__all__ = ["Moved", "as_copied", "mark", "moved", "refuse_moved"]
