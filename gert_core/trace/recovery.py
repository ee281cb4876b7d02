"""Read a trace that a run will be resumed from: once, checking its chain, up to the end that a crash left."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.api.events import EventType
from gert_core.kit.files import LINE_LIMIT
from gert_core.trace.events import SEALED_EVENTS, ZEROS
from gert_core.trace.lines import TraceLines
from gert_core.trace.reader import altered, check_torn, decode, is_torn, other_run, unreadable
from gert_core.trace.seals import AlteredError, read_seal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api.events import TraceEvent
    from gert_core.api.stores import StoredRun
    from gert_core.trace.seals import Seal


_TORN_LIMIT: Final = 2 * LINE_LIMIT
"""More than the group of lines that a crash can tear."""


class TraceEnd(Struct, frozen=True, kw_only=True):
    """The end of a trace from which a resumed run continues."""

    seq: int = 0
    """The number of the last complete event, ``start_seq`` of the next writer."""
    prev_hash: str = ZEROS
    torn: int = 0
    """Bytes of a torn write after it, which are not a complete event."""


class CheckedTrace:
    """Read a trace once and checks its chain: iterate over its events, then look at ``end`` and ``seals``.

    Only an unfinished last line, or blocks that a power loss left as zeros, are torn; a chain that breaks anywhere
    else, and zeros in front of an event that was synced, were altered.
    """

    __slots__ = ("_run", "end", "lines", "seals")

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self.end = TraceEnd()
        self.seals: list[Seal] = []
        self.lines = TraceLines(run)
        """The lines that were read, to be asked again until the run is closed."""

    def __iter__(self) -> Iterator[TraceEvent]:
        """Read the events; raise ``TraceError`` when the trace cannot be read or was altered."""
        place = self._run.place
        try:
            yield from self._events(place)
        except OSError as error:
            raise unreadable(place, error) from None
        except (ValueError, AlteredError) as error:
            raise altered(place, error) from None

    def _events(self, place: str) -> Iterator[TraceEvent]:
        seq = 0
        previous, run_id, sealed = ZEROS, self._run.run_id, False
        found = self._run.lines()
        for line in found:
            if is_torn(line):
                check_torn(line, found)
                break
            event = decode(line)
            seq += 1
            if seq == 1 and event.run_id != run_id:
                raise other_run(place, event.run_id, run_id)
            if not line.endswith(b',"prev_hash":"%b"}\n' % previous.encode()) or event.seq != seq:
                raise ValueError(f"the chain breaks at event {seq}")
            if event.run_id != run_id or (sealed and event.type != EventType.RUN_RESUMED):
                raise ValueError(f"event {seq} does not belong there")
            sealed = event.type in SEALED_EVENTS
            if sealed:
                self.seals.append(read_seal(line[:-1], seq))
            previous = sha256(line[:-1]).hexdigest()
            self.lines.add(line)
            yield event
        torn = self._run.torn
        if torn > _TORN_LIMIT:
            raise ValueError(f"{torn} bytes follow event {seq}, more than a crash leaves")
        self.end = TraceEnd(seq=seq, prev_hash=previous, torn=torn)


__all__ = ["CheckedTrace", "TraceEnd"]
