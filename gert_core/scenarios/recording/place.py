"""Where a recording is kept: a directory that must be new, written beside its place and renamed when it is complete."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from errno import EACCES, ENOTDIR
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import UsageError
from gert_core.kit.durable import replace_file, sync_directory
from gert_core.scenarios.find import scenarios_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_READABLE: Final = 0o644


def target_of(name: str, runbook: Path, *, base: Path | None = None) -> Path:
    """Return the directory of a recording: a bare name is one of the runbook's scenarios, all else is a path."""
    if name and name == os.path.basename(name) and name not in (os.curdir, os.pardir):  # noqa: PTH119 - as typed
        return scenarios_directory(runbook) / name
    return Path(name) if base is None else base / name


def check_target(target: Path) -> Path:
    """Return the directory; raise ``UsageError`` unless it is absent or empty."""
    hint = "choose another name or directory; gert never overwrites a scenario"
    if target.name.startswith(".") or not target.name:
        raise UsageError(f"{str(target)!r} cannot be the directory of a scenario", hint="give it a name without dots")
    try:
        if not os.path.lexists(target):
            _check_parent(target)
            return target
        if target.is_symlink() or not target.is_dir():
            raise UsageError(f"{target} exists and is not a directory", file=str(target), hint=hint)
        if any(target.iterdir()):
            raise UsageError(f"{target} exists and is not empty", file=str(target), hint=hint)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise UsageError(f"{str(target)!r} cannot be written: {told}", hint=hint) from None
    return target


def _check_parent(target: Path) -> None:
    """Raise ``OSError`` when a directory cannot be made, because what is around it is a file or not writable."""
    around = next(parent for parent in target.absolute().parents if os.path.lexists(parent))
    if not around.is_dir():
        raise NotADirectoryError(ENOTDIR, f"{around} is not a directory")
    if not os.access(around, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, f"{around} is not writable")


def write_directory(target: Path, files: Mapping[str, bytes | Iterable[bytes]]) -> None:
    """Write the files of a recording; all of them are there, or nothing is. Raise ``OSError``."""
    made = _make_parents(target.parent)
    beside = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    try:
        beside.mkdir()
        for name, data in files.items():
            replace_file(beside / name, data, mode=_READABLE)
        sync_directory(beside)
        beside.rename(target)  # takes the place of an empty directory, and of nothing else
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        for directory in reversed(made):
            try:
                directory.rmdir()
            except OSError:
                break
        raise
    with suppress(OSError):  # it is there; a power loss may take it away
        sync_directory(target.parent)


def _make_parents(parent: Path) -> list[Path]:
    """Make the directories around a recording; return those that did not exist."""
    made = []
    for directory in reversed([one for one in (parent, *parent.parents) if not one.exists()]):
        directory.mkdir(exist_ok=True)
        made.append(directory)
    return made


__all__ = ["check_target", "target_of", "write_directory"]
