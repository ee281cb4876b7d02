"""What tools that take long write, kept in files of the run while they write it: masked, bounded, not synced."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from msgspec import Struct

from gert_core.kit.files import MIB, UnreadableError, list_names, read_file
from gert_core.secrets.streaming import MaskedStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from gert_core.kit.owners import Owners
    from gert_core.secrets import Masker

DIRECTORY: Final = "output"
"""The directory of these files in that of the run."""
CALL_LIMIT: Final = 10 * MIB
RUN_LIMIT: Final = 256 * MIB
_NAME: Final = 100
_DIGEST: Final = 12
_SUFFIX: Final = ".log"
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class OutputFiles:
    """The files of one run that is being executed; the oldest one of a call that has ended makes room for others."""

    def __init__(self, directory: Path, masker: Masker, warn: Callable[[str], None]) -> None:
        self.directory = directory
        self.masker = masker
        self._warn = warn
        self._lock = threading.Lock()
        self._total = 0
        self._ended: dict[Path, int] | None = None
        """The sizes of the files of calls that have ended, the oldest first."""
        self._failed = False

    def call(self, key: str, *, attempt: int, number: int) -> CallOutput:
        """Return where the output of one call goes; nothing is made before there is some."""
        return CallOutput(self, self.directory / file_name(key, attempt=attempt, number=number))

    def create(self, path: Path) -> int:
        """Create the file of a call and return its descriptor; one of the same name is from before a retry."""
        with self._lock:
            with suppress(FileExistsError):
                self.directory.mkdir(mode=0o700)
            place = os.open(self.directory, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if self._ended is None:
                    found = sorted((file.lstat().st_mtime_ns, file) for file in self.directory.glob(f"*{_SUFFIX}"))
                    self._ended = {file: file.lstat().st_size for _, file in found}
                    self._total = sum(self._ended.values())
                self._total -= self._ended.pop(path, 0)
                with suppress(FileNotFoundError):
                    os.unlink(path.name, dir_fd=place)
                return os.open(path.name, _FLAGS, 0o600, dir_fd=place)
            finally:
                os.close(place)

    def grow(self, size: int) -> None:
        """Make room for what is written next."""
        with self._lock:
            self._total += size
            while self._total > RUN_LIMIT and self._ended:
                oldest = next(iter(self._ended))
                self._total -= self._ended.pop(oldest)
                oldest.unlink(missing_ok=True)

    def end(self, path: Path, size: int) -> None:
        """Take note that the call of a file has ended."""
        with self._lock:
            if self._ended is not None:
                self._ended[path] = size

    def fail(self, error: OSError) -> None:
        """Warn once that output is not kept; the run continues."""
        with self._lock:
            failed, self._failed = self._failed, True
        if not failed:
            self._warn(f"what tools write is not kept in {self.directory}: {error.strerror}")


class CallOutput:
    """The output of one call, written as it comes."""

    def __init__(self, files: OutputFiles, path: Path) -> None:
        self._files = files
        self._path = path
        self._fd = -1
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
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._files.end(self._path, self._size)

    def _append(self, text: str) -> None:
        data = text.encode("utf-8", "replace")[: CALL_LIMIT - self._size]
        if not data or self._lost:
            return
        try:
            if self._fd < 0:
                self._fd = self._files.create(self._path)
            self._files.grow(len(data))
            self._size += len(data)
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            self._lost = True
            self._files.fail(error)


class KeptOutput(Struct, frozen=True, kw_only=True):
    """The file of one call."""

    key: str
    attempt: int
    number: int
    path: Path


def file_name(key: str, *, attempt: int, number: int = 1) -> str:
    """Return the name of the file of a call, which is the n-th of an attempt."""
    call = "" if number <= 1 else f".{number}"
    return f"{quote(key, safe='')[:_NAME]}-{_digest(key)}.{attempt}{call}{_SUFFIX}"


def kept_outputs(directory: Path, keys: Iterable[str]) -> list[KeptOutput]:
    """Return the files of the calls of these step keys, in the order of the keys."""
    by_digest = {_digest(key): key for key in keys}
    order = {key: index for index, key in enumerate(by_digest.values())}
    found = []
    names: list[str] = []
    with suppress(OSError, UnreadableError):
        names = list_names(directory / DIRECTORY)
    for name in names:
        digest, _, rest = name.removesuffix(_SUFFIX).rpartition("-")[2].partition(".")
        numbers = rest.split(".")
        if digest in by_digest and all(part.isdecimal() for part in numbers):
            attempt, number = (*map(int, numbers), 1)[:2]
            path = directory / DIRECTORY / name
            found.append(KeptOutput(key=by_digest[digest], attempt=attempt, number=number, path=path))
    return sorted(found, key=lambda one: (order[one.key], one.attempt, one.number))


def read_output(kept: KeptOutput, *, owners: Owners | None = None) -> str:
    """Return what a call wrote."""
    return (read_file(kept.path, limit=2 * CALL_LIMIT, owners=owners) or b"").decode("utf-8", "replace")


def last_lines(directory: Path, keys: Iterable[str], *, owners: Owners | None = None) -> dict[str, str]:
    """Return the last line that each of these steps wrote, by step key, where one is kept."""
    found: dict[str, str] = {}
    for kept in kept_outputs(directory, keys):
        with suppress(UnreadableError):
            if rows := read_output(kept, owners=owners).rstrip().splitlines():
                found[kept.key] = rows[-1]
    return found


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:_DIGEST]


__all__ = ["DIRECTORY", "KeptOutput", "OutputFiles", "file_name", "kept_outputs", "last_lines", "read_output"]
