"""Show a run while it happens: steps as they finish, and on a terminal a block below them with what runs now."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import StepStatus
from gert_core.cli.render.console import TerminalConsole
from gert_core.cli.render.lines import StepLines, indent_of, name_of
from gert_core.cli.render.live import Leaf, Live, Loop
from gert_core.cli.render.terminal import paint
from gert_core.cli.render.ticker import Ticker
from gert_core.kit.display import readable_key
from gert_core.kit.time_spans import duration_text
from gert_core.runs.state import parent_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO

    from gert_core.api import ApprovalRequest, TraceEvent
    from gert_core.cli.render.caught import Caught
    from gert_core.engine.progress import CallWatcher, Progress, StepInfo
    from gert_core.engine.run import Run
    from gert_core.secrets.masker import Masker
    from gert_core.trace.observers import Observer

_FRAME: Final = 0.2
"""Seconds between two blocks on a terminal."""
_EVENTS: Final = 2
"""How verbose it is when the types of events are shown too."""


class TerminalProgress(StepLines):
    """Prints steps as they finish, containers as they begin; with ``live`` it draws what runs below them.

    ``verbose`` 1 shows the descriptions of steps (as ``described`` does) and what tools write, 2 the types of events.
    Without ``live`` a step that runs for ``start`` seconds gets a line, and then one every ``again`` seconds.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        live: bool = False,
        verbose: int = 0,
        described: bool = False,
        start: float = 5.0,
        again: float = 30.0,
    ) -> None:
        self._given = stream or sys.stderr
        super().__init__(_apart(self._given) if live else self._given, described=described or verbose > 0)
        self._live = Live(self._stream, self._titled)
        self._draws = live
        self._caught: Caught | None = None
        self._closing = threading.Lock()
        self._verbose = verbose
        self._start, self._again = start, again
        self.watches = live or verbose > 0
        self._masker: Masker | None = None
        self._ticker = Ticker()
        self._ticking = False

    # -- for the command -----------------------------------------------------------------------------------------

    @property
    def listener(self) -> Progress:
        """What the engine tells of the run."""
        return self

    @property
    def observers(self) -> Sequence[tuple[str, Observer]]:
        """Who is told of the events of the run."""
        return (("progress", self._event),) if self._verbose >= _EVENTS else ()

    def attach(self, run: Run) -> None:
        """Take the run that is about to be executed: its name and its secrets."""
        self._masker = run.services.masker
        self.mask = run.services.masker.mask_text
        self._live.name, self._live.began = run.facts.runbook.name, time.monotonic()
        if self._stream is not self._given:
            self._catch()

    def console(self, *, no_input: bool) -> TerminalConsole:
        """Return who asks people meanwhile; nothing is drawn into a dialogue."""
        return TerminalConsole(no_input=no_input, quiet=self.hold, stream=self._stream if self._draws else None)

    def hold(self, held: bool) -> None:
        """Hold back all output during a dialogue; lines of other branches are printed after the answer."""
        self._screen.hold(held)

    def close(self) -> None:
        """Remove the block from the screen; a second interrupt may do it while the run that it ends does it too."""
        with self._closing:
            self._ticker.end()
            if self._caught is not None:
                self._caught.end()
                self._caught = None
            self._screen.close()
            if self._stream is not self._given:
                with suppress(OSError):  # the terminal was closed, and what was not written to it yet is lost
                    self._stream.close()
                self._stream = self._screen.stream = self._given

    def end(self, data: Mapping[str, Any]) -> None:
        """Take how the run ended, which is told by its result."""

    # -- what the engine tells -----------------------------------------------------------------------------------

    def started(self, step: StepInfo) -> None:
        if step.quiet:
            return
        if step.loop or not (step.leaf or step.single):
            self._step(step, ("▸", "cyan"))
            return
        with self._screen.lock:
            self._live.waiting.discard(step.key)
            self._live.leaves[step.key] = Leaf(step)
            if not self._ticking:
                self._ticking = True
                self._tick()

    def finished(self, step: StepInfo, status: StepStatus, data: Mapping[str, Any], duration: float) -> None:
        with self._screen.lock:
            said = self._over(step)
            if (step.leaf or step.single) and not (step.loop or step.quiet):
                failed = status in (StepStatus.FAILED, StepStatus.ERROR)
                self._live.count(failed=failed, skipped=status is StepStatus.SKIPPED)
            self._result(step, status, data, duration, said=said)

    def shown(self, step: StepInfo, text: str) -> None:
        if (leaf := self._live.leaves.get(step.key)) is not None:
            leaf.said = self.mask(text)
        elif not (step.leaf or step.single or step.quiet):
            self._live.containers[step.key] = self.mask(text)

    def retrying(self, step: StepInfo, *, attempt: int, most: int, delay: float, failure: Mapping[str, str]) -> None:
        number = f"attempt {attempt} of {most}"
        if (leaf := self._live.leaves.get(step.key)) is not None:
            leaf.wait(number, delay)
        if not step.quiet:
            why = f"{failure['kind']}: {failure['message']}"
            self._step(step, ("↻", "yellow"), f"{number} in {duration_text(delay)}  {why}")

    def calling(self, step: StepInfo, tool: str, action: str, command: Sequence[str]) -> CallWatcher | None:
        if self._masker is None:
            return None
        from gert_core.cli.render.output import ShownOutput

        key = step.key
        while key and key not in self._live.leaves:  # the steps of a quiet block are shown as the one around them
            key = parent_key(key)
        return ShownOutput(
            self._masker,
            self._ticker,
            name=name_of(step),
            leaf=self._live.leaves.get(key),
            printed=self._screen.print if self._verbose else None,
        )

    def items(self, step: StepInfo, *, done: int, failed: int, skipped: int, total: int) -> None:
        with self._screen.lock:
            loop = self._live.loops.get(step.key)
            if loop is None:
                loop = self._live.loops[step.key] = Loop(name_of(step))
            loop.done, loop.failed, loop.total = done, failed, total

    def left_open(self, step: StepInfo, *, cancelled: bool) -> None:
        with self._screen.lock:
            self._over(step)
            if cancelled and step.leaf and not (step.loop or step.quiet):
                self._step(step, ("✗", "red"), "cancelled")

    def submitted(self, step: StepInfo, request: ApprovalRequest) -> None:
        self._live.waiting.add(step.key)

    def pending(self, step: StepInfo, request: ApprovalRequest) -> None:
        self._wait(step, f"waits for approval (ticket {request.ticket_id})")

    def unanswered(self, step: StepInfo) -> None:
        self._wait(step, "waits for an answer")

    def paused(self, step: StepInfo, key: str) -> None:
        self._wait(step, f"waits to be unblocked ({key})")

    def _event(self, event: TraceEvent) -> None:
        """Print the type of an event."""
        key = f"  {readable_key(event.step_key)}" if event.step_key else ""
        self._print(f" {event.type}{key}", lead=paint("·", "dim", stream=self._stream), masked=True)

    # -- what runs now -------------------------------------------------------------------------------------------

    def _over(self, step: StepInfo) -> str:
        """Take a step from what runs; return what it said last."""
        live = self._live
        live.waiting.discard(step.key)
        if step.loop:
            live.loops.pop(step.key, None)
        leaf = live.leaves.pop(step.key, None)
        return live.containers.pop(step.key, "") if leaf is None else leaf.said

    def _wait(self, step: StepInfo, why: str) -> None:
        with self._screen.lock:
            self._over(step)
            self._live.waiting.add(step.key)
            self._step(step, ("…", ""), why)

    def _tick(self) -> None:
        """Show what runs, from now on until the end."""
        if self._draws:
            self._ticker.after(_FRAME, self._frame)
        else:
            self._ticker.after(min(1.0, self._start / 5), self._beat)

    def _frame(self) -> None:
        with self._screen.lock:
            if self._screen.drawable:
                self._screen.draw(self._live.lines(*self._screen.size))
        self._tick()

    def _catch(self) -> None:
        """Catch what else is written to this terminal; where that is impossible, the block is drawn all the same."""
        from gert_core.cli.render.caught import Caught

        with suppress(OSError, RuntimeError, MemoryError):
            terminal = os.fstat(self._stream.fileno())
            # The results of a plan go to standard output itself, and nothing else does.
            others = (2,) if self._given is not sys.stderr else (1, 2)
            found = [number for number in others if os.path.samestat(os.fstat(number), terminal)]
            self._caught = Caught(found, self._screen.print, self.mask)

    def _beat(self) -> None:
        with self._screen.lock:
            for leaf in self._live.leaves.values():
                if leaf.is_due(self._start, self._again):
                    self._remind(leaf)
        self._tick()

    def _remind(self, leaf: Leaf) -> None:
        """Print that a step still runs: its title first, then for how long."""
        if leaf.reminded == 1:
            self._step(leaf.step, ("→", "cyan"), leaf.said)
        else:
            since = self._again * (leaf.reminded - 1)
            self._print(f"{indent_of(leaf.step)}… {name_of(leaf.step)} {since:g}s", masked=True)


def _apart(stream: TextIO) -> TextIO:
    """Return the terminal of a stream as a stream of its own, which stays when that one is caught."""
    try:
        return os.fdopen(os.dup(stream.fileno()), "w", encoding=stream.encoding, errors=stream.errors, newline="")
    except (OSError, ValueError):  # it has no descriptor
        return stream


__all__ = ["TerminalProgress"]
