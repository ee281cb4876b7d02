"""Share files with the user whose run they are for, by the group of its directory."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path

_GROUP_READ = 0o040
_GROUP_ALL = 0o2070


class Sharing(Struct, frozen=True, kw_only=True):
    """Who must be able to read what is written into a directory: its owner, and its group if that may read it.

    Files of the owner stay private (0600) in a private directory. Who writes as another user (``sudo gert approve``, an
    approver in a directory shared by a group) gives the file to the group of the directory, and is refused where the
    owner could not read it then.
    """

    directory: Path
    owner: int
    group: int
    mode: int

    @classmethod
    def of(cls, directory: Path) -> Sharing:
        """Return who shares a directory; raise ``RunError`` when it is none, or is behind a link."""
        try:
            info = directory.lstat()
        except OSError as error:
            raise RunError(f"{directory} cannot be read: {error.strerror}", file=str(directory)) from None
        if not stat.S_ISDIR(info.st_mode):
            raise RunError(f"{directory} is not a directory; tickets are not stored behind links", file=str(directory))
        return cls(directory=directory, owner=info.st_uid, group=info.st_gid, mode=stat.S_IMODE(info.st_mode))

    @property
    def foreign(self) -> bool:
        """Whether this process writes as another user than the directory's owner."""
        return os.geteuid() != self.owner

    def give(self, descriptor: int) -> None:
        """Let the others read a file that was just created with mode 0600; raise ``RunError`` when they could not."""
        if self.foreign or self.mode & _GROUP_READ:
            self._give(descriptor, 0o600 | _GROUP_READ)

    def make_directory(self, path: Path) -> None:
        """Create a directory below, unless it exists, in which the same users can read and write."""
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            Sharing.of(path)
            return
        except OSError as error:
            raise RunError(f"{path} cannot be created: {error.strerror}", file=str(path)) from None
        shared = _GROUP_ALL if self.foreign else self.mode & _GROUP_ALL
        if not shared:
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._give(descriptor, 0o700 | shared)
        except BaseException:
            path.rmdir()
            raise
        finally:
            os.close(descriptor)

    def _give(self, descriptor: int, mode: int) -> None:
        if self.foreign and (reason := self._unreadable()):
            raise self._refused(reason)
        try:
            if os.fstat(descriptor).st_gid != self.group:
                os.fchown(descriptor, -1, self.group)
            os.fchmod(descriptor, mode)
        except OSError as error:
            raise self._refused(
                f"its group {_group_name(self.group)} cannot be given the file: {error.strerror}"
            ) from None

    def _unreadable(self) -> str | None:
        """Return why the owner is not in the group of the directory; ``None`` when it is, or that is not known."""
        with suppress(ImportError, KeyError, OSError):
            import pwd

            user = pwd.getpwuid(self.owner)
            if self.owner and self.group not in os.getgrouplist(user.pw_name, user.pw_gid):
                return f"user {user.pw_name} is not in its group {_group_name(self.group)}"
        return None

    def _refused(self, reason: str) -> RunError:
        owner = user_name(self.owner)
        return RunError(
            f"{self.directory} belongs to user {owner}, who could not read what this user writes there: {reason}",
            file=str(self.directory),
            hint=f"do it as {owner}, or share the directory with a group that both are in (chgrp, chmod g+rwxs)",
        )


def user_name(uid: int) -> str:
    """Return the name of a user, the number when it has none."""
    with suppress(ImportError, KeyError):
        import pwd

        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _group_name(gid: int) -> str:
    with suppress(ImportError, KeyError):
        import grp

        return grp.getgrgid(gid).gr_name
    return str(gid)


__all__ = ["Sharing", "user_name"]
