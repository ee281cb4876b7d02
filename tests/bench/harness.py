"""Measures contenders side by side: every round runs each of them once, in a new random order.

A shared machine is slow for seconds at a time. Within one round all contenders meet the same weather, so figures are
computed round by round and only then summarised: median and quartiles of the rounds, never of bare seconds.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import random
import resource
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

Samples = Mapping[str, Sequence[float]]
"""Seconds of every contender, one per round."""

_DISTORTING = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH", "GERT_DEBUG", "PYTHONPROFILEIMPORTTIME")


def clean_environ(**extra: str) -> dict[str, str]:
    """The environment people have: bytecode is cached and nothing is traced."""
    return {name: value for name, value in os.environ.items() if name not in _DISTORTING} | extra


@dataclass(frozen=True, kw_only=True)
class Command:
    """A process, measured from its start until it has ended."""

    argv: Sequence[str]
    cwd: Path
    environ: Mapping[str, str] = field(default_factory=clean_environ)
    apart: bool = False
    """Whether it has a session of its own, which Linux gives a share of the processors of its own."""

    def __call__(self) -> tuple[float, float]:
        """Seconds and processor seconds."""
        used, began = cpu_seconds(), time.perf_counter()
        done = subprocess.run(
            list(self.argv),
            cwd=self.cwd,
            env=dict(self.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            start_new_session=self.apart,
        )
        taken = time.perf_counter() - began
        if done.returncode:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise RuntimeError(f"{' '.join(self.argv)} exited with {done.returncode}: {said[-400:]}")
        return taken, cpu_seconds() - used

    def close(self) -> None:
        """Nothing stays."""


@dataclass(frozen=True, kw_only=True)
class OnTerminal(Command):
    """A process with a terminal of 80 columns and 24 rows, which is read as fast as it is written."""

    def __call__(self) -> tuple[float, float]:
        """Seconds and processor seconds."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        used, began = cpu_seconds(), time.perf_counter()
        process = subprocess.Popen(
            list(self.argv),
            cwd=self.cwd,
            env={**self.environ, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        said = b""
        with suppress(OSError):  # the terminal was closed by the last one who had it
            while data := os.read(ours, 65536):
                said = (said + data)[-4000:]
        code = process.wait()
        taken = time.perf_counter() - began
        os.close(ours)
        if code:
            raise RuntimeError(f"{' '.join(self.argv)} exited with {code}: {said.decode(errors='replace')[-400:]}")
        return taken, cpu_seconds() - used


@dataclass(kw_only=True)
class Worker:
    """A job of ``worker.py``, kept ready in a process of its own so that its preparation is not measured."""

    job: Sequence[str]
    cwd: Path
    program: tuple[Path, Path] = (Path(sys.executable), Path(__file__).with_name("worker.py"))
    """The interpreter and the script; without them, this one's."""
    _process: subprocess.Popen[str] | None = None

    def __call__(self) -> tuple[float, float]:
        """Seconds and processor seconds."""
        if self._process is None:
            self._process = subprocess.Popen(
                [*map(str, self.program), *self.job],
                cwd=self.cwd,
                env=clean_environ(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write("go\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = process.stdout.readline()
        if not answer:
            _, said = process.communicate()
            raise RuntimeError(f"{' '.join(self.job)}: {said.strip()[-400:]}")
        seconds, used = json.loads(answer)
        return seconds, used

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None


Contender = Command | Worker


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number per round, summarised."""

    median: float
    low: float
    high: float
    rounds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """Median and quartiles."""
        if len(values) == 1:
            return cls(median=values[0], low=values[0], high=values[0], rounds=1)
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median=median, low=low, high=high, rounds=len(values))


def measure(
    contenders: Mapping[str, Contender],
    *,
    rounds: int,
    seed: int = 1,
    cpu: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Seconds of every contender by round, and why those that could not run did not.

    With ``cpu`` processor time is taken instead of time on the clock: on a machine with other work it is the steadier
    figure, but it does not see waiting, so it says nothing about durability and parallel steps.
    """
    order = random.Random(seed)
    ready, failed = {}, {}
    for name, contender in contenders.items():  # a first go warms caches and bytecode
        say(f"warming up: {name}")
        try:
            contender()
            ready[name] = contender
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    samples: dict[str, list[float]] = {name: [] for name in ready}
    for turn in range(rounds):
        say(f"round {turn + 1} of {rounds}")
        for name in order.sample(sorted(ready), len(ready)):
            seconds, used = ready[name]()
            samples[name].append(used if cpu else seconds)
    for contender in contenders.values():
        contender.close()
    return samples, failed


def cpu_seconds() -> float:
    """Processor time of this process and of the children it has collected."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def ratio(samples: Samples, mine: str, unit: str, *, per: float = 1.0, unit_per: float = 1.0) -> Figure:
    """How many units mine takes; ``per`` and ``unit_per`` are the things done in one go."""
    return Figure.of([(a / per) / (b / unit_per) for a, b in zip(samples[mine], samples[unit], strict=True)])


def extra(samples: Samples, mine: str, without: str, unit: str) -> Figure:
    """What mine takes beyond ``without``, in units."""
    rounds = zip(samples[mine], samples[without], samples[unit], strict=True)
    return Figure.of([(a - b) / c for a, b, c in rounds])


def rate(samples: Samples, mine: str, *, things: float) -> Figure:
    """Things per second."""
    return Figure.of([things / seconds for seconds in samples[mine]])


def show(value: float) -> str:
    """Three digits that matter."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def progress(text: str) -> None:
    """Says on a terminal what is going on, on one line."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
