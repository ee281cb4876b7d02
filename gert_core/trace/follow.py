"""Read a trace that is still being written: each time, the events that have come since."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from gert_core.api.errors import TraceError
from gert_core.kit.files import LINE_LIMIT, MIB, open_file
from gert_core.trace.reader import altered, decode, other_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from gert_core.api.events import TraceEvent
    from gert_core.kit.owners import Owners

_PART: Final = MIB


class TraceFollower:
    """The events of a trace in order, as far as they are written; the file is opened when there is one.

    A last line without its newline is being written, or torn: it is read when it is complete.
    """

    __slots__ = ("_file", "_owners", "_path", "_rest", "_run_id", "_seq")

    def __init__(self, path: Path, *, run_id: str, owners: Owners | None = None) -> None:
        self._path = path
        self._run_id = run_id
        self._owners = owners
        self._file: BinaryIO | None = None
        self._rest: list[bytes] = []
        self._seq = 0

    def __enter__(self) -> TraceFollower:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def read(self) -> Iterator[tuple[TraceEvent, bytes]]:
        """Yield the events that were not read before, and their lines; raise ``TraceError`` for any other line."""
        try:
            if self._file is None:
                self._file = open_file(self._path, owners=self._owners)
            while part := self._file.read(_PART):
                yield from self._events(part)
        except FileNotFoundError:
            return
        except OSError as error:
            raise TraceError(f"the trace {self._path} cannot be read: {error.strerror}", file=str(self._path)) from None

    def _events(self, part: bytes) -> Iterator[tuple[TraceEvent, bytes]]:
        *complete, rest = part.split(b"\n")
        for line in complete:
            whole, self._rest = b"".join([*self._rest, line]), []
            yield self._event(whole), whole
        if rest:
            self._rest.append(rest)
            if sum(map(len, self._rest)) > LINE_LIMIT:
                raise altered(self._path, ValueError("a line is longer than an event can be"))

    def _event(self, line: bytes) -> TraceEvent:
        try:
            event = decode(line)
            if event.seq != self._seq + 1:
                raise ValueError(f"event {event.seq} comes after event {self._seq}")
        except ValueError as error:
            raise altered(self._path, error) from None
        if event.run_id != self._run_id:
            raise other_run(self._path, event.run_id, self._run_id)
        self._seq = event.seq
        return event


__all__ = ["TraceFollower"]
