"""Run a runbook at an interval: never two at once, a line and a trace for each run, until something stops it."""

from __future__ import annotations

import itertools
import shlex
import signal
import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import ErrorKind, RunError, UsageError
from gert_core.hosting import COMMAND_LINE
from gert_core.hosting.host import Host
from gert_core.kit.escaping import without_commands
from gert_core.kit.unread import LOOK, unwaited_stderr, write_while
from gert_watch.lines import FAIL_ON, line_of
from gert_watch.notifying import WatchNotifier, note

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import FrameType

    from gert_core.hosting.hosted import HostedRun
    from gert_watch.command import WatchOptions

_LOOK: Final = 0.1
"""Seconds between two looks for a signal."""
_UNREAD: Final = 2.0
"""The longest that a line waits for its reader once there is a signal, in seconds."""
_LATE: Final = 0.5
"""Seconds by which a start may be late and the next one is still on time."""
_REAL: Final = "real"
_KEPT: Final = (_REAL, "probe")
"""The modes whose runs are kept, so that they have a trace."""


class Signals:
    """Ctrl-C and TERM while it is used: they are only counted, and looked at between other things."""

    def __init__(self) -> None:
        self.count = 0
        self.number = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        """Take the signals."""
        for number in (signal.SIGINT, signal.SIGTERM):
            # One that is ignored stays so: the program that started this one does not want it to be stopped by it.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def exit_code(self) -> int:
        """The exit code of a loop that the first of them ended."""
        return 128 + self.number

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.number = self.number or number


class Watch:
    """One ``gert watch``."""

    def __init__(self, wanted: WatchOptions, *, environ: Mapping[str, str]) -> None:
        self._wanted = wanted
        self._environ = environ

    def watch(self) -> int:
        """Start runs until something ends it, and return the exit code."""
        with Signals() as signals, unwaited_stderr(), Host(environ=self._environ, **self._wanted.host) as host:
            if not self._wanted.notify:
                return self._loop(host, signals, None)
            with WatchNotifier(host, signals=lambda: signals.count) as notifier:
                return self._loop(host, signals, notifier)

    def _loop(self, host: Host, signals: Signals, notifier: WatchNotifier | None) -> int:
        wanted, number, failed, due = self._wanted, 0, False, 0.0
        real = wanted.start.get("mode", _REAL) == _REAL  # other runs owe nothing, and their outcomes do not count
        while True:
            moment = datetime.now().astimezone()
            hosted = self._start(host, moment)
            started = time.monotonic()
            if started - due > _LATE:  # the first one, or the run before took longer than the interval
                due = started
            end = self._wait(hosted, signals)
            line = line_of(end, wanted)
            failed = failed or (real and _fails(hosted, end))
            number += 1
            _say(line.text(moment), signals)
            _explain(end)
            if notifier is not None and real and hosted.run_id:
                notifier.tell(hosted.run_id)
            if line.stop:
                cancelled = end.get("result", {}).get("status") == "cancelled"
                return signals.exit_code if cancelled and signals.count > 1 else line.code
            if signals.count:
                return signals.exit_code
            if number == wanted.count:
                return FAIL_ON if failed else 0
            due += wanted.interval
            _sleep(due, signals)
            if signals.count:
                return signals.exit_code

    def _start(self, host: Host, moment: datetime) -> HostedRun:
        start = {**self._wanted.start, "giving": COMMAND_LINE, "fail_on": self._wanted.fail_on}
        if start.get("mode", _REAL) in _KEPT:
            start["trace"] = _trace(host, self._wanted.runbook, moment)
        start["approval"] = start.get("approval") or host.approval or "inbox"  # the host itself would wait for people
        try:
            return host.start(self._wanted.runbook.resolve(), **start)
        except UsageError as error:
            if error.kind == ErrorKind.SIGNING_KEY:  # not how it is called is wrong, but what it would write
                raise RunError(error.message, kind=error.kind, hint=error.hint) from None
            raise

    def _wait(self, hosted: HostedRun, signals: Signals) -> Mapping[str, Any]:
        """Return how a run ended; a second signal cancels it."""
        told = cancelled = False
        while (end := hosted.wait(_LOOK)) is None:
            if signals.count and not told:
                told = True
                note("stopping after this run; once more to cancel it")
            if signals.count > 1 and not cancelled:
                cancelled = True
                hosted.cancel(signal.Signals(signals.number).name)
        return end


def _sleep(until: float, signals: Signals) -> None:
    """Wait for the next start."""
    while (left := until - time.monotonic()) > 0 and not signals.count:
        time.sleep(min(left, _LOOK))


def _fails(hosted: HostedRun, end: Mapping[str, Any]) -> bool:
    """Return whether a run has an outcome that counts as a failure, by the command line or by its project."""
    outcome, state = end.get("result", {}).get("outcome"), hosted.view.state if "result" in end else None
    return state is not None and outcome is not None and outcome["category"] in state.fail_on


def _trace(host: Host, runbook: Path, moment: datetime) -> Path | None:
    """Return the file for the trace of a run that begins now; None where runs are kept in a database."""
    directory = host.traces
    if directory is None:
        return None
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            f"the directory of traces {directory} cannot be made: {error.strerror}",
            kind=ErrorKind.RUN_DIRECTORY,
            hint="make room for it, or name another one in gert-project.yaml: traces: {dir: DIR}",
        ) from None
    name, number = f"{runbook.stem}-{moment:%Y-%m-%dT%H:%M:%S}", 1
    path = directory / f"{name}.jsonl"
    while path.is_symlink() or path.exists():
        number += 1
        path = directory / f"{name}-{number}.jsonl"
    return path


def _explain(end: Mapping[str, Any]) -> None:
    """Say why a run did not complete, and what to do about it."""
    if "error" in end:
        note(f"error: {end['error'].get('message')}")
        return
    result = end["result"]
    if failure := result.get("failure"):
        where = f"step {failure['step_key']}: " if failure.get("step_key") else ""
        note(f"  {where}{failure['message']} ({failure['kind']})")
    for step in result.get("next", [])[:1]:
        note(f"  next: {shlex.join(step['command'])}")


def _say(text: str, signals: Signals) -> None:
    """Print a line; where it is not read, wait for its reader until there is a signal, and not much longer."""
    looks = itertools.count()
    if sys.stdout is not None:
        write_while(
            sys.stdout,
            f"{without_commands(text)}\n",
            lambda: not signals.count or next(looks) * LOOK < _UNREAD,
        )


__all__ = ["Signals", "Watch"]
