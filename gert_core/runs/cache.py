"""Fold a trace file through a cache, which is valid only while the trace has not changed."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from msgspec import MsgspecError, Raw, Struct
from msgspec import json as msgspec_json
from msgspec.structs import replace

from gert_core.kit.files import LINE_LIMIT, UnreadableError, open_file
from gert_core.runs.fold import fold
from gert_core.runs.state import RunState, StepState
from gert_core.trace.reader import decode, other_run, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gert_core.kit.owners import Owners

FORMAT: Final = 11
_CHUNK: Final = 64 * 1024


class _Cached(Struct, kw_only=True):
    """The cache file: which event it belongs to, the digest of the rest, and the rest as it was encoded."""

    format: int
    seq: int
    hash: str
    digest: str
    state: Raw
    """The run's state without its steps."""
    steps: Raw
    void: Raw


def load_state(
    trace: Path,
    *,
    run_id: str = "",
    owners: Owners | None = None,
    cached: bytes | None = None,
    store: Callable[[bytes], None] | None = None,
) -> RunState:
    """Return the run's state: from ``cached`` if that is of this trace, else folded anew and given to ``store``."""
    stamp = last_line_stamp(trace, owners=owners)
    if cached is not None and stamp is not None and (state := _unpack(cached, stamp)) is not None:
        if run_id and state.run_id != run_id:
            raise other_run(trace, state.run_id, run_id)
        return state
    state = fold(read(trace, run_id=run_id, owners=owners))
    # A run in progress is folded again next time anyway; only a trace that is complete is worth a write.
    if store is not None and stamp is not None and state.seq == stamp[0] and (data := _pack(state, stamp)):
        store(data)
    return state


def last_line_stamp(trace: Path, *, owners: Owners | None = None) -> tuple[int, str] | None:
    """Return number and hash of the last complete event; while they stay the same, so does everything before it."""
    try:
        with open_file(trace, owners=owners) as file:
            line = _last_line(file.fileno())
    except (OSError, UnreadableError):
        return None
    try:
        return (decode(line).seq, sha256(line).hexdigest()) if line else None
    except ValueError:
        return None


def _last_line(fd: int) -> bytes:
    end = _newline_before(fd, os.fstat(fd).st_size)
    start = _newline_before(fd, end) if end >= 0 else -1
    return os.pread(fd, end - start - 1, start + 1) if 0 <= end - start <= LINE_LIMIT else b""


def _newline_before(fd: int, position: int) -> int:
    """Return where the last newline before ``position`` is; -1 when there is none within the longest line."""
    lowest = max(0, position - LINE_LIMIT)
    while position > lowest:
        size = min(_CHUNK, position - lowest)
        position -= size
        found = os.pread(fd, size, position).rfind(b"\n")
        if found >= 0:
            return position + found
    return -1


def _pack(state: RunState, stamp: tuple[int, str]) -> bytes | None:
    """Return the cache file; ``None`` when a text of the state cannot be encoded (an unpaired surrogate)."""
    seq, line_hash = stamp
    try:
        parts = [
            msgspec_json.encode(part)
            for part in (replace(state, steps={}, void={}), [*state.steps.values()], [*state.void.values()])
        ]
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    head, steps, void = (Raw(part) for part in parts)
    digest = _digest(*parts)
    cached = _Cached(format=FORMAT, seq=seq, hash=line_hash, digest=digest, state=head, steps=steps, void=void)
    return msgspec_json.encode(cached)


def _unpack(cached: bytes, stamp: tuple[int, str]) -> RunState | None:
    try:
        found = msgspec_json.decode(cached, type=_Cached)
        digest = _digest(found.state, found.steps, found.void)
        if (found.format, found.seq, found.hash, found.digest) != (FORMAT, *stamp, digest):
            return None
        steps, void = (msgspec_json.decode(part, type=list[StepState]) for part in (found.steps, found.void))
        state = msgspec_json.decode(found.state, type=RunState)
    except (ValueError, MsgspecError, RecursionError):
        return None
    state.steps = {step.key: step for step in steps}
    state.void = {step.key: step for step in void}
    return state


def _digest(*parts: Raw | bytes) -> str:
    """Return one digest of all parts; there is no newline in a part, so other parts give another digest."""
    digest = sha256()
    for part in parts:
        digest.update(memoryview(part))
        digest.update(b"\n")
    return digest.hexdigest()


__all__ = ["last_line_stamp", "load_state"]
