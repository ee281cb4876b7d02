"""Run directories: trace, attachments, tickets, state cache and lock of a run."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError, UsageError
from gert_core.kit.durable import sync_directory
from gert_core.kit.files import MIB, UnreadableError, decode_record, read_file
from gert_core.kit.owners import Owners

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.documents.project import Project
    from gert_core.runs.state import RunState

DEFAULT_DIRECTORY: Final = "runs"
_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_NOFOLLOW: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STATE_LIMIT: Final = 256 * MIB
"""The largest cache that is read; a longer run is folded from its trace each time."""


def new_run_id(runbook_name: str, *, now: datetime | None = None) -> str:
    """Return a new id ``<UTC time>-<runbook>-<random>``, sortable by time and safe as a directory name."""
    when = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    slug = re.sub(r"[^a-z0-9]+", "-", runbook_name.lower()).strip("-")[:60].rstrip("-") or "runbook"
    return f"{when}-{slug}-{os.urandom(4).hex()}"


def runs_root(project: Project | None, *, cwd: Path | None = None) -> Path:
    """Return where runs are kept: ``runs_dir`` of the project, else ``runs`` in the current directory."""
    if project is None:
        return (cwd or Path.cwd()) / DEFAULT_DIRECTORY
    return Path(project.root, project.model.runs_dir or DEFAULT_DIRECTORY)


def is_run_id(name: str) -> bool:
    """Return whether a name can be a run's id, and so the name of its directory."""
    return _RUN_ID.fullmatch(name) is not None


def check_run_id(run_id: str) -> str:
    """Return the id if it is valid, else raise ``UsageError``; it becomes part of a path."""
    if not is_run_id(run_id):
        message = f"{run_id!r} is not a valid run id"
        raise UsageError(message, kind=ErrorKind.RUN_ID, hint="gert runs list shows the runs")
    return run_id


class RunDirectory:
    """One run's directory: mode 0700, files 0600, no symbolic links followed.

    It holds ``trace.jsonl`` (or ``meta.json`` records its path), ``state.json`` (a cache), ``attachments/``,
    ``tickets/``, ``lock`` and, while programs run, ``children``.
    """

    __slots__ = ("_owners", "path", "run_id")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = path.name
        self._owners: Owners | None = None

    @classmethod
    def create(cls, root: Path, run_id: str) -> RunDirectory:
        """Create the directory of a new run, synced to disk before anything is written into it."""
        path = root / check_run_id(run_id)
        try:
            if not root.is_dir():
                root.mkdir(mode=0o700, parents=True, exist_ok=True)
                sync_directory(root.parent)
            path.mkdir(mode=0o700)
            sync_directory(root)
        except OSError as error:
            raise RunError(
                f"the run directory {path} cannot be created: {error.strerror}",
                kind=ErrorKind.RUN_DIRECTORY,
                hint="work in a writable directory, or set runs_dir in gert-project.yaml",
            ) from None
        return cls(path)

    @classmethod
    def open(cls, root: Path, run_id: str) -> RunDirectory:
        """Open the directory of an existing run."""
        path = root / check_run_id(run_id)
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        except OSError as error:
            raise RunError(
                f"the run directory {path} cannot be read: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY
            ) from None
        if stat.S_ISLNK(mode):
            raise RunError(f"the run directory {path} is a symbolic link", kind=ErrorKind.RUN_DIRECTORY)
        if not stat.S_ISDIR(mode):
            raise UsageError(
                f"there is no run {run_id} in {root}",
                kind=ErrorKind.RUN_NOT_FOUND,
                hint="gert runs list shows the runs",
            )
        return cls(path)

    @property
    def owners(self) -> Owners:
        """Whose files are believed here; raise ``UnreadableError`` when there is no such directory."""
        if self._owners is None:
            self._owners = Owners.of(self.path)
        return self._owners

    @property
    def trace(self) -> Path:
        """Return the trace: in the directory unless ``meta.json`` records another path."""
        return self._trace(self.meta())

    def _trace(self, meta: Mapping[str, object]) -> Path:
        elsewhere = meta.get("trace")
        if not isinstance(elsewhere, str):
            return self.path / "trace.jsonl"
        path = Path(elsewhere)
        # A path given by the user may be a link; in the directory itself links are not followed.
        return path.resolve() if os.path.islink(path) else path  # noqa: PTH114 - opening it reports errors

    def find_trace(self, meta: Mapping[str, object]) -> Path:
        """Return the trace of a run that was started; without ``meta.json`` a trace elsewhere cannot be found."""
        path = self._trace(meta)
        if not meta and not os.path.lexists(path) and os.access(self.path, os.X_OK):
            raise RunError(
                f"run {self.run_id} has no trace.jsonl, and the meta.json that names a trace elsewhere is missing",
                kind=ErrorKind.RUN_DIRECTORY,
                hint=f"restore meta.json, or move the trace to {path}",
            )
        return path

    @property
    def state_file(self) -> Path:
        """The cache of the fold."""
        return self.path / "state.json"

    @property
    def attachments(self) -> Path:
        """The directory for evidence files, created on first use."""
        return self._directory("attachments")

    @property
    def tickets(self) -> Path:
        """The directory for approval tickets, created on first use."""
        return self._directory("tickets")

    def meta(self) -> dict[str, object]:
        """Return what ``write_meta`` recorded; empty when there is none."""
        try:
            raw = self.read("meta.json", limit=MIB)
            return decode_record(raw, dict[str, object], path=self.path / "meta.json") if raw else {}
        except UnreadableError as error:
            error.hint = "restore the file"
            raise

    def write_meta(
        self, *, runbook: Path, trace: Path | None = None, extra: Mapping[str, object] | None = None
    ) -> None:
        """Record the runbook's path and, if the trace is elsewhere, its path."""
        meta: dict[str, object] = {
            "run_id": self.run_id,
            "runbook_path": str(runbook.absolute()),
            **(extra or {}),
        }
        if trace is not None:
            meta["trace"] = str(trace.absolute())
        self.write("meta.json", json.dumps(meta, indent=2, ensure_ascii=False).encode() + b"\n")

    def read(self, name: str, *, limit: int = _STATE_LIMIT) -> bytes | None:
        """Return the bytes of a file directly in the directory, ``None`` when it is missing."""
        return read_file(self.path / name, limit=limit, owners=self.owners)

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Replace a file atomically: after a crash it is the old one or the new one."""
        temporary = self.path / f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o600)
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(data)
                    file.flush()
                    if durable:
                        os.fsync(fd)
                temporary.replace(self.path / name)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            if durable:
                sync_directory(self.path)
        except OSError as error:
            raise RunError(
                f"{self.path / name} cannot be written: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY
            ) from None

    def state(self, trace: Path | None = None) -> RunState:
        """Return the fold of the trace, through its cache; a cache that cannot be read or written is ignored."""
        from gert_core.runs.cache import load_state

        def store(data: bytes) -> None:
            with contextlib.suppress(RunError):
                self.write("state.json", data, durable=False)

        trace = trace or self.find_trace(self.meta())
        cached = None
        with contextlib.suppress(UnreadableError):
            cached = self.read("state.json")
        unwritten = self.owners.foreign or self.locked()
        return load_state(
            trace, run_id=self.run_id, owners=self.owners, cached=cached, store=None if unwritten else store
        )

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run; raise ``RunError`` with the holding process when it is locked already.

        The operating system releases the lock when the process ends, however it ends.
        """
        try:
            fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
        except OSError as error:
            raise RunError(f"{self.path} cannot be locked: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY) from None
        try:
            self._check_lock(fd)
            if not _acquire(fd):
                holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
                raise RunError(
                    f"run {self.run_id} is being executed by process {holder or 'unknown'}",
                    kind=ErrorKind.RUN_LOCKED,
                    hint="wait until it has finished",
                )
            # The process id is only for messages; the lock itself works on a full disk too.
            with contextlib.suppress(OSError):
                if os.fstat(fd).st_nlink == 1:  # else another name may be somebody's file
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, f"{os.getpid()}\n".encode("ascii"), 0)
            yield
        finally:
            os.close(fd)

    def locked(self) -> bool:
        """Return whether a process is executing this run right now."""
        try:
            fd = os.open(self.path / "lock", os.O_RDONLY | _NOFOLLOW)
        except OSError:
            return False
        try:
            self._check_lock(fd)
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(fd)
        return False

    def _check_lock(self, fd: int) -> None:
        path = self.path / "lock"
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise UnreadableError(path, "is not a regular file")
        self.owners.check(fd, path)

    def _directory(self, name: str) -> Path:
        path = self.path / name
        if path.is_symlink():
            raise RunError(f"{path} is a symbolic link", kind=ErrorKind.RUN_DIRECTORY)
        try:
            path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path} cannot be created: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY) from None
        return path


def _acquire(fd: int) -> bool:
    """Try to lock for a moment; a process that only checks whether the run is locked holds it for microseconds."""
    for pause in (0.005, 0.02, 0.05, 0):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)
        except OSError as error:
            raise RunError(f"the run cannot be locked: {error.strerror}", kind=ErrorKind.RUN_DIRECTORY) from None
        else:
            return True
    return False


__all__ = ["RunDirectory", "check_run_id", "is_run_id", "new_run_id", "runs_root"]
