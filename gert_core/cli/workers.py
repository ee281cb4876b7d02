"""Run jobs in several processes and yield their results in order; a process that ends early loses only its jobs."""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

_J = TypeVar("_J")
_R = TypeVar("_R")


def in_order(jobs: Sequence[_J], run: Callable[[_J], _R], *, workers: int, lost: Callable[[_J], _R]) -> Iterator[_R]:
    """Yield ``run`` of every job, in order; ``lost`` makes the result of a job whose process died.

    Processes are forked, so they have everything the caller has loaded and share nothing they change.
    Closing the iterator ends them.
    """
    workers = min(workers, len(jobs))
    if workers <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(run, jobs)
        return
    context = multiprocessing.get_context("fork")
    readers: list[Connection[object, object]] = []
    processes = []
    for worker in range(workers):
        reader, writer = context.Pipe(duplex=False)
        process = context.Process(
            target=_work, args=(writer, jobs, run, range(worker, len(jobs), workers)), daemon=True
        )
        process.start()
        writer.close()
        readers.append(reader)
        processes.append(process)
    try:
        yield from _collect(jobs, readers, lost=lost)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()
            process.close()
        for reader in readers:
            reader.close()


def _collect(
    jobs: Sequence[_J], readers: Sequence[Connection[object, object]], *, lost: Callable[[_J], _R]
) -> Iterator[_R]:
    done: dict[int, _R] = {}
    owner = [readers[index % len(readers)] for index in range(len(jobs))]
    live: list[Connection[object, object]] = list(readers)
    for index, job in enumerate(jobs):
        while index not in done and owner[index] in live:
            for ready in wait(live):
                reader = cast("Connection[Any, Any]", ready)
                try:
                    number, result = reader.recv()
                except EOFError:
                    live.remove(reader)
                else:
                    done[number] = result
        yield done.pop(index) if index in done else lost(job)


def _work(
    writer: Connection[object, object], jobs: Sequence[object], run: Callable[[object], object], mine: range
) -> None:
    # The parent receives Ctrl-C and ends its processes; a traceback from each of them would not help.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for index in mine:
        writer.send((index, run(jobs[index])))
    writer.close()


__all__ = ["in_order"]
