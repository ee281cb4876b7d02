"""Run directories: where a run keeps its trace, attachments and tickets, and who may work on it."""

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
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api.errors import RunError, UsageError
from gert_core.api.results import RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gert_core.documents.project import Project
    from gert_core.runs.state import RunState
    from gert_core.trace.reader import Recovered

DEFAULT_DIRECTORY: Final = "runs"
_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_NOFOLLOW: Final = os.O_NOFOLLOW | os.O_CLOEXEC


def new_run_id(runbook_name: str, *, now: datetime | None = None) -> str:
    """``<UTC time>-<runbook>-<random>``, sortable by time and safe as a directory name."""
    when = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    slug = re.sub(r"[^a-z0-9]+", "-", runbook_name.lower()).strip("-")[:60].rstrip("-") or "runbook"
    return f"{when}-{slug}-{os.urandom(4).hex()}"


def runs_root(project: Project | None, *, cwd: Path | None = None) -> Path:
    """Where runs are kept: ``runs_dir`` of the project, else ``runs`` in the current directory."""
    if project is None:
        return (cwd or Path.cwd()) / DEFAULT_DIRECTORY
    return Path(project.root, project.model.runs_dir or DEFAULT_DIRECTORY)


def check_run_id(run_id: str) -> str:
    """The id itself if it can be one; it becomes a path, so nothing else gets through."""
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"{run_id!r} is no run id", kind="run_id", hint="gert runs list shows the runs there are")
    return run_id


class RunDirectory:
    """One run's directory: mode 0700, files 0600, no symbolic links followed.

    It holds ``trace.jsonl`` (or ``meta.json`` records its path), ``state.json`` (a cache), ``attachments/``,
    ``tickets/`` and ``lock``.
    """

    __slots__ = ("path", "run_id")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = path.name

    @classmethod
    def create(cls, root: Path, run_id: str) -> RunDirectory:
        """Make the directory of a new run, on disk before anything is written into it."""
        path = root / check_run_id(run_id)
        try:
            if not root.is_dir():
                root.mkdir(mode=0o700, parents=True, exist_ok=True)
                _sync_directory(root.parent)
            path.mkdir(mode=0o700)
            _sync_directory(root)
        except OSError as error:
            raise RunError(
                f"the run directory {path} cannot be made: {error.strerror}",
                kind="run_directory",
                hint="work in a directory that can be written, or set runs_dir in gert-project.yaml",
            ) from None
        return cls(path)

    @classmethod
    def open(cls, root: Path, run_id: str) -> RunDirectory:
        """The directory of an existing run."""
        path = root / check_run_id(run_id)
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        except OSError as error:
            raise RunError(f"the run directory {path} cannot be read: {error.strerror}", kind="run_directory") from None
        if stat.S_ISLNK(mode):
            raise RunError(f"the run directory {path} is a symbolic link", kind="run_directory")
        if not stat.S_ISDIR(mode):
            raise UsageError(
                f"there is no run {run_id} in {root}",
                kind="run_not_found",
                hint="gert runs list shows the runs",
            )
        return cls(path)

    @property
    def trace(self) -> Path:
        """The trace: in the directory unless ``meta.json`` records another path."""
        elsewhere = self.meta().get("trace")
        path = Path(elsewhere) if isinstance(elsewhere, str) else self.path / "trace.jsonl"
        try:
            # A person may have chosen a link for the trace; in the directory itself there is none.
            mode = path.stat(follow_symlinks=isinstance(elsewhere, str)).st_mode
        except (OSError, ValueError):
            return path  # whoever opens it says what is wrong
        if not stat.S_ISREG(mode):
            # A pipe would be waited for without end.
            raise RunError(f"the trace {path} is not a regular file", kind="run_directory", hint="restore the file")
        return path

    @property
    def state_file(self) -> Path:
        """The cache of the fold."""
        return self.path / "state.json"

    @property
    def attachments(self) -> Path:
        """The directory for evidence files, made on first use."""
        return self._directory("attachments")

    @property
    def tickets(self) -> Path:
        """The directory for approval tickets, made on first use."""
        return self._directory("tickets")

    def meta(self) -> dict[str, Any]:
        """What ``write_meta`` recorded; empty when there is none."""
        raw = self.read("meta.json")
        try:
            value = json.loads(raw) if raw else {}
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise RunError(f"{self.path / 'meta.json'} is damaged", kind="run_directory", hint="restore the file")
        return value

    def write_meta(self, *, runbook: Path, trace: Path | None = None, extra: Mapping[str, Any] | None = None) -> None:
        """Record the runbook's path and, if the trace is elsewhere, its path."""
        meta: dict[str, Any] = {
            "run_id": self.run_id,
            "runbook_path": str(runbook.absolute()),
            **(extra or {}),
        }
        if trace is not None:
            meta["trace"] = str(trace.absolute())
        self.write("meta.json", json.dumps(meta, indent=2, ensure_ascii=False).encode() + b"\n")

    def read(self, name: str) -> bytes | None:
        """The bytes of a file directly in the directory, ``None`` when it is missing."""
        try:
            fd = os.open(self.path / name, os.O_RDONLY | _NOFOLLOW)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunError(f"{self.path / name} cannot be read: {error.strerror}", kind="run_directory") from None
        with os.fdopen(fd, "rb") as file:
            return file.read()

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Replace a file as a whole: after a crash it is the old one or the new one."""
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
                _sync_directory(self.path)
        except OSError as error:
            raise RunError(f"{self.path / name} cannot be written: {error.strerror}", kind="run_directory") from None

    def state(self) -> RunState:
        """The fold of the trace, through its cache; a cache that cannot be written is done without."""
        from gert_core.runs.cache import load_state

        def store(data: bytes) -> None:
            with contextlib.suppress(RunError):
                self.write("state.json", data, durable=False)

        return load_state(self.trace, cached=self.read("state.json"), store=None if self.locked() else store)

    def recover(self) -> Recovered:
        """Cut what a crash left behind the last whole event of the trace; it is kept in ``trace.torn``."""
        from gert_core.trace.reader import recover

        return recover(self.trace, aside=self.path / "trace.torn")

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run; a second holder is refused and told which process has it.

        The operating system ends the lock with the process, however that dies.
        """
        try:
            fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
        except OSError as error:
            raise RunError(f"{self.path} cannot be locked: {error.strerror}", kind="run_directory") from None
        try:
            if not _acquire(fd):
                holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
                raise RunError(
                    f"run {self.run_id} is being executed by process {holder or 'unknown'}",
                    kind="run_locked",
                    hint="wait until it has finished",
                )
            # Who holds it is a courtesy to others; the lock itself needs no space on the disk.
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{os.getpid()}\n".encode("ascii"), 0)
            yield
        finally:
            os.close(fd)

    def locked(self) -> bool:
        """Whether a process is executing this run right now."""
        try:
            fd = os.open(self.path / "lock", os.O_RDONLY | _NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(fd)
        return False

    def _directory(self, name: str) -> Path:
        path = self.path / name
        if path.is_symlink():
            raise RunError(f"{path} is a symbolic link", kind="run_directory")
        try:
            path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path} cannot be made: {error.strerror}", kind="run_directory") from None
        return path


class RunInfo(Struct, frozen=True, kw_only=True):
    """One line of ``gert runs list``; ``state`` is ``None`` when ``problem`` says why it cannot be known."""

    directory: RunDirectory
    state: RunState | None = None
    live: bool = False
    """Whether a process is executing it now."""
    problem: str | None = None

    @property
    def status(self) -> str:
        """The run's status; a run nobody executes that never ended is ``interrupted``."""
        if self.state is None:
            return "unreadable"
        return "interrupted" if self.state.status == RunStatus.RUNNING and not self.live else self.state.status


def run_info(directory: RunDirectory) -> RunInfo:
    """What can be said about a run, whatever state its files are in."""
    live = directory.locked()
    try:
        state = directory.state()
    except RunError as error:
        return RunInfo(directory=directory, live=live, problem=error.message)
    return RunInfo(directory=directory, state=state, live=live)


def list_runs(root: Path) -> Iterator[RunInfo]:
    """The runs kept under ``root``, the newest first, each folded when its turn comes."""
    try:
        names = [entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    known = [(*_age(root / name), name) for name in names if _RUN_ID.fullmatch(name)]
    for *_, name in sorted(known, reverse=True):
        yield run_info(RunDirectory(root / name))


def _age(path: Path) -> tuple[str, int]:
    """What runs are ordered by: the second in their name, then when their first file was written."""
    try:
        return path.name.partition("-")[0], os.lstat(path / "meta.json").st_mtime_ns
    except OSError:
        return path.name.partition("-")[0], 0


def _acquire(fd: int) -> bool:
    """Try for a moment: somebody who only asks whether the run is locked holds it for microseconds."""
    for pause in (0.005, 0.02, 0.05, 0):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(pause)
        except OSError as error:
            raise RunError(f"the run cannot be locked: {error.strerror}", kind="run_directory") from None
        else:
            return True
    return False


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


__all__ = ["RunDirectory", "RunInfo", "check_run_id", "list_runs", "new_run_id", "run_info", "runs_root"]
