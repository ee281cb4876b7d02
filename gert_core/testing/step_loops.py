"""Conformance tests of step types in loops and forks."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest

from gert_core.api import EventType, Flow
from gert_core.engine.progress import Progress
from gert_core.testing.books import ITEMS
from gert_core.testing.effects import forbid_outside_effects
from gert_core.testing.step_cases import StepTypeCase, assert_intact
from gert_core.testing.step_stops import crash_points, survive_crashes

if TYPE_CHECKING:
    from gert_core.engine.progress import StepInfo
    from gert_core.testing.books import Book, Example
    from gert_core.testing.running import GertRunner, Ran

_CRASHES: Final = 6
"""How many of the places for a crash are tried in each of these runbooks."""


class LoopConformance(StepTypeCase):
    """The tests of a step type in ``for_each`` and in a fork.

    The first step of the type in the runbook's own list is tested, after the steps before it, without those after it.
    """

    def test_a_loop_runs_it_once_per_item(self, runner: GertRunner) -> None:
        self._try(runner, self._loopable().in_loop(parallel=False))

    def test_a_parallel_loop_runs_its_items_at_the_same_time(self, runner: GertRunner) -> None:
        if isinstance(self.answers, tuple) and self.answers:
            pytest.skip("items ask at the same time: give `answers` as a map from question to answer")
        self._try(runner, self._loopable().in_loop(parallel=True), progress=_Gate())

    def test_it_runs_in_a_thread_beside_other_steps(self, runner: GertRunner) -> None:
        self._try(runner, self._loopable().in_fork())

    def test_a_dry_run_of_loops_and_forks_touches_nothing(
        self, runner: GertRunner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        example, runner = self._loopable(), self.with_helpers(runner)
        forbid_outside_effects(monkeypatch)
        for book in (example.in_loop(parallel=False), example.in_loop(parallel=True), example.in_fork()):
            ran = runner(book.text, files=self.files, inputs=self.inputs, mode="dry-run")
            assert ran.status == "completed", [failure.message for failure in ran.result.failures]

    def _loopable(self) -> Example:
        example = self.example()
        if any(found.flow is Flow.TERMINAL for found in self.types()):
            pytest.skip("a step that ends the run is not repeated")
        if not example.loops:
            pytest.skip("the runbook has no step of the type in its own list that is not in a loop already")
        return example

    def _try(self, runner: GertRunner, book: Book, progress: Progress | None = None) -> None:
        """Run a derived runbook, compare the tested step with one that runs alone, and crash in some places."""
        runner = self.with_helpers(runner)
        single = self.example().alone()
        alone = self._real(runner, single.text)
        answers = self.answers * len(book.keys) if isinstance(self.answers, tuple) else self.answers
        ran = self._real(runner, book.text, answers=answers, progress=progress)
        assert_intact(ran.result.trace)
        (key,) = single.keys
        seen = {one: ran.steps[one] for one in book.keys if one in ran.steps}
        assert seen, f"none of {book.keys} ran: {[failure.message for failure in ran.result.failures]}"
        assert set(seen.values()) == {alone.steps[key]}, [failure.message for failure in ran.result.failures]
        assert len(seen) == len(book.keys) or _ended_inside(ran) or ran.status != "completed", f"only {seen} ran"
        for one in seen:
            assert _outputs(ran, one) == _outputs(alone, key), "its outputs are named as those of a step alone"
        survive_crashes(self, runner, ran, at=crash_points(ran, most=_CRASHES))


class _Gate(Progress):
    """A listener that lets the items of a loop go on when all of them have started, so that they surely overlap.

    Items that run one after another because their contracts conflict are let through after a moment.
    """

    def __init__(self) -> None:
        self._barrier = threading.Barrier(len(ITEMS))

    def started(self, step: StepInfo) -> None:
        """Wait for the other items."""
        if step.item is not None:
            with suppress(threading.BrokenBarrierError):
                self._barrier.wait(0.5)


def _ended_inside(ran: Ran) -> bool:
    """Return whether the run ended inside the tested step, so that its other items did not run."""
    return any("/" in resolved["step_key"] for resolved in ran.of(EventType.OUTCOME_RESOLVED))


def _outputs(ran: Ran, key: str) -> set[str]:
    """Return the names of a step's outputs."""
    (complete,) = ran.of(EventType.STEP_COMPLETE, key)
    return set(complete.get("outputs") or {})


__all__ = ["LoopConformance"]
