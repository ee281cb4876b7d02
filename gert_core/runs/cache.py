"""Fold a trace file through a cache, which is valid only while the trace has not changed."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from gert_core.runs.fold import fold
from gert_core.runs.state import RunState
from gert_core.trace.reader import decode, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORMAT: Final = 3
_CHUNK: Final = 64 * 1024


def load_state(trace: Path, *, cached: bytes | None = None, store: Callable[[bytes], None] | None = None) -> RunState:
    """Return the run's state: from ``cached`` if that is of this trace, else folded anew and given to ``store``."""
    stamp = last_line_stamp(trace)
    if cached is not None and stamp is not None and (state := _unpack(cached, stamp)) is not None:
        return state
    state = fold(read(trace))
    # A run in progress is folded again next time anyway; only a trace that is complete is worth a write.
    if store is not None and stamp is not None and state.seq == stamp["seq"]:
        store(_pack(state, stamp))
    return state


def last_line_stamp(trace: Path) -> dict[str, object] | None:
    """Return number and hash of the last complete event; while they stay the same, so does everything before it."""
    try:
        with trace.open("rb") as file:
            line = _last_line(file.fileno())
    except OSError:
        return None
    try:
        return {"seq": decode(line).seq, "hash": sha256(line).hexdigest()} if line else None
    except ValueError:
        return None


def _last_line(fd: int) -> bytes:
    position = os.fstat(fd).st_size
    tail = b""
    while position > 0:
        size = min(_CHUNK, position)
        position -= size
        tail = os.pread(fd, size, position) + tail
        end = tail.rfind(b"\n")
        start = tail.rfind(b"\n", 0, end) if end >= 0 else -1
        if start >= 0 or (end >= 0 and position == 0):
            return tail[start + 1 : end]
    return b""


def _pack(state: RunState, stamp: dict[str, object]) -> bytes:
    body = json.dumps(state.to_json(), ensure_ascii=True, separators=(",", ":")).encode("ascii")
    head = json.dumps({"format": FORMAT, **stamp, "digest": sha256(body).hexdigest()}, separators=(",", ":"))
    return b'%b,"state":%b}\n' % (head[:-1].encode("ascii"), body)


def _unpack(cached: bytes, stamp: dict[str, object]) -> RunState | None:
    try:
        raw = json.loads(cached)
        body = json.dumps(raw["state"], ensure_ascii=True, separators=(",", ":"))
        expected = {"format": FORMAT, **stamp, "digest": sha256(body.encode("ascii")).hexdigest()}
        if {name: raw.get(name) for name in expected} != expected:
            return None
        return RunState.from_json(raw["state"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


__all__ = ["last_line_stamp", "load_state"]
