"""Check where runs are kept: owner, permissions, writing, locking, syncing, space, and what waits there."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gert_core.api.errors import GertError, RunError
from gert_core.approvals.inbox import Unreadable, entries
from gert_core.cli.doctor import Checked, fail, ok, warn
from gert_core.kit.files import MIB
from gert_core.kit.sharing import user_name
from gert_core.runs.listing import list_runs
from gert_core.stores.directory import DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.api import RunStore

_SLOW: Final = 0.2
"""Seconds from which syncing is worth a remark: every step that acts waits for it."""
_LEAST: Final = 100 * MIB
_LISTED: Final = 5


def check_store(choose: Callable[[], RunStore]) -> tuple[RunStore | None, list[Checked]]:
    """Return the store that commands use here, and its checks; None when it cannot be named."""
    try:
        store = choose()
    except FileNotFoundError:
        return None, []  # the working directory is gone, which the check of the project says
    except GertError as error:
        return None, [fail("runs", error.message, error.hint or "correct the address of the store")]
    try:
        return store, list(check_runs(store))
    except RunError as error:
        return store, [fail("runs", error.message, error.hint or "see that the store can be reached")]


def check_runs(store: RunStore) -> Iterator[Checked]:
    """Yield the checks of a store of runs."""
    if isinstance(store, DirectoryStore):
        yield check_owner(store.root)
        yield check_disk(store.root)
    else:
        info = store.schema_info()
        yield ok("runs", f"{store.url} can be reached ({info.backend}, tables of version {info.schema_version})")
    problem = store.ledger().problem()
    hint = "a step that was approved is not executed without it; repair it or give it to this user"
    yield ok("ledger", "can be used") if problem is None else fail("ledger", problem, hint)
    yield _waiting(store)
    yield _tickets(store)
    yield _notifications(store)


def check_owner(root: Path) -> Checked:
    """Check who else could change what runs keep."""
    try:
        info = root.stat()
    except FileNotFoundError:
        return ok("runs", f"{root} does not exist yet; the first run makes it, for this user only")
    except OSError as error:
        return fail("runs", f"{root} cannot be read: {error.strerror}", "make it readable for this user")
    if not stat.S_ISDIR(info.st_mode):
        return fail("runs", f"{root} is not a directory", "remove it, or set runs_dir in gert-project.yaml")
    if info.st_mode & stat.S_IWOTH:
        return fail("runs", f"{root} is writable by everybody", f"chmod o-w {root}")
    shared = info.st_mode & stat.S_IWGRP
    if shared and not info.st_mode & stat.S_ISGID:
        hint = f"chmod g-w {root}; or chmod g+s {root}, if the group is to share runs"
        return warn("runs", f"{root} is writable by its group, whose runs are not shared", hint)
    if info.st_uid != os.geteuid() and not shared:
        owner = user_name(info.st_uid)
        return warn("runs", f"{root} belongs to user {owner}", f"run gert as {owner}, or set runs_dir")
    return ok("runs", f"{root} can be written by {'its group' if shared else 'its owner only'}")


def check_disk(root: Path) -> Checked:
    """Write, lock and sync a file where runs are kept, or in the nearest directory above that exists."""
    place = next((path for path in (root, *root.parents) if path.is_dir()), Path("/"))
    hint = "work in a writable directory on a local disk, or set runs_dir in gert-project.yaml"
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".gert-doctor-") as file:
            file.write(b"gert\n" * 100)
            file.flush()
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            began = time.perf_counter()
            os.fsync(file.fileno())
            seconds = time.perf_counter() - began
        free = os.statvfs(place)
    except OSError as error:
        return fail("disk", f"{place} cannot be written, locked and synced: {error.strerror}", hint)
    left = free.f_bavail * free.f_frsize
    if left < _LEAST:
        return fail("disk", f"{place} has {left // MIB} MiB left", "make room: a run stops when its trace cannot grow")
    said = f"{place} takes {seconds * 1000:.0f} ms to sync and has {left // (1024 * MIB)} GiB left"
    return warn("disk", said, "steps wait for it; use a faster disk") if seconds > _SLOW else ok("disk", said)


def _waiting(store: RunStore) -> Checked:
    """Look for runs that ended without an end, and for those that cannot be read."""
    interrupted, unreadable, number = [], [], 0
    try:
        for info in list_runs(store):
            number += 1
            if info.status == "interrupted":
                interrupted.append(info.run_id)
            elif info.status == "unreadable":
                unreadable.append(info.run_id)
    except RunError as error:
        return fail("interrupted", error.message, error.hint or "make it readable for this user")
    found = [
        f"{len(ids)} {word}: {_some(ids)}"
        for word, ids in (("interrupted", interrupted), ("unreadable", unreadable))
        if ids
    ]
    if not found:
        return ok("interrupted", f"none of {number} runs was interrupted")
    hint = f"gert runs show {(interrupted or unreadable)[0]}{store.option}"
    return warn("interrupted", f"of {number} runs {'; '.join(found)}", hint)


def _tickets(store: RunStore) -> Checked:
    """Look for requests that were never answered, and for those that cannot be read."""
    now, expired, pending = datetime.now(UTC), [], 0
    unreadable: list[Unreadable] = []
    with suppress(RunError):  # the check before reports it
        for entry in entries(store, report=unreadable.append, unresolved=True):
            status = entry.status(now)
            pending += status == "pending"
            if status == "expired":
                expired.append(entry.request.ticket_id)
    if unreadable:
        hint = f"`gert approvals list{store.option}` names all of them"
        return warn("tickets", f"cannot be read: {unreadable[0].problem}", hint)
    if expired:
        message = f"{len(expired)} expired without an answer: {_some(expired)}"
        hint = f"resume their runs to end them: `gert approvals list --all{store.option}` names the runs"
        return warn("tickets", message, hint)
    return ok("tickets", f"{pending} pending, none expired")


def _notifications(store: RunStore) -> Checked:
    """Look for what people were to be told and were not."""
    from gert_core.hosting.flushing import entries as owed

    waiting, lost = 0, []
    with suppress(RunError):  # the check of the runs reports it
        for entry in owed(store):
            waiting += entry.status in ("owed", "failed")
            if entry.status in ("refused", "dead") and not entry.is_dropped:
                lost.append(entry.run_id)
    hint = f"`gert notify list{store.option}` says why, and `gert notify flush{store.option}` tries what is due"
    if lost:
        return warn("notifications", f"{len(lost)} refused or given up, of {_some(list(dict.fromkeys(lost)))}", hint)
    if waiting:
        return warn("notifications", f"{waiting} not delivered yet", hint)
    return ok("notifications", "none is owed")


def _some(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


__all__ = ["check_disk", "check_owner", "check_runs", "check_store"]
