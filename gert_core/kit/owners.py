"""Tell whose files may stand in a run directory: its owner's, and in a shared one those of its group."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.kit.files import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path


class Owners(Struct, frozen=True, kw_only=True):
    """Whose files are believed in a directory.

    A directory is shared when it is setgid: files that are created in it are its group's. In any other one a file of
    another user was put there by somebody else.
    """

    owner: int
    group: int | None = None
    """The group of a shared directory."""

    @classmethod
    def of(cls, directory: Path) -> Owners:
        """Return the owners of a directory, which is not followed if it is a link; raise ``UnreadableError``."""
        try:
            info = directory.lstat()
        except OSError as error:
            raise UnreadableError(directory, f"cannot be read: {error.strerror}") from None
        return cls(owner=info.st_uid, group=info.st_gid if info.st_mode & stat.S_ISGID else None)

    @property
    def foreign(self) -> bool:
        """Whether this process runs as another user than the owner."""
        return self.owner != os.geteuid()

    def check(self, descriptor: int, path: Path) -> None:
        """Raise ``UnreadableError`` when an open file belongs to somebody else."""
        info = os.fstat(descriptor)
        if info.st_uid != self.owner and (self.group is None or info.st_gid != self.group):
            from gert_core.kit.sharing import user_name

            reason = f"belongs to user {user_name(info.st_uid)}, and its run to user {user_name(self.owner)}"
            raise UnreadableError(path, reason)

    def refuse_foreign(self, run_id: str) -> None:
        """Raise ``RunError`` when the run is another user's and no group shares it."""
        if not self.foreign or self.group is not None:
            return
        from gert_core.kit.sharing import user_name

        name = user_name(self.owner)
        raise RunError(
            f"run {run_id} belongs to user {name} and can be resumed only by that user",
            kind=ErrorKind.RUN_DIRECTORY,
            hint=f"resume it as {name}, or share its directory with a group (chgrp -R, chmod -R g+rwX, chmod g+s)",
        )


def account_name(uid: int) -> str:
    """Return the operating system's name of a user as actors have it: ``uid-1000`` where there is none."""
    try:
        import pwd

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError):  # a user id without a name, as in many containers
        return f"uid-{uid}"


__all__ = ["Owners", "account_name"]
