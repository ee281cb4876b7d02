"""``processes.start``: a program that stays, its lines, its complaints and its end."""

from __future__ import annotations

import os
import threading
import time

import pytest

from gert_core.api import StepProblem
from gert_core.engine.cancel import Deadline, Stop
from gert_core.kit import processes
from gert_core.kit.processes import child as child_module
from gert_core.kit.processes import group

ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.fixture
def stop():
    switch = Stop()
    yield switch
    switch.close()


@pytest.fixture
def start():
    opened = []

    def begin(*argv: str):
        opened.append(processes.start(argv, environ=ENVIRON))
        return opened[-1]

    yield begin
    for child in opened:
        child.close(0)
    assert not group.running()


def test_lines_go_in_and_come_out(start, stop):
    child = start("cat")
    lines = child.lines()
    for text in (b"one", b"two words", b"", "drei \u2603".encode()):
        child.write(text + b"\n", Deadline(stop, 5))
        assert next(lines) == text
    assert child.close() == 0
    assert list(lines) == []


def test_a_long_line_arrives_whole_and_a_last_one_without_end_too(start):
    child = start("sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo; printf end")
    first, last = child.lines()
    assert (len(first), last) == (300_000, b"end")


def test_a_line_without_end_is_refused(start):
    child = start("sh", "-c", "head -c 300000 /dev/zero")
    with pytest.raises(OverflowError):
        list(child.lines(limit=1000))


def test_stderr_is_drained_and_its_end_kept(start):
    child = start("sh", "-c", "yes nonsense | head -c 5000000 >&2; echo last words >&2; echo out")
    assert list(child.lines()) == [b"out"]
    assert child.stderr.endswith("nonsense\nlast words\n") or child.stderr.endswith("last words\n")
    assert len(child.stderr) <= child_module.STDERR_TAIL
    assert child.wait(5) == 0


def test_a_writer_gives_up_in_time_when_nobody_reads(start, stop):
    child = start("sleep", "60")
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        child.write(b"x" * 1_000_000, Deadline(stop, 0.3))
    threading.Timer(0.2, stop.throw, ("test",)).start()
    with pytest.raises(TimeoutError):
        child.write(b"x" * 1_000_000, Deadline(stop, 60))
    assert time.monotonic() - began < 5


def test_closing_frees_a_stuck_writer(start, stop):
    child = start("sleep", "60")
    problems = []

    def write() -> None:
        try:
            child.write(b"x" * 1_000_000, Deadline(stop, 60))
        except OSError as error:
            problems.append(type(error))

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.1)
    child.close(0.1)
    writer.join(5)
    assert problems == [BrokenPipeError]


def test_writing_to_the_dead_is_told(start, stop):
    child = start("true")
    assert child.wait(5) == 0
    with pytest.raises(BrokenPipeError):
        child.write(b"x\n", Deadline(stop, 5))


def test_closing_its_input_is_asking_it_to_end(start):
    child = start("sh", "-c", "cat >/dev/null; exit 4")
    assert child.close() == 4
    assert child.close() == 4


def test_term_then_kill_for_what_stays(start, monkeypatch):
    assert start("sh", "-c", "trap 'exit 9' TERM; while :; do sleep 0.02; done").close(0.2) == 9
    monkeypatch.setattr(child_module, "GRACE", 0.3)
    stubborn = start("sh", "-c", "trap '' TERM; while :; do sleep 0.02; done")
    time.sleep(0.1)
    stubborn.close(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(stubborn.pid, 0)


def test_a_reader_is_freed_although_a_stranger_holds_the_output(start):
    child = start("sh", "-c", "setsid sleep 3 & echo up; sleep 60")
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(child.lines()))
    reader.start()
    time.sleep(0.3)
    child.close(0)
    reader.join(2)
    assert not reader.is_alive()
    assert seen == [b"up"]


def test_what_cannot_start_leaves_no_descriptor():
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(StepProblem, match="was not found on PATH"):
        processes.start(["gert-no-such"], environ=ENVIRON)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_no_descriptor_stays(start, stop):
    stop.fileno()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for script in ("cat", "exit 1", "echo x"):
        child = start("sh", "-c", script)
        child.close(0.1 if script == "cat" else 2)
        list(child.lines())
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_what_it_writes_to_standard_error_is_handed_on():
    seen = []
    child = processes.start(["sh", "-c", "echo a >&2; echo line; echo b >&2"], environ=ENVIRON, on_stderr=seen.append)
    assert list(child.lines()) == [b"line"]
    child.close()
    assert b"".join(seen) == b"a\nb\n"
    assert child.stderr == "a\nb\n"
