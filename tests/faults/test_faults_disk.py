"""Disks that are full, broken or read-only: a run stops with a sentence, and what is written stays good.

The guarantee of SPEC §10 and §11: a write error stops the run; the trace holds whole events of an unbroken chain;
when the disk works again, ``gert resume`` goes on and executes nothing that is recorded as done.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from faulty import Faulty

from gert_core.trace.reader import read
from gert_core.trace.verify import TraceStatus, verify

if TYPE_CHECKING:
    from pathlib import Path

FUZZ = bool(os.environ.get("GERT_FUZZ"))
TOOL = """\
apiVersion: tool/v0
meta: {name: count, transport: stdio, binary: sh}
contract: {inputs: {n: {type: int}}, outputs: {said: {type: string}}, effects: [host], writes: WRITES, idempotent: true}
actions:
  run: {argv: [sh, -c, "echo $0 >> count; echo said-$0", "{{ .n }}"], extract: {said: {from: stdout}}}
"""
RUNBOOK = """\
apiVersion: kernel/v0
meta: {name: disk}
tools: [count]
steps:
  - {id: a, type: tool, tool: count, inputs: {n: 1}}
  - id: both
    type: parallel
    branches:
      - {steps: [{id: b, type: tool, tool: count, inputs: {n: 2}, scope: b}]}
      - {steps: [{id: c, type: tool, tool: count, inputs: {n: 3}, scope: c}]}
  - {type: end, outcome: {category: resolved, code: done}}
"""


class Place:
    """A directory with the runbook; ``executed`` is what its tool did since the last time it was asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "tools").mkdir()
        (root / "tools" / "count.tool.yaml").write_text(TOOL.replace("WRITES", "[]"))
        (root / "disk.yaml").write_text(RUNBOOK)

    def executed(self) -> list[str]:
        file = self.root / "count"
        found = file.read_text().split() if file.exists() else []
        file.unlink(missing_ok=True)
        return found

    def run(self) -> Path | None:
        """The one run directory there is."""
        found = list((self.root / "runs").glob("[!.]*")) if (self.root / "runs").is_dir() else []
        assert len(found) <= 1
        return found[0] if found else None

    def forget(self) -> None:
        shutil.rmtree(self.root / "runs", ignore_errors=True)
        self.executed()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def assert_stopped_well(done) -> None:
    """One JSON document with one sentence, exit 1, no traceback, nothing about bugs."""
    assert done.code == 1, done.err
    error = done.document["error"]
    assert "Traceback" not in done.err
    assert error["kind"] != "internal", error
    assert any(
        word in error["message"] for word in ("written", "created", "opened", "prepared", "locked", "synced to disk")
    )


def finished(run: Path) -> set[str]:
    """The leaf steps that the trace says are done; the chain up to there must be whole."""
    trace = run / "trace.jsonl"
    if not trace.exists() or not trace.stat().st_size:
        return set()
    verdict = verify(trace, key_for=lambda alg, key: None, schemes=lambda alg: None)
    assert verdict.status in (TraceStatus.TRUNCATED, TraceStatus.UNSIGNED), verdict
    assert trace.read_bytes().endswith(b"\n"), "no torn line is left behind"
    return {
        e.data["step_id"]
        for e in read(trace)
        if e.type == "step_complete" and e.data["status"] == "success" and e.data["step_id"] in "abc"
    }


def resume_and_check(gert, place, run) -> None:
    """With a good disk the run goes on: recorded steps are not executed again, the others are."""
    started = (run / "trace.jsonl").exists() and (run / "trace.jsonl").stat().st_size
    if not started:
        refused = gert("resume", "--run", run.name, "--json")
        assert refused.code in (1, 2)
        assert "error" in refused.document
        assert place.executed() == []
        return
    known = finished(run)
    resumed = gert("resume", "--run", run.name, "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.document["status"] == "completed"
    again = {dict(zip("123", "abc", strict=True))[n] for n in place.executed()}
    assert again == {"a", "b", "c"} - known
    assert finished(run) == {"a", "b", "c"}
    events = [e.type for e in read(run / "trace.jsonl")]
    assert events.count("outcome_resolved") == 1


def test_the_disk_is_full_at_every_write(place):
    """Whichever write is the first to fail for lack of space, the run stops well and resumes when there is space."""
    with Faulty(place.root) as gert:
        good = gert("exec", "disk.yaml", "--json")
        assert (good.code, sorted(place.executed())) == (0, ["1", "2", "3"])
        assert any(call.startswith("fdatasync") for call in good.calls)
        total = len(good.calls)
        place.forget()
        for number in range(1, total + 1):
            done = gert("exec", "disk.yaml", "--json", fail_at=number)
            if len(done.calls) < number:
                continue  # the branches took turns, which saved a write
            if done.code == 0:
                assert "lock" in done.calls[number - 1]  # only the holder's name
                assert_stopped_well(gert("exec", "disk.yaml", "--json", fail_at=number + 1))
                place.forget()
                continue
            assert_stopped_well(done)
            place.executed()
            run = place.run()
            if run is not None:
                resume_and_check(gert, place, run)
            place.forget()


@pytest.mark.parametrize(
    ("code", "once", "half"),
    [
        (errno.EIO, True, False),
        (errno.ENOSPC, False, True),
        *([(errno.EROFS, False, False), (errno.EDQUOT, True, False), (errno.ENOSPC, True, False)] if FUZZ else []),
    ],
)
def test_one_write_of_the_trace_fails(place, code, once, half):
    """A write that fails once, or that writes half a line, is final for the process and harmless for the trace."""
    with Faulty(place.root) as gert:
        calls = gert("exec", "disk.yaml", "--json").calls
        numbers = [
            n for n, call in enumerate(calls, 1) if call.endswith("trace.jsonl") and not call.startswith("create")
        ]
        for number in numbers if FUZZ else numbers[1::2]:
            place.forget()
            done = gert("exec", "disk.yaml", "--json", fail_at=number, code=code, once=once, half=half)
            if len(done.calls) < number or not done.calls[number - 1].endswith("trace.jsonl"):
                continue  # the branches of this run came in another order
            assert_stopped_well(done)
            assert os.strerror(code) in done.document["error"]["message"]
            place.executed()
            resume_and_check(gert, place, place.run())


def test_a_short_write_is_finished(place):
    """A write that takes only half of the bytes is no error: the rest follows, and the chain is whole."""
    with Faulty(place.root) as gert:
        calls = gert("exec", "disk.yaml", "--json").calls
        number = next(n for n, call in enumerate(calls, 1) if call.startswith("write") and "trace" in call) + 1
        place.forget()
        done = gert("exec", "disk.yaml", "--json", fail_at=number, once=True, half=True)
    assert (done.code, done.document["status"]) == (0, "completed")
    assert finished(place.run()) == {"a", "b", "c"}
    assert sorted(place.executed()) == ["1", "2", "3"]


def test_the_disk_is_full_while_a_run_is_resumed(place):
    """A resume that cannot write stops as well as the first process did, and a third one goes on."""
    with Faulty(place.root) as gert:
        first = gert("exec", "disk.yaml", "--json")
        number = next(n for n, call in enumerate(first.calls, 1) if call.startswith("write") and "trace" in call) + 2
        for extra in range(1, 40 if FUZZ else 5):
            place.forget()
            gert("exec", "disk.yaml", "--json", fail_at=number)
            run = place.run()
            place.executed()
            done = gert("resume", "--run", run.name, "--json", fail_at=extra)
            if done.code == 0 and len(done.calls) < extra:
                break
            if done.code:
                assert_stopped_well(done)
                place.executed()
                resume_and_check(gert, place, run)


def test_the_operating_system_refuses_to_let_the_trace_grow(place):
    """The same with a real limit (RLIMIT_FSIZE): the kernel's own half-done write leaves whole events only."""
    limit = 5000

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "gert_core", "exec", "disk.yaml", "--json"]
    done = subprocess.run(
        command,
        cwd=place.root,
        capture_output=True,
        text=True,
        preexec_fn=limited,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert os.strerror(errno.EFBIG) in json.loads(done.stdout)["error"]["message"]
    run = place.run()
    assert 0 < (run / "trace.jsonl").stat().st_size <= limit
    place.executed()
    with Faulty(place.root) as gert:
        resume_and_check(gert, place, run)


def test_a_file_system_that_really_is_full(place, tmp_path):
    """The same on a file system of 256 KiB that a tool fills up; needs the right to mount."""
    (tmp_path / "tools" / "count.tool.yaml").write_text(
        TOOL.replace("WRITES", "[]").replace("echo $0 >> count", "cat /dev/zero > runs/fill 2>/dev/null")
    )
    script = (
        "mkdir runs && mount -t tmpfs -o size=256k none runs && "
        f"{sys.executable} -m gert_core exec disk.yaml --json; code=$?; rm -f runs/fill; "
        f"for run in runs/2*; do {sys.executable} -m gert_core trace verify --json $run/trace.jsonl; done; exit $code"
    )
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip("this process may not mount")
    said, verdict = done.stdout.splitlines()
    assert done.returncode == 1
    assert os.strerror(errno.ENOSPC) in json.loads(said)["error"]["message"]
    assert json.loads(verdict)["verdict"] == "truncated"


@pytest.mark.parametrize("what", ["runs is a file", "runs is read-only", "runs cannot be made"])
def test_run_directories_that_cannot_be_written(place, what):
    """No place to write means that nothing is run: exit 1, a sentence naming the path, no tool started."""
    runs = place.root / "runs"
    if what == "runs is a file":
        runs.write_text("")
    elif os.getuid() == 0:
        pytest.skip("root may write anywhere")
    elif what == "runs is read-only":
        runs.mkdir(mode=0o500)
    else:
        place.root.chmod(0o500)
    try:
        with Faulty(place.root) as gert:
            done = gert("exec", "disk.yaml", "--json")
    finally:
        place.root.chmod(0o700)
    assert done.code == 1
    assert str(runs) in done.document["error"]["message"]
    assert place.executed() == []


def test_a_read_only_file_system_for_runs(place):
    """The same where even root may not write."""
    with Faulty(place.root) as gert:
        done = gert("exec", "disk.yaml", "--json", fail_at=1, code=errno.EROFS)
    assert_stopped_well(done)
    assert os.strerror(errno.EROFS) in done.document["error"]["message"]
    assert place.executed() == []


def test_a_step_that_writes_is_not_repeated_because_its_end_could_not_be_written(place):
    """The tool ran, its end is not on disk: nobody knows, so the run waits for a person and runs nothing twice."""
    (place.root / "tools" / "count.tool.yaml").write_text(
        TOOL.replace("WRITES", "[disk]").replace("idempotent: true", "idempotent: false")
    )
    with Faulty(place.root) as gert:
        calls = gert("exec", "disk.yaml", "--json").calls
        first_sync = next(n for n, call in enumerate(calls, 1) if call.startswith("fdatasync"))
        place.forget()
        assert_stopped_well(gert("exec", "disk.yaml", "--json", fail_at=first_sync + 1))
        assert place.executed() == ["1"]
        run = place.run()
        refused = gert("resume", "--run", run.name, "--json")
        assert (refused.code, refused.document["error"]["kind"]) == (1, "unknown_outcome")
        assert place.executed() == []
        told = ("--reconcile", "a=done", "--outputs", '{"said": "said-1"}')
        resumed = gert("resume", "--run", run.name, "--json", *told)
        assert resumed.code == 0, resumed.err
        assert sorted(place.executed()) == ["2", "3"]
