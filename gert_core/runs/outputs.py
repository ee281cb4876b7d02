"""What tools that take long write, kept with the run while they write it: masked, bounded, not synced."""

from __future__ import annotations

import threading
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from msgspec import Struct

from gert_core.api.errors import RunError, StoreError
from gert_core.kit.files import MIB, UnreadableError
from gert_core.secrets.streaming import MaskedStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gert_core.api.stores import StoredRun
    from gert_core.secrets import Masker

DIRECTORY: Final = "output"
"""Where these blobs are."""
CALL_LIMIT: Final = 10 * MIB
RUN_LIMIT: Final = 256 * MIB
_NAME: Final = 100
_DIGEST: Final = 12
_DIGITS: Final = 9
"""How long the number of an attempt or a call is at most; a planted one may have any length."""
_SUFFIX: Final = ".log"


class OutputFiles:
    """The blobs of one run that is being executed; the oldest one of a call that has ended makes room for others."""

    def __init__(self, run: StoredRun, masker: Masker, warn: Callable[[str], None]) -> None:
        self._run = run
        self.masker = masker
        self._warn = warn
        self._lock = threading.Lock()
        self._total = 0
        self._ended: dict[str, int] | None = None
        """The sizes of the blobs of calls that have ended, the oldest first."""
        self._failed = False

    def call(self, key: str, *, attempt: int, number: int) -> CallOutput:
        """Return where the output of one call goes; nothing is made before there is some."""
        return CallOutput(self, f"{DIRECTORY}/{file_name(key, attempt=attempt, number=number)}")

    def create(self, name: str) -> None:
        """Make room for the blob of a call; one of the same name is from before a retry."""
        with self._lock:
            if self._ended is None:
                found = [(self._run.info(known), known) for known in self._run.names(f"{DIRECTORY}/")]
                known_ones = sorted((info.written or "", known, info.size) for info, known in found if info is not None)
                self._ended = {known: size for _, known, size in known_ones}
                self._total = sum(self._ended.values())
            self._total -= self._ended.pop(name, 0)
            self._run.delete(name)

    def append(self, name: str, data: bytes) -> None:
        """Write what comes next, and make room for it."""
        with self._lock:
            self._total += len(data)
            while self._total > RUN_LIMIT and self._ended:
                oldest = next(iter(self._ended))
                self._total -= self._ended.pop(oldest)
                self._run.delete(oldest)
        self._run.append(name, data)

    def end(self, name: str, size: int) -> None:
        """Take note that the call of a blob has ended."""
        with self._lock:
            if self._ended is not None:
                self._ended[name] = size

    def fail(self, reason: str) -> None:
        """Warn once that output is not kept; the run continues."""
        with self._lock:
            failed, self._failed = self._failed, True
        if not failed:
            self._warn(f"what tools write is not kept in {self._run.where(DIRECTORY)}: {reason}")


class CallOutput:
    """The output of one call, written as it comes."""

    def __init__(self, files: OutputFiles, name: str) -> None:
        self._files = files
        self._name = name
        self._size = 0
        self._lost = False
        self._streams = MaskedStream(files.masker), MaskedStream(files.masker)

    def write(self, stream: int, data: bytes) -> None:
        """Write what is certain not to be a part of a secret."""
        self._append(self._streams[stream].feed(data))

    def close(self) -> None:
        """Write the rest."""
        for stream in self._streams:
            self._append(stream.feed(b"", final=True))
        if self._size:
            self._files.end(self._name, self._size)

    def _append(self, text: str) -> None:
        data = text.encode("utf-8", "replace")[: CALL_LIMIT - self._size]
        if not data or self._lost:
            return
        try:
            if not self._size:
                self._files.create(self._name)
            self._files.append(self._name, data)
            self._size += len(data)
        except StoreError as error:
            self._lost = True
            self._files.fail(str(error.strerror))
        except RunError as error:
            self._lost = True
            self._files.fail(error.message)


class KeptOutput(Struct, frozen=True, kw_only=True):
    """The blob of one call."""

    key: str
    attempt: int
    number: int
    name: str
    """The blob of the call."""


def file_name(key: str, *, attempt: int, number: int = 1) -> str:
    """Return the name of the file of a call, which is the n-th of an attempt."""
    call = "" if number <= 1 else f".{number}"
    return f"{quote(key, safe='')[:_NAME]}-{_digest(key)}.{attempt}{call}{_SUFFIX}"


def kept_outputs(run: StoredRun, keys: Iterable[str]) -> list[KeptOutput]:
    """Return the blobs of the calls of these step keys, in the order of the keys."""
    by_digest = {_digest(key): key for key in keys}
    order = {key: index for index, key in enumerate(by_digest.values())}
    found = []
    names: list[str] = []
    with suppress(OSError, UnreadableError):
        names = run.names(f"{DIRECTORY}/")
    for name in names:
        digest, _, rest = name.removesuffix(_SUFFIX).rpartition("-")[2].partition(".")
        numbers = rest.split(".")
        if digest in by_digest and all(part.isdecimal() and len(part) <= _DIGITS for part in numbers):
            attempt, number = (*map(int, numbers), 1)[:2]
            found.append(KeptOutput(key=by_digest[digest], attempt=attempt, number=number, name=name))
    return sorted(found, key=lambda one: (order[one.key], one.attempt, one.number))


def read_output(run: StoredRun, kept: KeptOutput) -> str:
    """Return what a call wrote."""
    return (run.get(kept.name, limit=2 * CALL_LIMIT) or b"").decode("utf-8", "replace")


def last_lines(run: StoredRun, keys: Iterable[str]) -> dict[str, str]:
    """Return the last line that each of these steps wrote, by step key, where one is kept."""
    found: dict[str, str] = {}
    for kept in kept_outputs(run, keys):
        with suppress(UnreadableError):
            if rows := read_output(run, kept).rstrip().splitlines():
                found[kept.key] = rows[-1]
    return found


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:_DIGEST]


__all__ = ["DIRECTORY", "KeptOutput", "OutputFiles", "file_name", "kept_outputs", "last_lines", "read_output"]
