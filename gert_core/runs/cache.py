"""Fold a trace, for lists through a cache, which is valid only while the trace has not changed."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct
from msgspec import json as msgspec_json
from msgspec.structs import replace

from gert_core.api.errors import RunError
from gert_core.kit.files import MIB
from gert_core.kit.json_reader import decode_as
from gert_core.runs.fold import fold
from gert_core.runs.state import RunState, StepState
from gert_core.trace.reader import decode, other_run, read

if TYPE_CHECKING:
    from gert_core.api.stores import StoredRun

FORMAT: Final = 14
STATE: Final = "state.json"
"""The blob with the cache."""
_LIMIT: Final = 256 * MIB
"""The largest cache that is read; a longer run is folded from its trace each time."""


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


def read_state(run: StoredRun) -> RunState:
    """Return the run's state by its trace alone: a tool of the same user can write a cache that fits the trace."""
    return fold(read(run, run_id=run.run_id))


def load_state(run: StoredRun) -> RunState:
    """Return the run's state for a list: from its cache if that is of this trace, else folded anew and cached.

    A cache that cannot be read or written is ignored.
    """
    stamp = last_line_stamp(run)
    cached = None
    if stamp is not None:
        with suppress(RunError):
            cached = run.get(STATE, limit=_LIMIT)
    if cached is not None and stamp is not None and (state := _unpack(cached, stamp)) is not None:
        if state.run_id != run.run_id:
            raise other_run(run.place, state.run_id, run.run_id)
        return state
    state = read_state(run)
    # A run in progress is folded again next time anyway; only a trace that is complete is worth a write.
    if stamp is not None and state.seq == stamp[0] and not run.foreign and run.holder() is None:
        with suppress(RunError):
            if data := _pack(state, stamp):
                run.put(STATE, data, durable=False)
    return state


def last_line_stamp(run: StoredRun) -> tuple[int, str] | None:
    """Return number and hash of the last complete event; while they stay the same, so does everything before it."""
    try:
        line = run.last_line()
        return (decode(line).seq, sha256(line[:-1]).hexdigest()) if line else None
    except (OSError, RunError, ValueError):
        return None


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
        found = decode_as(cached, _Cached)
        digest = _digest(found.state, found.steps, found.void)
        if (found.format, found.seq, found.hash, found.digest) != (FORMAT, *stamp, digest):
            return None
        steps, void = (decode_as(part, list[StepState]) for part in (found.steps, found.void))
        state = decode_as(found.state, RunState)
    except ValueError:
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


__all__ = ["last_line_stamp", "load_state", "read_state"]
