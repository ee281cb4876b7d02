"""Find programs that outlived the process that started them, and wait for them, before a run goes on."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.api import ErrorKind, RunError
from gert_core.engine.children_file import children_files
from gert_core.kit.children import LINE, boot_id
from gert_core.kit.files import read_file
from gert_core.kit.json_reader import JsonDecoder
from gert_core.kit.owners import Owners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gert_core.api import StoredRun
    from gert_core.engine.cancel import Stop

WAIT: Final = 10.0
"""Seconds that a resumed run waits for them."""
_LOOK: Final = 0.1
_SLACK: Final = 0.05
"""Seconds by which start times may differ: the kernel counts them in hundredths."""
_STARTING: Final = 60.0
"""Seconds that starting a program takes at most: a line with more would fit processes of others, and is left out."""
_LIMIT: Final = 10_000 * LINE


class Survivor(Struct, frozen=True, kw_only=True):
    """A program that is still running, or has left other processes of its session."""

    step: str
    processes: tuple[tuple[int, str], ...]
    """Numbers and names of what is running."""

    def __str__(self) -> str:
        running = ", ".join(f"process {pid} ({name})" for pid, name in self.processes)
        return f"{running} of step {self.step}" if self.step else running


class _Entry(Struct, frozen=True):
    """One line of the file."""

    pid: int
    """Its number, which is also that of its session."""
    began: float = field(name="from")
    noted: float = field(name="to")
    boot: str
    step: str = ""


class _Process(Struct, frozen=True):
    """One process of this machine."""

    pid: int
    name: str
    session: int
    started: float
    dead: bool


def wait_for_survivors(run: StoredRun, *, stop: Stop, warn: Callable[[str], None]) -> None:
    """Wait until every program that an earlier process of the run started has ended.

    Raise ``RunError`` with those that have not ended after ten seconds, or when the run is cancelled meanwhile.
    """
    entries = _entries(run)
    left = _survivors(entries)
    if not left:
        return
    warn(f"waiting for what a gert that was killed left running: {_listed(left)}")
    for _ in range(round(WAIT / _LOOK)):
        if stop.wait(_LOOK):
            raise RunError(f"cancelled; still running: {_listed(left)}", kind=ErrorKind.CANCELLED)
        left = _survivors(entries)
        if not left:
            return
    pids = " ".join(str(pid) for survivor in left for pid, _ in survivor.processes)
    raise RunError(
        f"what a gert that was killed had started is still running: {_listed(left)}",
        kind=ErrorKind.STILL_RUNNING,
        hint=f"wait until it has ended, or end it with `kill {pids}`; then resume the run",
    )


def _listed(left: list[Survivor]) -> str:
    return "; ".join(str(survivor) for survivor in left)


def _entries(run: StoredRun) -> list[_Entry]:
    """Return what is kept about this start of this machine; a damaged line is left out."""
    boot, decoder, found = boot_id(), JsonDecoder(_Entry), []
    for path in children_files(run):  # what another machine started cannot be looked for here
        data = b""
        with suppress(RunError):
            data = read_file(path, limit=_LIMIT, owners=Owners.of(path.parent)) or b""
        for line in data.splitlines():
            with suppress(ValueError):
                entry = decoder.decode(line)
                if boot and entry.boot == boot and entry.noted - entry.began <= _STARTING:
                    found.append(entry)
    return found


def _survivors(entries: list[_Entry]) -> list[Survivor]:
    if not entries:
        return []
    processes = {process.pid: process for process in _processes()}
    sessions: dict[int, list[_Process]] = {}
    for process in processes.values():
        if not process.dead:
            sessions.setdefault(process.session, []).append(process)
    found = []
    for entry in entries:
        leader = processes.get(entry.pid)
        if leader is not None and not entry.began - _SLACK <= leader.started <= entry.noted + _SLACK:
            continue  # a number is given out again only when its session has ended
        members = sorted(
            (process.pid, process.name)
            for process in sessions.get(entry.pid, ())
            if process.started >= entry.began - _SLACK
        )
        if members:
            found.append(Survivor(step=entry.step, processes=tuple(members)))
    return found


def _processes() -> Iterator[_Process]:
    """Yield the processes of this machine, as ``/proc`` lists them."""
    ticks = os.sysconf("SC_CLK_TCK")
    for number in os.listdir("/proc"):  # noqa: PTH208 - names are all that is wanted
        if not number.isdigit():
            continue
        with suppress(OSError), open(f"/proc/{number}/stat", "rb") as file:  # noqa: PTH123
            head, _, tail = file.read().rpartition(b")")
            fields = tail.split()
            yield _Process(
                pid=int(number),
                name=head.partition(b"(")[2].decode("utf-8", "replace"),
                session=int(fields[3]),
                started=int(fields[19]) / ticks,
                dead=fields[0] in (b"Z", b"X"),
            )


__all__ = ["WAIT", "Survivor", "wait_for_survivors"]
