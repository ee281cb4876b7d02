"""Open files that a runbook or a person named: regular files of a user, never files of the system."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from gert_core.kit.files import MIB, UnreadableError, open_file, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SYSTEM: Final = (Path("/proc"), Path("/sys"), Path("/dev"), Path("/etc/gert"))
"""Not files of a user: what is in them may be gert's own environment, with its keys."""
_KERNEL: Final = ("/proc", "/sys")
"""Where file systems of the kernel are mounted; they may be mounted elsewhere as well, and more than once."""
_MOUNTS: Final = Path("/proc/self/mountinfo")
_MOUNTS_LIMIT: Final = 16 * MIB
_KINDS: Final = frozenset(
    {b"proc", b"sysfs", b"cgroup", b"cgroup2", b"debugfs", b"tracefs", b"securityfs", b"configfs", b"bpf"}
)
"""File systems of the kernel, by the names that the list of mounts has."""


def open_user_file(
    path: Path, *, limit: int | None = None, follow: bool = True, apart: Sequence[Path] = ()
) -> BinaryIO:
    """Open a regular file that is neither of the system nor below one of the directories ``apart``.

    Links are followed only on request, and to a place that was checked. Raise ``FileNotFoundError`` when there is none,
    and ``UnreadableError`` otherwise; see ``open_file``.
    """
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UnreadableError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if any(one.is_relative_to(place) for one in (real, path.absolute()) for place in (*_SYSTEM, *apart)):
        raise _of_the_system(path, real)
    # The path is resolved: a link that takes its place in between is not followed.
    file = open_file(real, limit=limit) if follow else open_file(path, limit=limit, opened=_without_links)
    if os.fstat(file.fileno()).st_dev in _kernel_devices():
        file.close()
        raise _of_the_system(path, real)
    return file


def read_user_file(path: Path, *, limit: int, follow: bool = True, apart: Sequence[Path] = ()) -> bytes | None:
    """Return the bytes of a file as ``open_user_file`` opens it, ``None`` when there is none."""
    try:
        with open_user_file(path, limit=limit, follow=follow, apart=apart) as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(path, f"cannot be read: {error.strerror}") from None
    if len(data) > limit:  # it grew meanwhile
        raise UnreadableError(path, f"is larger than {limit} bytes")
    return data


def _without_links(path: Path) -> int:
    from gert_core.kit.linkless import open_without_links

    try:
        return open_without_links(path)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise UnreadableError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _of_the_system(path: Path, real: Path) -> UnreadableError:
    return UnreadableError(path, f"is {real}: files of the system and of gert itself are not read")


def _kernel_devices() -> set[int]:
    """Return the devices of the kernel's file systems, which have another one than the root directory if mounted."""
    found = set()
    for place in _KERNEL:
        try:
            found.add(os.stat(place).st_dev)  # noqa: PTH116 - a text is enough
        except OSError:
            continue
    return (found | set(_mounted())) - {os.stat("/").st_dev}  # noqa: PTH116


def _mounted() -> Iterator[int]:
    """Yield the devices of all file systems of the kernel: each mount of one may have a device of its own."""
    try:
        mounts = read_file(_MOUNTS, limit=_MOUNTS_LIMIT) or b""
    except UnreadableError:  # not Linux
        return
    for line in mounts.splitlines():
        facts, _, kind = line.partition(b" - ")
        if kind.partition(b" ")[0] in _KINDS:
            major, _, minor = facts.split()[2].partition(b":")
            yield os.makedev(int(major), int(minor))


__all__ = ["open_user_file", "read_user_file"]
