"""Runs gert as a process of its own and kills it (SIGKILL) at a chosen line of its trace.

Nothing in gert knows about this: ``os.write`` of its process is wrapped for the trace's descriptor.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import warm

from gert_core.approvals.inbox import entries, respond
from gert_core.runs.fold import fold
from gert_core.stores.directory import DirectoryStore
from gert_core.trace.reader import read
from gert_core.trace.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gert_core.runs.state import RunState

SITE = """
import os, signal
line, when = int(os.environ.pop("KILL_LINE", 0)), os.environ.pop("KILL_WHEN", "after")
if line:
    opened, written = set(), [0]
    open_, write_ = os.open, os.write

    def open(path, *rest, **more):
        fd = open_(path, *rest, **more)
        if str(path).endswith("trace.jsonl"):
            opened.add(fd)
        return fd

    def write(fd, data):
        if fd not in opened:
            return write_(fd, data)
        lines = bytes(data).splitlines(keepends=True)
        left = line - written[0] - (when == "before")
        written[0] += len(lines)
        if left <= len(lines) and (when == "after" or left < len(lines)):
            write_(fd, b"".join(lines[:left]))
            os.kill(os.getpid(), signal.SIGKILL)
        return write_(fd, data)

    os.open, os.write = open, write
"""


@dataclass(slots=True)
class Kill:
    """Die when line ``line`` (of this process) is to be written: after it, or ``before`` it."""

    line: int
    when: str = "after"

    def __str__(self) -> str:
        return f"{self.when} line {self.line}"


@dataclass(slots=True)
class Bench:
    """A directory with a runbook and tools that log every execution to ``effects/NAME``."""

    root: Path
    answers: str = ""
    environ: dict[str, str] = field(default_factory=dict)
    told: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda step_id, inputs: {}
    """The outputs a person finds out for a step that took effect."""

    def __post_init__(self) -> None:
        (self.root / "effects").mkdir(parents=True, exist_ok=True)

    def write(self, files: dict[str, str]) -> None:
        """Write files; those below ``bin`` can be executed."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if name.startswith("bin/"):
                path.chmod(0o755)

    def gert(
        self, *args: str, kill: Kill | None = None, stdin: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run gert; returns when it and every process it started have ended."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("GERT_", "KILL_", "PYTEST"))}
        clean |= {"GERT_ACTOR": "olga", "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", **self.environ, **environ}
        if kill is not None:
            clean |= {"KILL_LINE": str(kill.line), "KILL_WHEN": kill.when}
        own = self.root / f".session-{threading.get_ident()}"
        before = f"import os; os.setsid(); open({str(own)!r}, 'w').write(str(os.getpid()))\n"
        done = warm.run(
            args, cwd=self.root, environ=clean, stdin=stdin.encode(), before=before if kill is None else before + SITE
        )
        _wait_for_session(int(own.read_text(encoding="ascii")))
        return subprocess.CompletedProcess(args, done.returncode, done.stdout.decode(), done.stderr.decode())

    # -- the run ------------------------------------------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """The id of the one run there is."""
        (only,) = [path.name for path in (self.root / "runs").glob("[!.]*")]
        return only

    @property
    def trace(self) -> Path:
        return self.root / "runs" / self.run_id / "trace.jsonl"

    def state(self) -> RunState:
        return fold(read(self.trace))

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.trace.read_bytes().splitlines()]

    def inputs(self, key: str) -> dict[str, Any]:
        """The inputs of a step when it was started last."""
        starts = [e for e in self.lines() if e["type"] == "step_start" and e["step_key"] == key]
        return starts[-1]["data"]["inputs"]

    def approve_all(self) -> None:
        """Say yes to every open ticket, in this process."""
        now = datetime.now(UTC)
        for entry in entries(DirectoryStore(self.root / "runs")):
            if entry.status(now) == "pending":
                respond(entry, approved=True, approver="bob", reason=None, environ={}, schemes=lambda _: None)

    def look(self, key: str) -> str:
        """What a person finds who looks whether a step took effect: ``done`` when its mark is there."""
        mark = idempotency_key(self.run_id, key)
        return "done" if any(mark in keys for keys in self.effects().values()) else "redo"

    def effects(self) -> dict[str, list[str]]:
        """The idempotency keys that each tool was executed with, in order."""
        return {
            file.name: file.read_text(encoding="utf-8").split() for file in sorted((self.root / "effects").iterdir())
        }

    def finish(self, *kills: Kill | None) -> list[subprocess.CompletedProcess[str]]:
        """Start the run, then resume it until it is over, as a person would; each process may be killed."""
        plan = list(kills)
        said = [
            self.gert(
                "exec", "runbook.yaml", "--approval", "inbox", "--var", "host=web", kill=_next(plan), stdin=self.answers
            )
        ]
        for _ in range(12):
            if not (self.root / "runs").is_dir() or not self.trace.exists():
                raise AssertionError(said[-1].stderr)
            state = self.state()
            if state.over and state.status != "cancelled":
                return said
            self.approve_all()
            arguments = ["resume", "--run", self.run_id]
            done = {}
            for record in state.unknown_outcomes:
                verdict = self.look(record.key)
                arguments += ["--reconcile", f"{record.key}={verdict}"]
                if verdict == "done":
                    done[record.key] = self.told(record.step_id, self.inputs(record.key))
            if done:
                arguments += ["--outputs", json.dumps(done if len(done) > 1 else next(iter(done.values())))]
            said.append(self.gert(*arguments, kill=_next(plan), stdin=self.answers))
            if said[-1].returncode not in (0, -signal.SIGKILL):
                return said
        raise AssertionError(f"no end: {said[-1].stderr}")

    def assert_sound(self) -> None:
        """The chain holds, across all processes."""
        verdict = verify(self.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned", verdict


def idempotency_key(run_id: str, key: str) -> str:
    return hashlib.sha256(f"{run_id}\n{key}".encode()).hexdigest()


def _written(bench: Bench, again: Collection[str]) -> Counter[tuple[str, str | None]]:
    """Return how often each event of each step is in the trace; what belongs to a single attempt or process is left out."""
    own = {"run_start", "input_resolved", "run_suspended", "run_resumed", "step_attempt", "scope_export"}
    own |= {"redaction_applied"}  # an attempt that is lost between it and its result is made again
    events = (e for e in bench.lines() if e["type"] not in own and e.get("step_key") not in again)
    return Counter((e["type"], e.get("step_key")) for e in events)


def assert_same(bench: Bench, whole: Bench, told: str, *, once: Collection[str], again: Collection[str] = ()) -> None:
    """Assert the same result, every effect, the same idempotency keys, one sound chain.

    ``once`` are the tools of which no effect is repeated, ``again`` the steps that are meant to run again.
    """
    state, expected = bench.state(), whole.state()
    assert (state.status, state.outcome) == ("completed", expected.outcome), told
    assert state.outputs == expected.outputs, told
    assert {r.key: r.status for r in state.steps.values()} == {r.key: r.status for r in expected.steps.values()}, told
    bench.assert_sound()
    assert _written(bench, again) == _written(whole, again), told
    keys = {idempotency_key(bench.run_id, key): key for key in state.steps}
    reconciled = Counter(
        key for e in bench.lines() if e["type"] == "run_resumed" for key in e["data"].get("reconciled", ())
    )
    before = whole.effects()
    for name, marks in bench.effects().items():
        assert set(marks) <= set(keys), f"{told}: {name} got a key of its own"
        assert len(set(marks)) == len(set(before[name])), f"{told}: {name}"
        for mark, times in Counter(marks).items():
            if name in once:
                assert times == 1, f"{told}: {keys[mark]} ran {times} times (reconciled {reconciled[keys[mark]]})"


def _next(plan: list[Kill | None]) -> Kill | None:
    return plan.pop(0) if plan else None


def _wait_for_session(session: int) -> None:
    """Tools outlive a killed gert for a moment; what they do must be done before anybody looks."""
    end = time.monotonic() + 20
    while any(_session_of(int(name)) == session for name in _processes()):
        assert time.monotonic() < end, "a tool did not end"
        time.sleep(0.01)


def _processes() -> list[str]:
    return [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]


def _session_of(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return -1
    fields = re.sub(r"^.*\) ", "", text, flags=re.DOTALL).split()
    return -1 if fields[0] == "Z" else int(fields[3])


# -- the same kills over several runs ---------------------------------------------------------------------------------


def kill_points(parts: Sequence[int]) -> list[tuple[int, int, str]]:
    """Every kill: the process, the line of it, and whether before or after; ``parts`` are the lines of each process."""
    return [
        (part, line, when)
        for part, lines in enumerate(parts)
        for line in range(1, lines + 1)
        for when in ("after", "before")
        if (part, line, when) != (0, 1, "before")  # then there is no run
    ]


def finished_whole(bench: Bench) -> Bench:
    """A run of three processes without a kill."""
    said = bench.finish()
    assert [one.returncode for one in said] == [0, 0, 0], said[-1].stderr
    bench.assert_sound()
    return bench


def assert_lines(whole: Bench, parts: Sequence[int]) -> None:
    """The processes of the run write as many lines as the kills count on."""
    ends = [event["seq"] for event in whole.lines() if event["type"] in ("run_suspended", "run_complete")]
    assert ends == list(accumulate(parts))


def kill_once(bench: Bench, whole: Bench, point: tuple[int, int, str], *, once: Collection[str]) -> None:
    """Kill one process of a run and resume: it comes out as the whole run did."""
    part, line, when = point
    said = bench.finish(*[None] * part, Kill(line, when))
    told = f"killed {when} line {line} of process {part + 1}"
    assert said[part].returncode == -signal.SIGKILL, told
    assert all(one.returncode == 0 for one in (*said[:part], *said[part + 1 :])), (
        f"{told}: {said[-1].stdout} {said[-1].stderr}"
    )
    assert_same(bench, whole, told, once=once)


def kill_again(bench: Bench, whole: Bench, seed: int, *, once: Collection[str]) -> None:
    """Kill several processes of a run, one after another."""
    chance = random.Random(seed)
    kills = [Kill(chance.randint(2, 40), chance.choice(["after", "before"])) for _ in range(4)]
    said = bench.finish(*kills)
    told = f"killed {', '.join(map(str, kills))}"
    assert said[-1].returncode == 0, f"{told}: {said[-1].stderr}"
    assert_same(bench, whole, told, once=once)


__all__ = [
    "Bench",
    "Kill",
    "assert_lines",
    "assert_same",
    "finished_whole",
    "idempotency_key",
    "kill_again",
    "kill_once",
    "kill_points",
]
