"""Write the events of a run as a hash chain, in groups, to a sink, and sync them to disk on request."""

from __future__ import annotations

import threading
from binascii import hexlify
from collections import deque
from datetime import UTC
from hashlib import sha256
from json.encoder import encode_basestring
from time import gmtime, strftime, time_ns
from typing import TYPE_CHECKING, Final, Literal

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import TraceError
from gert_core.kit.files import LINE_LIMIT, MIB
from gert_core.trace.encoding import encode_json, to_bytes
from gert_core.trace.events import SEAL_FIELDS, SEALED_EVENTS, ZEROS
from gert_core.trace.sink_errors import sink_error
from gert_core.trace.sinks import NullSink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gert_core.api.stores import Sink
    from gert_core.secrets import Masker
    from gert_core.trace.observers import Observer
    from gert_core.trace.signing import Signer

Sync = Literal["group", "event", "none"]

_VALVE: Final = 8 * 1024 * 1024
"""The number of buffered bytes that triggers a commit, so that a step that emits many events cannot fill the memory."""
_EVENT_LIMIT: Final = LINE_LIMIT - MIB
"""The longest data of an event; readers refuse longer lines."""
_LINE: Final = b'%b%b%06d%b%d%b%b,"prev_hash":"%b"}'
"""One format operation per event; only the JSON and the hash of an event cost more time."""
_SECOND: Final = "%Y-%m-%dT%H:%M:%S."
_BILLION: Final = 1_000_000_000
_PEOPLE: Final = 1000
"""Principals whose JSON is kept; most runs have a handful."""


class EventDataError(TraceError):
    """An event that cannot be written because its data is not JSON; the trace itself is sound."""


class TraceWriter:
    """The writer of one run's trace: ``add`` chains an event into the buffer, ``commit`` writes, ``sync`` syncs.

    Threads encode outside the lock; only chaining and buffering happen under it. One write carries all that
    is buffered. The first error of the sink is final: every later call raises the same error.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        run_id: str,
        sync: Sync = "group",
        masker: Masker | None = None,
        clock: Callable[[], datetime] | None = None,
        signer: Signer | None = None,
        observers: Sequence[tuple[str, Observer]] = (),
        start_seq: int = 0,
        prev_hash: str = ZEROS,
    ) -> None:
        self.run_id = run_id
        self._sink = sink
        self._mode = sync
        self._masker = masker
        self._clock = clock
        self._since = self._until = 0
        self._stamp = b""
        """The text of the second between these two times; a clock of the caller's has none."""
        self._signer = signer
        self._seq = start_seq
        self._prev = prev_hash.encode("ascii")
        self._middle = b'Z","run_id":%s,"seq":' % to_bytes(encode_basestring(run_id))
        self._heads: dict[str, bytes] = {}
        self._people: dict[tuple[object, ...], bytes] = {}
        self._last: tuple[str | None, Mapping[str, object] | None, bytes] = None, None, b',"data":'
        self._last_principal: tuple[Mapping[str, object] | None, bytes] = None, b""
        self._buffer: list[bytes] = []
        self._waiting = 0
        self._lock = threading.Lock()
        self._io = threading.Lock()
        self._error: TraceError | None = None
        self._sealed = False
        self._closed = False
        self._watch = None
        if observers:
            from gert_core.trace.observers import Observers

            self._watch = Observers(observers, mask=masker.mask_text if masker is not None else str)
            self._unseen: deque[tuple[int, list[bytes]]] = deque()
            sink.on_stored = self._stored
        self._unread = self._watch is None and isinstance(sink, NullSink)
        """Whether lines are neither kept nor shown to anybody, so that there is nothing to chain."""

    @property
    def place(self) -> str:
        """Where readers find the trace: a path, or the run and the store's address."""
        return self._sink.place

    @property
    def observed(self) -> bool:
        """Whether observers are told of events."""
        return self._watch is not None

    @property
    def ended(self) -> bool:
        """Whether the sealed last event is written."""
        return self._sealed and self._error is None

    @property
    def sign(self) -> Callable[[bytes], str] | None:
        """The function that signs with the trace's key; None for an unsigned trace."""
        return None if self._signer is None else self._signer.sign

    @property
    def seq(self) -> int:
        """The number of the last event added; the first is 1."""
        return self._seq

    @property
    def prev_hash(self) -> str:
        """The hash that the next event will contain."""
        return self._prev.decode("ascii")

    def encode(self, data: Mapping[str, object]) -> bytes:
        """Return compact JSON of ``data``, masked, in the order of its keys, for ``add(encoded=...)``."""
        return self.masked(data)[1]

    def masked(self, data: Mapping[str, object]) -> tuple[Mapping[str, object], bytes]:
        """Return ``data`` as it may be written, which is itself when there is nothing to mask, and its JSON."""
        try:
            text = encode_json(data)
            if self._masker is not None and self._masker.suspicious(text):
                data = self._masker.mask_event(data)
                text = encode_json(data)
        except (TypeError, ValueError, RecursionError) as error:
            raise EventDataError(
                f"an event cannot be written to {self.place} because its data cannot be encoded as JSON: {error}",
                hint="use strings, numbers, booleans, lists and maps only",
            ) from None
        body = to_bytes(text)
        if len(body) > _EVENT_LIMIT:
            raise TraceError(
                f"an event cannot be written to {self.place} because it would have {len(body) // MIB} MiB",
                hint="keep large values in files, and pass on their names",
            )
        return data, body

    def add(
        self,
        type: str,  # noqa: A002 - the event's field name
        data: Mapping[str, object],
        step_key: str | None = None,  # by place, too: names take a third longer, and this is in every event
        principal: Mapping[str, object] | None = None,
        encoded: bytes | None = None,
    ) -> int:
        """Chain one event into the buffer and return its number; ``encoded`` is the data masked and encoded."""
        body = self.encode(data) if encoded is None else encoded
        if self._unread:
            return self._count()
        last_key, last_principal, about = self._last
        if step_key is not last_key or principal is not last_principal:
            about = self._about(step_key, principal)
        head = self._heads.get(type) or self._head(type)
        with self._lock:
            if self._error is not None or self._sealed:
                raise self._refusal()
            # ``_line`` and ``_chain``, written out: four events of every step come through here.
            number = self._seq + 1
            if self._since <= (now := time_ns()) < self._until:
                part = (now - self._since) // 1000
                line = _LINE % (head, self._stamp, part, self._middle, number, about, body, self._prev)
            else:
                line = self._line(head, about, body)
            self._prev = hexlify(sha256(line).digest())
            self._seq = number
            self._buffer.append(line)
            self._waiting += len(line)
        if self._mode == "event":
            self.sync()
        elif self._waiting > _VALVE:
            self.commit()
        return number

    def tell(self, fn: Callable[[], None]) -> None:
        """Call ``fn`` in the thread of the observers, after they were told of everything that readers see now."""
        if self._watch is not None:
            self._watch.tell(fn)

    def close_run(self, type: str, data: Mapping[str, object]) -> Mapping[str, object]:  # noqa: A002 - the event's field name
        """Add the sealed last event (``run_complete``, ``run_suspended``), sync everything to disk; return its data.

        What is returned is masked and without the seal.
        """
        if type not in SEALED_EVENTS or not data or not data.keys().isdisjoint(SEAL_FIELDS):
            raise ValueError(f"{type} with fields {list(data)} cannot seal a trace")
        signer = self._signer
        if signer is not None:
            data = {**data, "signature_alg": signer.algorithm, "signing_key_id": signer.key_id}
        data, body = self.masked(data)
        if self._unread:
            self._count(last=True)
            return data
        with self._lock:
            if self._error is not None or self._sealed:
                raise self._refusal()
            line = self._line(self._head(type), b',"data":', body)
            digest = sha256(line).hexdigest()
            seal = f',"chain_hash":"{digest}"'
            if signer is not None:
                seal += f',"signature":"{signer.sign(digest.encode("ascii"))}"'
            # The seal is directly before the line's fixed end: }, the previous hash and the last brace.
            cut = len(line) - len(b'},"prev_hash":""}') - 64
            self._chain(line[:cut] + seal.encode("ascii") + line[cut:])
            self._sealed = True
        self.sync()
        try:
            self._sink.confirm()
        except OSError as error:
            raise self._fail(error, "found") from None
        return data

    def commit(self) -> None:
        """Write everything buffered to the sink as one group."""
        with self._io:  # also when nothing is buffered: another thread may still be writing our events
            with self._lock:
                lines, self._buffer, self._waiting = self._buffer, [], 0
                last = self._seq
            if self._error is not None:
                raise self._error
            if lines:
                self._write(lines, last)

    def sync(self) -> None:
        """Commit, and return when everything added so far is on disk."""
        self.commit()
        if self._mode == "none":
            return
        try:
            self._sink.sync()
        except OSError as error:
            raise self._fail(error, "synced to disk") from None

    def give_up(self, error: TraceError) -> None:
        """Write nothing more: another worker may write the run from now on. Adding an event raises the error."""
        self._error = self._error or error

    def close(self) -> None:
        """Write what is buffered and close the sink; observers get a few seconds to finish."""
        if self._closed:
            return
        try:
            if self._error is None:
                self.sync()
        finally:
            with self._io, self._lock:
                self._sealed = self._closed = True
                if self._error is not None and self._error.kind == ErrorKind.LEASE_LOST:
                    self._sink.abandon()
                else:
                    self._sink.close()
            if self._watch is not None:
                self._watch.close()

    def _head(self, type: str) -> bytes:  # noqa: A002 - the event's field name
        head = b'{"type":%s,"timestamp":"' % to_bytes(encode_basestring(type))
        self._heads[type] = head
        return head

    def _about(self, step_key: str | None, principal: Mapping[str, object] | None) -> bytes:
        """Return the fields between the number of an event and its data; the events of a step follow each other."""
        key = b"" if step_key is None else b',"step_key":' + to_bytes(encode_basestring(step_key))
        last, by = self._last_principal
        if principal is not last:  # most events of a run are the kernel's
            by = b"" if principal is None else self._principal(principal)
            self._last_principal = principal, by
        about = b'%b%b,"data":' % (key, by)
        self._last = step_key, principal, about
        return about

    def _principal(self, principal: Mapping[str, object]) -> bytes:
        facts = tuple(principal.items())
        known = self._people.get(facts)
        if known is None:
            shown = principal
            if self._masker is not None and principal.get("kind") != "system":  # names may come from templates
                shown = {name: value if name == "kind" else self._masker.mask(value) for name, value in facts}
            known = b',"principal":' + to_bytes(encode_json(shown))
            if len(self._people) < _PEOPLE:
                self._people[facts] = known
        return known

    def _line(self, head: bytes, about: bytes, body: bytes) -> bytes:
        if self._clock is None:  # thousands of events share the text of their second
            second, part = divmod(time_ns(), _BILLION)
            self._since, self._until = second * _BILLION, (second + 1) * _BILLION
            self._stamp = stamp = strftime(_SECOND, gmtime(second)).encode()
            part //= 1000
        else:
            now = self._clock().astimezone(UTC)
            stamp, part = now.strftime(_SECOND).encode(), now.microsecond
        return _LINE % (head, stamp, part, self._middle, self._seq + 1, about, body, self._prev)

    def _count(self, *, last: bool = False) -> int:
        """Return the number of an event that is not kept."""
        with self._lock:
            if self._error is not None or self._sealed:
                raise self._refusal()
            self._seq += 1
            self._sealed = last
            return self._seq

    def _chain(self, line: bytes) -> None:
        self._prev = hexlify(sha256(line).digest())
        self._seq += 1
        self._buffer.append(line)
        self._waiting += len(line)

    def _write(self, lines: list[bytes], last: int) -> None:
        if self._watch is not None:
            self._unseen.append((last, lines))
        try:
            self._sink.write(lines, last)
        except OSError as error:
            raise self._fail(error, "written") from None

    def _stored(self, last: int) -> None:
        """Show observers the groups that readers can see now; the sink calls it, from whatever thread stores them."""
        while self._unseen and self._unseen[0][0] <= last and self._watch is not None:
            self._watch.put(self._unseen.popleft()[1])

    def _fail(self, error: OSError, what: str) -> TraceError:
        self._error = sink_error(error, self.place, what)
        return self._error

    def _refusal(self) -> TraceError:
        return self._error or TraceError(f"the trace {self.place} is closed; no event can follow")


__all__ = ["EventDataError", "Sync", "TraceWriter"]
