"""Runs runbooks in this process, so that a step can be timed without the start of a program around it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gert_core.engine.cancel import Stop
from gert_core.engine.check import check
from gert_core.engine.prepare import prepare
from gert_core.engine.request import Request
from gert_core.engine.steps.compiled import CompiledRunbook
from gert_core.governance import load_policies
from gert_core.host import SilentConsole
from gert_core.trace import sinks

if TYPE_CHECKING:
    from pathlib import Path

    from gert_core.plugin.registry import Registry


class Engine:
    """One runbook, validated once and run as often as wanted; only ``execute`` is timed."""

    def __init__(self, book: Path, registry: Registry, *, sync: str = "group") -> None:
        self.book = book
        self.registry = registry
        self.sync = sync
        self.runs = book.parent / "runs"
        checked = check(self._request())
        self._compiled = CompiledRunbook(checked)
        self._governed = load_policies(registry=registry, project=None, files=(), runbook=checked)

    def _request(self, **known: object) -> Request:
        return Request(
            runbook=self.book,
            registry=self.registry,
            console=SilentConsole(),
            stop=Stop(),
            environ=dict(os.environ),
            trace_sync=self.sync,
            runs=self.runs,
            **known,
        )

    def __call__(self) -> float:
        """Seconds of the whole run."""
        with ExitStack() as stack:
            request = self._request(compiled=self._compiled, governed=self._governed)
            stack.callback(request.stop.close)
            run = prepare(request, stack)
            began = time.perf_counter()
            result = run.execute()
            taken = time.perf_counter() - began
        if str(result.status) != "completed":
            raise RuntimeError(f"{self.book.name}: {result.status}: {[f.message for f in result.failures]}")
        shutil.rmtree(self.runs)
        return taken

    def trace(self) -> Path:
        """The trace of one run, kept."""
        kept = self.book.with_suffix(".jsonl")
        with ExitStack() as stack:
            request = self._request(compiled=self._compiled, governed=self._governed, trace=kept)
            stack.callback(request.stop.close)
            prepare(request, stack).execute()
        return kept

    def syncs(self) -> int:
        """How often one run waits for the disk, the run's start and end included."""
        counted, real = [0], sinks._fdatasync

        def count(descriptor: int) -> None:
            counted[0] += 1
            real(descriptor)

        sinks._fdatasync = count
        try:
            self()
        finally:
            sinks._fdatasync = real
        return counted[0]


def bare_processes(count: int) -> float:
    """The unit of a tool step: ``subprocess.run`` in a loop."""
    began = time.perf_counter()
    for _ in range(count):
        subprocess.run(["true"], check=True)
    return time.perf_counter() - began


def all_at_once(count: int) -> float:
    """The unit of parallel steps: start all, then wait for each."""
    began = time.perf_counter()
    started = [subprocess.Popen(["sleep", "0.05"]) for _ in range(count)]
    for process in started:
        process.wait()
    return time.perf_counter() - began
