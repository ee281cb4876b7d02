"""Give out a run exactly as its store has it: the lines of its trace, checked on the way, and its blobs."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from contextlib import suppress
from hashlib import sha256
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, StoreError, UsageError
from gert_core.api.store_records import BLOB_LIMIT
from gert_core.kit.files import MIB, UnreadableError
from gert_core.runs.attachments import ATTACHMENTS
from gert_core.runs.cache import STATE
from gert_core.runs.kept_files import KeptFiles
from gert_core.runs.meta import META
from gert_core.runs.moved import as_copied
from gert_core.runs.outputs import DIRECTORY as OUTPUT
from gert_core.trace.reader import altered, decode, other_run, unreadable
from gert_core.trace.seals import AlteredError
from gert_core.trace.verify import Chain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gert_core.api.stores import StoredRun

TRACE: Final = "trace.jsonl"
"""The name of the lines in an archive, as in a directory of runs."""
_CONTROL: Final = "control/"
_LARGEST: Final = 1024 * MIB
"""No blob of more bytes is read, whatever the trace says about it."""


class Exported(Struct, frozen=True, kw_only=True):
    """What was given out of a run."""

    run_id: str
    events: int
    blobs: int = 0
    torn: int = 0
    """How many bytes behind the last event were left out, because they are not a complete one."""
    changed: tuple[str, ...] = ()
    """The files that steps kept and that are missing or have another content than was recorded."""


class CheckedLines:
    """The lines of a run, checked while they are read; it can be read again, from the beginning."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self.chain = Chain()
        """What is known of the lines that were read last."""
        self.files = KeptFiles()
        """What these lines say about files that the run keeps."""

    def __call__(self) -> Iterator[bytes]:
        """Yield the complete lines; raise ``TraceError`` when they are not as they were written."""
        run, self.chain, self.files = self._run, Chain(), KeptFiles()
        try:
            for line in self.chain.lines(iter(run.lines())):
                if line is self.chain.first and (found := decode(line).run_id) != run.run_id:
                    raise other_run(run.place, found, run.run_id)
                self.files.note(line)
                yield line
        except (AlteredError, ValueError) as error:
            raise altered(run.place, error) from None
        except StoreError:
            raise
        except OSError as error:
            raise unreadable(run.place, error) from None


def blob_names(run: StoredRun, *, output: bool = True) -> list[str]:
    """Return the names of the blobs that belong to a run; not its cache, and ``output`` of tools if that is wanted."""
    left_out = (_CONTROL,) if output else (_CONTROL, f"{OUTPUT}/")
    return [name for name in run.names() if name != STATE and not name.startswith(left_out)]


class CopiedBlobs:
    """Blobs of a run as a copy has them; they can be read again, from the beginning."""

    def __init__(self, run: StoredRun, names: list[str]) -> None:
        self._run, self._names = run, names
        self.digests: dict[str, str] = {}
        """The hash of each file that steps keep, of those that were read last."""

    def __call__(self) -> Iterator[tuple[str, bytes]]:
        """Yield names and contents; raise ``RunError`` for one that cannot be read, is too large or has more names."""
        self.digests = {}
        for name in self._names:
            info = self._run.info(name)
            blob = None if info is None else self._run.blob(name, limit=self._limit(name, info.size))
            if blob is None:  # it was deleted meanwhile, as old output is
                continue
            if blob.links > 1:
                raise RunError(
                    f"{name} of run {self._run.run_id} is a hard link: it may be a file of something else",
                    kind=ErrorKind.RUN_DIRECTORY,
                    hint="find out which file it is; if it is the run's own, put a copy in its place",
                )
            if name.startswith(f"{ATTACHMENTS}/"):
                self.digests[name] = sha256(blob.data).hexdigest()
            yield name, as_copied(blob.data) if name == META else blob.data

    def _limit(self, name: str, size: int) -> int:
        """Return how large a blob may be: one that was larger when it was kept as large as it was."""
        if not BLOB_LIMIT < size <= _LARGEST:
            return BLOB_LIMIT
        files = KeptFiles()
        for line in self._run.lines():
            files.note(line)
        return max(BLOB_LIMIT, files.size(name))


def export_archive(run: StoredRun, path: Path, *, output: bool = True) -> Exported:
    """Write a tar archive of a run: a directory of its id that can be put among other runs; the same in every store.

    The file is there as a whole, private to its user, or is as it was. Raise ``UsageError`` when it cannot be written.
    """
    lines, blobs, count = CheckedLines(run), CopiedBlobs(run, blob_names(run, output=output)), 0
    with _replaced(path) as target, TemporaryFile() as spool, tarfile.open(fileobj=target, mode="w") as archive:
        spool.writelines(lines())
        for name, data in blobs():
            _add(archive, f"{run.run_id}/{name}", io.BytesIO(data), len(data))
            count += 1
        size = spool.tell()
        spool.seek(0)
        _add(archive, f"{run.run_id}/{TRACE}", spool, size)
    changed = tuple(lines.files.changed(blobs.digests))
    return Exported(run_id=run.run_id, events=lines.chain.events, blobs=count, torn=lines.chain.torn, changed=changed)


def export_lines(run: StoredRun, path: Path) -> Exported:
    """Write the lines of a run into a file, which is there as a whole or is as it was."""
    lines = CheckedLines(run)
    with _replaced(path) as target:
        target.writelines(lines())
    return Exported(run_id=run.run_id, events=lines.chain.events, torn=lines.chain.torn)


def _add(archive: tarfile.TarFile, name: str, file: BinaryIO, size: int) -> None:
    """Add a file without what differs from store to store: time and owner."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    archive.addfile(info, file)


class _replaced:  # noqa: N801 - a context manager
    """A file beside ``path`` that takes its place when the block ends well."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._aside = path.with_name(f".~{path.name[:100]}-{os.urandom(4).hex()}")

    def __enter__(self) -> BinaryIO:
        """Open it; what is there already may be a file, and nothing else is given up for it."""
        with suppress(OSError):
            if not stat.S_ISREG(self._path.lstat().st_mode):
                raise UsageError(
                    f"{self._path} is there and is not a regular file; it stays as it is", hint="give another name"
                )
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._file: BinaryIO = os.fdopen(os.open(self._aside, flags, 0o600), "wb")
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from None
        return self._file

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        """Give it its name, or delete it."""
        try:
            with self._file:
                if error is None:
                    self._file.flush()
                    os.fsync(self._file.fileno())
                    self._aside.replace(self._path)
        except OSError as fault:
            raise UsageError(f"{self._path} cannot be written: {fault.strerror}") from None
        finally:
            with suppress(OSError):
                self._aside.unlink()
        if isinstance(error, OSError) and not isinstance(error, (StoreError, UnreadableError)):
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from None


__all__ = ["CheckedLines", "CopiedBlobs", "Exported", "blob_names", "export_archive", "export_lines"]
