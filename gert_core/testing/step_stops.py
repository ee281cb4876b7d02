"""Conformance tests of step types that are stopped: by a crash, a kill, a cancel or a time limit."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
import warnings
from typing import TYPE_CHECKING, ClassVar, Final

import pytest

from gert_core.api import ErrorKind, RunError
from gert_core.engine.cancel import Stop
from gert_core.engine.progress import Progress
from gert_core.testing.console import ScriptedConsole
from gert_core.testing.step_cases import StepTypeCase, assert_intact, assert_same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gert_core.engine.progress import StepInfo
    from gert_core.testing.running import GertRunner, Ran

_CANCELS: Final = 8
_LET_GO: Final = 2.0
"""Seconds in which the lock of a killed process is free."""
_SOON: Final = 8.0
"""Seconds in which a stopped step has ended, with the 5 seconds that a program is given after TERM."""


class StopConformance(StepTypeCase):
    """The tests of a step type that is stopped, and of the run that goes on afterwards."""

    kills: ClassVar[int] = 6
    """How many times the process is killed at a random moment."""

    def test_a_crash_after_any_event_changes_nothing(self, runner: GertRunner) -> None:
        whole = self._real(runner)
        survive_crashes(self, runner, whole, at=crash_points(whole))

    def test_a_kill_at_a_random_moment_changes_nothing(self, runner: GertRunner) -> None:
        if not hasattr(os, "fork"):
            pytest.skip("this system cannot fork")
        began = time.monotonic()
        whole = self._real(runner)
        took = time.monotonic() - began
        moments = random.Random(whole.result.runbook)  # noqa: S311 - a repeatable choice of moments
        for number in range(self.kills):
            moment = moments.uniform(0, took * 1.2)
            told = f"kill {number + 1}, {moment * 1000:.1f} ms after the start of a run of {took * 1000:.1f} ms"
            before = _runs(runner)
            _kill_after(moment, lambda: self._real(runner))
            new = _runs(runner) - before
            begun = [run_id for run_id in new if _has_begun(runner, run_id)]
            assert len(new) <= 1, told
            again = self._finish(runner, begun[0]) if begun else self._real(runner)
            assert_same(again, whole, told)

    def _finish(self, runner: GertRunner, run_id: str) -> Ran:
        """Return the end of a run: resumed, or as it is when it was killed after its last event."""
        found = runner.read(run_id)
        if found.result.state.over:
            return found
        until = time.monotonic() + _LET_GO
        while True:
            try:
                return self._resume(runner, run_id)
            except RunError as error:
                # The kill may have come between fork and exec of a program, which has the lock until it is executed.
                if error.kind != ErrorKind.RUN_LOCKED or time.monotonic() > until:
                    raise
            time.sleep(0.02)

    def test_a_cancel_before_any_step_changes_nothing(self, runner: GertRunner) -> None:
        whole = self._real(runner)
        for number in range(1, min(len(whole.steps), _CANCELS) + 1):
            told, stop = f"cancelled at the start of step {number}", Stop()
            began = time.monotonic()
            try:
                ran = self._real(runner, stop=stop, progress=_CancelAt(number, stop))
            finally:
                stop.close()
            assert time.monotonic() - began < _SOON, told
            assert ran.status in ("cancelled", whole.status), told
            assert_intact(ran.result.trace, told)
            if ran.status == "cancelled":
                assert_same(self._resume(runner, ran.result.run_id), whole, told)

    def test_a_slow_step_is_cancelled_at_once(self, runner: GertRunner) -> None:
        book, stop = self._slow(), Stop()
        timer = threading.Timer(0.5, stop.throw, ["test"])
        began = time.monotonic()
        timer.start()
        try:
            ran = self._real(self.with_helpers(runner), book, stop=stop, console=ScriptedConsole(patient=True))
        finally:
            timer.cancel()
            stop.close()
        assert ran.status == "cancelled", [failure.message for failure in ran.result.failures]
        assert time.monotonic() - began < _SOON, "cancel is honoured"
        assert_intact(ran.result.trace)

    def test_a_slow_step_ends_at_its_time_limit(self, runner: GertRunner) -> None:
        book = self.example(self._slow()).with_timeout("0.5s")
        began = time.monotonic()
        ran = self._real(self.with_helpers(runner), book, console=ScriptedConsole(patient=True))
        assert time.monotonic() - began < _SOON, "the time limit is honoured"
        failures = ran.result.failures
        if any("timeout" in step_type.owns for step_type in self.types()):
            assert failures, "the time limit of the type itself is honoured"
        else:
            assert ErrorKind.TIMEOUT in {failure.kind for failure in failures}, [one.message for one in failures]
        assert_intact(ran.result.trace)

    def _slow(self) -> str:
        if not self.slow:
            pytest.skip("set `slow`, a runbook whose step takes over 10 seconds, if the type can wait")
        return self.slow


class _CancelAt(Progress):
    """A listener that cancels the run when a step starts."""

    def __init__(self, number: int, stop: Stop) -> None:
        self._left = number
        self._stop = stop

    def started(self, step: StepInfo) -> None:
        """Count down."""
        self._left -= 1
        if self._left == 0:
            self._stop.throw("test")


def crash_points(whole: Ran, *, most: int | None = None) -> Sequence[int]:
    """Return after how many events of a run to crash: everywhere, or in ``most`` places, always the same."""
    everywhere = range(1, len(whole.events))
    if most is None or len(everywhere) <= most:
        return everywhere
    return sorted(random.Random(whole.result.runbook).sample(everywhere, most))  # noqa: S311 - repeatable


def survive_crashes(case: StepTypeCase, runner: GertRunner, whole: Ran, *, at: Sequence[int]) -> None:
    """Assert that a run which lost its trace after so many events is resumed to the same end."""
    trace = whole.result.trace
    assert trace is not None
    lines = trace.read_bytes().splitlines(keepends=True)
    home = trace.parent
    kept = home.with_name(f"{home.name}.whole")
    shutil.copytree(home, kept)
    for count in at:
        shutil.rmtree(home)
        shutil.copytree(kept, home)
        (home / "state.json").unlink(missing_ok=True)
        trace.write_bytes(b"".join(lines[:count]))
        assert_same(case._resume(runner, whole.result.run_id), whole, f"crash after event {count}")
    shutil.rmtree(kept)


def _kill_after(seconds: float, work: Callable[[], object]) -> None:
    """Do something in a process of its own and send it KILL after some seconds; return when it has ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of the test runner do not matter to the child
        child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _runs(runner: GertRunner) -> set[str]:
    root = runner.directory / "runs"
    return {entry.name for entry in root.iterdir()} if root.is_dir() else set()


def _has_begun(runner: GertRunner, run_id: str) -> bool:
    """Return whether the first event of a run is on disk."""
    trace = runner.directory / "runs" / run_id / "trace.jsonl"
    return trace.is_file() and b"\n" in trace.read_bytes()


__all__ = ["StopConformance", "crash_points", "survive_crashes"]
