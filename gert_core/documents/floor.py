"""The machine floor: policies and plugins that the machine's administrator demands, which nothing leaves out."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from msgspec import Struct

from gert_core.api.errors import ProjectError

ROOT: Final = Path("/etc/gert")
"""Where the floor is; no option, project or variable moves it."""
OWNERS: Final = frozenset({0})
"""The users who may own it: root."""
_POLICIES: Final = "policies"
_PLUGINS: Final = "plugins.yaml"
_ASIDE: Final = (
    "~",
    ".bak",
    ".orig",
    ".old",
    ".disabled",
    ".dpkg-old",
    ".dpkg-new",
    ".dpkg-dist",
    ".rpmnew",
    ".rpmsave",
)
"""How names end of copies that editors and package managers leave, and of what was turned off."""
_LINKS: Final = 40
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


class FloorError(ProjectError):
    """The machine floor cannot be trusted or read, so nothing runs."""


class PluginFloor(Struct, frozen=True, kw_only=True):
    """The plugins that the machine requires and blocks, and the file that says so."""

    require: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    file: Path | None = None


def floor_policies() -> tuple[Path, ...]:
    """Return the policy files of the floor; raise ``FloorError`` when somebody else could change them."""
    folder = ROOT / _POLICIES
    if not _exists(ROOT) or not _trusted(ROOT) or not _exists(folder) or not _trusted(folder):
        return ()
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - sorted names, no paths
    except OSError as error:
        raise _broken(folder, f"cannot be listed: {error.strerror}") from None
    for name in names:
        if name.endswith(".yaml"):
            continue
        if not _is_document(name) and (folder / name).is_dir():
            if not name.startswith("."):
                raise _broken(folder / name, f"is a directory: policies are read from {folder} itself")
        elif not _is_no_policy(name):
            # Its author believes that it applies.
            raise _broken(folder / name, "has another ending than .yaml, with which policies are read")
    found = tuple(folder / name for name in names if name.endswith(".yaml"))
    for file in found:
        _trusted(file)
    return found


def plugin_floor() -> PluginFloor:
    """Return the plugins that the machine requires and blocks; raise ``FloorError`` when that cannot be trusted."""
    file = ROOT / _PLUGINS
    if not _exists(ROOT) or not _trusted(ROOT):
        return PluginFloor()
    _refuse_others()
    if not _exists(file) or not _trusted(file):
        return PluginFloor()
    if not file.is_file():
        raise _broken(file, "is not a regular file")
    from gert_core.documents.project import PluginFloorModel
    from gert_core.documents.standalone import load_strictly

    model = load_strictly(file, PluginFloorModel, what="machine floor", error=FloorError)
    return PluginFloor(require=tuple(model.require), block=tuple(model.block), file=file)


def floor_files() -> tuple[Path, ...]:
    """Return every file of the floor that applies on this machine."""
    plugins = plugin_floor().file
    return (*floor_policies(), *(() if plugins is None else (plugins,)))


def _refuse_others() -> None:
    """Refuse documents beside those that are read: their author believes that they apply."""
    try:
        names = sorted(os.listdir(ROOT))  # noqa: PTH208 - sorted names, no paths
    except OSError as error:
        raise _broken(ROOT, f"cannot be listed: {error.strerror}") from None
    for name in names:
        if _is_document(name) and name != _PLUGINS:
            raise _broken(ROOT / name, f"is not read: plugins stand in {_PLUGINS}, policies in {_POLICIES}/NAME.yaml")


def _is_document(name: str) -> bool:
    return name.lower().endswith((".yml", ".yaml", ".json"))


def _is_no_policy(name: str) -> bool:
    """Return whether a file is plainly not meant to apply: hidden, a copy, turned off, or a note."""
    if _is_document(name):
        return False
    return name.startswith((".", "README")) or name.endswith(_ASIDE)


def _exists(path: Path) -> bool:
    """Return whether anything has this name, a link that leads nowhere included."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _broken(path, f"cannot be looked at: {error.strerror}") from None
    return True


def _trusted(path: Path) -> bool:
    """Return true; raise ``FloorError`` when anybody but the owner could change the path or what it leads to.

    Every directory on the way and every link counts. In a sticky directory others cannot exchange its entries.
    """
    waiting = list(reversed(path.parts[1:]))
    place, links = Path(path.anchor), 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            place = place.parent
            continue
        entry = place / part
        try:
            info = os.lstat(entry)
            target = Path(os.readlink(entry)) if stat.S_ISLNK(info.st_mode) else None  # noqa: PTH115 - one kind of error
        except OSError as error:
            raise _broken(path, f"cannot be read: {error.strerror}") from None
        if info.st_uid not in OWNERS:
            raise _broken(path, f"can be changed by others: {entry} belongs to user {info.st_uid}")
        if target is not None:
            links += 1
            if links > _LINKS:
                raise _broken(path, "leads through too many links")
            place = Path(target.anchor) if target.is_absolute() else place
            waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)
            continue
        sticky = stat.S_ISDIR(info.st_mode) and info.st_mode & stat.S_ISVTX
        if info.st_mode & _OTHERS and not sticky:
            raise _broken(path, f"can be changed by others: {entry} is writable by more than its owner")
        place = entry
    return True


def _broken(path: Path, what: str) -> FloorError:
    return FloorError(
        f"the machine floor {path} {what}",
        file=str(path),
        hint="nothing runs without the machine's floor; its administrator has to repair it (chown root, chmod go-w)",
    )


__all__ = ["OWNERS", "ROOT", "FloorError", "PluginFloor", "floor_files", "floor_policies", "plugin_floor"]
