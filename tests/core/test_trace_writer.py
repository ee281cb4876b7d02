"""The trace writer: the line, the chain, groups and syncs, failures and seals."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

import pytest

from gert_core.api import ApprovalTicket, Principal
from gert_core.api.errors import TraceError
from gert_core.secrets import Masker
from gert_core.stores.directory import DirectoryRun
from gert_core.trace import sinks
from gert_core.trace import writer as writer_module
from gert_core.trace.recovery import CheckedTrace
from gert_core.trace.signing import Signer
from gert_core.trace.sinks import FileSink
from gert_core.trace.writer import TraceWriter

NOON = datetime(2026, 1, 2, 12, 0, 0, 7, tzinfo=UTC)


def open_writer(path, *, append: bool = False, **options) -> TraceWriter:
    return TraceWriter(FileSink(path, append=append), **{"run_id": "r1", "clock": lambda: NOON, **options})


def lines(path) -> list[bytes]:
    data = path.read_bytes()
    assert data.endswith(b"\n")
    return data[:-1].split(b"\n")


# An auditor's script: nothing but the standard library and the documented format.
AUDIT = """
import hashlib, sys
previous, count = "0" * 64, 0
for line in open(sys.argv[1], "rb"):
    assert line.endswith(b"\\n")
    line = line[:-1]
    end = b',"prev_hash":"' + previous.encode() + b'"}'
    if not line.endswith(end):
        sys.exit(f"broken at event {count + 1}")
    previous, count = hashlib.sha256(line).hexdigest(), count + 1
print(count)
"""


def audit(path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-I", "-c", AUDIT, path], capture_output=True, text=True, check=False)


def test_the_line_is_laid_out_exactly(tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    trace = open_writer(path)
    trace.add(
        "step_start", {"z": 1, "a": ["ü", None, True, 1.5]}, step_key='a"b', principal={"kind": "human", "id": "x"}
    )
    trace.add("note", {})
    trace.close()
    first, second = lines(path)
    assert first == (
        b'{"type":"step_start","timestamp":"2026-01-02T12:00:00.000007Z","run_id":"r1","seq":1,"step_key":"a\\"b",'
        b'"principal":{"kind":"human","id":"x"},"data":{"z":1,"a":["\xc3\xbc",null,true,1.5]},"prev_hash":"'
        + b"0" * 64
        + b'"}'
    )
    assert second == (
        b'{"type":"note","timestamp":"2026-01-02T12:00:00.000007Z","run_id":"r1","seq":2,"data":{},"prev_hash":"'
        + sha256(first).hexdigest().encode()
        + b'"}'
    )


def test_times_are_written_in_utc(tmp_path) -> None:
    east = timezone(timedelta(hours=5))
    trace = open_writer(tmp_path / "t", clock=lambda: datetime(2026, 1, 1, 1, 2, 3, tzinfo=east))
    trace.add("note", {})
    trace.close()
    assert json.loads(lines(tmp_path / "t")[0])["timestamp"] == "2025-12-31T20:02:03.000000Z"


def test_an_independent_script_confirms_the_chain(tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    trace = open_writer(path)
    for number in range(200):
        trace.add("note", {"n": number, "text": "ä\n\u2028\x00"}, step_key=f"s{number}")
    trace.close_run("run_complete", {"status": "completed"})
    trace.close()
    assert audit(path).stdout == "201\n"
    damaged = path.read_bytes().replace(b'"n":77', b'"n":78')
    path.write_bytes(damaged)
    assert audit(path).stderr == "broken at event 79\n"


def test_encoded_data_is_taken_as_it_is(tmp_path) -> None:
    trace = open_writer(tmp_path / "t")
    body = trace.encode({"b": 1, "a": 2})
    assert body == b'{"b":1,"a":2}'
    trace.add("note", {}, encoded=body)
    trace.add("note", {"b": 1, "a": 2})
    trace.close()
    assert [json.loads(line)["data"] for line in lines(tmp_path / "t")] == [{"b": 1, "a": 2}] * 2


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), object(), {1, "a"}, {("k",): 1}, 10**5000],
    ids=["nan", "inf", "object", "set", "key", "huge"],
)
def test_what_is_no_json_is_refused_and_the_trace_goes_on(tmp_path, value) -> None:
    trace = open_writer(tmp_path / "t")
    with pytest.raises(TraceError, match="cannot be encoded as JSON"):
        trace.add("note", {"v": value})
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(TraceError, match="cannot be encoded as JSON"):
        trace.add("note", {"v": loop})
    trace.add("note", {"v": "fine"})
    trace.close()
    assert len(lines(tmp_path / "t")) == 1


def test_lone_surrogates_survive(tmp_path) -> None:
    trace = open_writer(tmp_path / "t")
    trace.add("note", {"v": "a\ud800b"}, step_key="\udcff")
    trace.close()
    event = json.loads(lines(tmp_path / "t")[0])
    assert (event["data"]["v"], event["step_key"]) == ("a\ud800b", "\udcff")


def test_nothing_is_written_before_commit_and_a_group_is_one_write(tmp_path, monkeypatch) -> None:
    writes: list[int] = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: writes.append(len(data)) or real(fd, data))
    path = tmp_path / "t"
    trace = open_writer(path)
    for _ in range(5):
        trace.add("note", {"a": 1})
    assert path.read_bytes() == b""
    trace.commit()
    trace.commit()
    assert len(lines(path)) == 5
    assert len(writes) == 1
    trace.close()
    assert len(writes) == 1


def count_syncs(monkeypatch, hold: threading.Event | None = None) -> list[int]:
    calls: list[int] = []
    real = sinks._fdatasync

    def fake(fd: int) -> None:
        calls.append(os.fstat(fd).st_size)
        if hold is not None:
            hold.wait(10)
        real(fd)

    monkeypatch.setattr(sinks, "_fdatasync", fake)
    return calls


def test_sync_modes(tmp_path, monkeypatch) -> None:
    calls = count_syncs(monkeypatch)
    expected = {"group": 2, "event": 3, "none": 0}
    for mode, syncs in expected.items():
        calls.clear()
        trace = open_writer(tmp_path / mode, sync=mode)
        trace.add("note", {})
        trace.sync()
        trace.sync()
        trace.add("note", {})
        trace.add("note", {})
        trace.close()
        assert len(calls) == syncs, mode
        assert len(lines(tmp_path / mode)) == 3


def test_one_sync_serves_all_waiting_threads(tmp_path, monkeypatch) -> None:
    hold = threading.Event()
    calls = count_syncs(monkeypatch, hold)
    trace = open_writer(tmp_path / "t")
    trace.add("note", {"n": 0})
    first = threading.Thread(target=trace.sync)
    first.start()
    while not calls:
        time.sleep(0.001)
    waiting = 20
    added = threading.Barrier(waiting + 1)

    def work(number: int) -> None:
        trace.add("note", {"n": number})
        added.wait(10)
        trace.sync()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(waiting)]
    for thread in threads:
        thread.start()
    added.wait(10)
    hold.set()
    for thread in (first, *threads):
        thread.join(10)
    assert len(calls) == 2
    assert calls[-1] == (tmp_path / "t").stat().st_size
    trace.close()


def test_many_threads_make_one_chain(tmp_path) -> None:
    path = tmp_path / "t"
    trace = open_writer(path)

    def work(name: str) -> None:
        for number in range(100):
            trace.add("note", {"n": number}, step_key=name)
            if number % 7 == 0:
                trace.commit()
            if number % 31 == 0:
                trace.sync()

    threads = [threading.Thread(target=work, args=(f"s{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    trace.close_run("run_complete", {"status": "completed"})
    trace.close()
    events = [json.loads(line) for line in lines(path)]
    assert [event["seq"] for event in events] == list(range(1, 802))
    assert audit(path).stdout == "801\n"
    mine = [event["data"]["n"] for event in events if event.get("step_key") == "s3"]
    assert mine == list(range(100))


def test_short_writes_are_continued(tmp_path, monkeypatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:7]))
    path = tmp_path / "t"
    trace = open_writer(path)
    trace.add("note", {"a": 1})
    trace.add("note", {"b": 2})
    trace.close()
    assert len(lines(path)) == 2
    assert audit(path).stdout == "2\n"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failing_write_keeps_whole_lines_and_is_final(tmp_path, monkeypatch, code) -> None:
    path = tmp_path / "t"
    trace = open_writer(path)
    trace.add("note", {"n": 1})
    trace.commit()
    real = os.write
    room = [250]

    def full(fd: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(code, os.strerror(code))
        taken, room[0] = min(room[0], len(data)), 0
        return real(fd, data[:taken])

    monkeypatch.setattr(os, "write", full)
    for number in (2, 3, 4):
        trace.add("note", {"n": number})
    with pytest.raises(TraceError, match=re.escape(f"{path} cannot be written: {os.strerror(code)}")) as caught:
        trace.sync()
    assert caught.value.hint
    monkeypatch.undo()
    for call in (
        lambda: trace.add("note", {}),
        trace.commit,
        trace.sync,
        lambda: trace.close_run("run_complete", {"s": 1}),
    ):
        with pytest.raises(TraceError) as again:
            call()
        assert again.value is caught.value
    trace.close()
    kept = [json.loads(line)["data"]["n"] for line in lines(path)]
    assert kept == [1, 2]


def test_a_failing_sync_is_final(tmp_path, monkeypatch) -> None:
    trace = open_writer(tmp_path / "t")
    trace.add("note", {})

    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(sinks, "_fdatasync", broken)
    with pytest.raises(TraceError, match="cannot be synced to disk"):
        trace.sync()
    monkeypatch.undo()
    with pytest.raises(TraceError, match="cannot be synced to disk"):
        trace.add("note", {})
    trace.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_is_no_trace() -> None:
    with pytest.raises(TraceError, match="not a regular file"):
        open_writer(Path("/dev/full"))


def test_files_that_cannot_be_the_trace(tmp_path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        open_writer(tmp_path / "missing" / "t")
    with pytest.raises(TraceError, match="directory"):
        open_writer(tmp_path)
    (tmp_path / "old").write_text("{}\n")
    with pytest.raises(TraceError, match="contains an earlier run") as caught:
        open_writer(tmp_path / "old")
    assert "new file" in caught.value.hint
    assert (tmp_path / "old").read_text() == "{}\n"
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(TraceError):
        open_writer(tmp_path / "fifo")


def test_an_empty_file_is_taken_and_a_second_writer_refused(tmp_path) -> None:
    path = tmp_path / "t"
    path.touch()
    trace = open_writer(path)
    with pytest.raises(TraceError, match="another run"):
        open_writer(path)
    trace.close()


def test_the_file_is_private_and_its_directory_synced(tmp_path, monkeypatch) -> None:
    synced: list[bool] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(stat.S_ISDIR(os.fstat(fd).st_mode)) or real(fd))
    old = os.umask(0)
    try:
        open_writer(tmp_path / "t").close()
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o600
    assert True in synced


def test_an_appending_writer_continues_the_chain(tmp_path) -> None:
    path = tmp_path / "t"
    trace = open_writer(path)
    trace.add("run_start", {})
    trace.close_run("run_suspended", {"status": "approval_pending"})
    trace.close()
    more = open_writer(path, append=True, start_seq=trace.seq, prev_hash=trace.prev_hash)
    more.add("run_resumed", {})
    more.close_run("run_complete", {"status": "completed"})
    more.close()
    assert [json.loads(line)["seq"] for line in lines(path)] == [1, 2, 3, 4]
    assert audit(path).stdout == "4\n"


def test_the_seal(tmp_path) -> None:
    path = tmp_path / "t"
    seen: list[bytes] = []
    signer = Signer(algorithm="toy", key_id="k-1", sign=lambda message: seen.append(message) or "c0ffee")
    trace = open_writer(path, signer=signer)
    trace.add("run_start", {})
    trace.close_run("run_complete", {"status": "completed", "outcome": {"meta": {}}})
    trace.close()
    line = lines(path)[-1]
    found = re.search(rb',"chain_hash":"([0-9a-f]{64})","signature":"c0ffee"(?=\},"prev_hash":"[0-9a-f]{64}"\}$)', line)
    assert found
    assert sha256(line[: found.start()] + line[found.end() :]).hexdigest().encode() == found.group(1)
    assert seen == [found.group(1)]
    data = json.loads(line)["data"]
    assert list(data) == ["status", "outcome", "signature_alg", "signing_key_id", "chain_hash", "signature"]
    assert (data["signature_alg"], data["signing_key_id"]) == ("toy", "k-1")


def test_nothing_follows_the_seal(tmp_path) -> None:
    trace = open_writer(tmp_path / "t")
    with pytest.raises(ValueError, match="cannot seal"):
        trace.close_run("step_complete", {"status": "x"})
    with pytest.raises(ValueError, match="cannot seal"):
        trace.close_run("run_complete", {})
    with pytest.raises(ValueError, match="cannot seal"):
        trace.close_run("run_complete", {"status": "x", "signature": "forged"})
    trace.close_run("run_complete", {"status": "completed"})
    with pytest.raises(TraceError, match="closed"):
        trace.add("note", {})
    trace.close()
    trace.close()
    with pytest.raises(TraceError, match="closed"):
        trace.add("note", {})


def test_secrets_are_masked_in_data_only(tmp_path) -> None:
    trace = open_writer(tmp_path / "t", run_id="hunter22", masker=Masker({"PW": "hunter22"}))
    trace.add("note", {"a": ["x hunter22"], "hunter22": {"n": 1}, "lit": "<REDACTED:PW>"}, step_key="hunter22")
    trace.close()
    event = json.loads(lines(tmp_path / "t")[0])
    assert event["data"] == {"a": ["x <REDACTED:PW>"], "hunter22": {"n": 1}, "lit": "<REDACTED::PW>"}
    assert (event["run_id"], event["step_key"]) == ("hunter22", "hunter22")


def test_secrets_are_masked_in_whatever_is_written_as_text(tmp_path) -> None:
    trace = open_writer(tmp_path / "t", masker=Masker({"PW": "hunter22"}))
    trace.add("note", {"path": Path("/x/hunter22"), "set": {"hunter22"}, "map": MappingProxyType({"a": "hunter22"})})
    trace.add("note", {"record": Principal(id="hunter22")})
    with pytest.raises(TraceError, match="cannot be encoded as JSON"):
        trace.add("note", {"x": "hunter22", "record": ApprovalTicket(ticket_id="hunter22")})
    trace.close()
    assert b"hunter22" not in (tmp_path / "t").read_bytes()
    data = json.loads(lines(tmp_path / "t")[0])["data"]
    assert data == {"path": "/x/<REDACTED:PW>", "set": ["<REDACTED:PW>"], "map": {"a": "<REDACTED:PW>"}}


def test_observers_see_written_events_in_order_and_a_failing_one_is_dropped(tmp_path, caplog) -> None:
    path = tmp_path / "t"
    seen: list[tuple[int, bool]] = []
    calls: list[int] = []

    def watch(event) -> None:
        seen.append((event.seq, b'"seq":%d,' % event.seq in path.read_bytes()))
        assert threading.current_thread() is not threading.main_thread()

    def fails(event) -> None:
        calls.append(event.seq)
        raise RuntimeError("no")

    trace = open_writer(path, observers=[("bad", fails), ("good", watch)])
    for _ in range(10):
        trace.add("note", {"v": 1}, step_key="s")
        trace.commit()
    trace.close()
    assert seen == [(n, True) for n in range(1, 11)]
    assert calls == [1]
    assert [(r.name, r.getMessage()) for r in caplog.records] == [
        ("gert.trace", "trace observer bad failed and was dropped: RuntimeError('no')")
    ]


def test_without_observers_there_is_no_thread(tmp_path) -> None:
    before = threading.active_count()
    trace = open_writer(tmp_path / "t")
    trace.add("note", {})
    trace.commit()
    assert threading.active_count() == before
    trace.close()


def test_a_step_that_never_commits_does_not_fill_the_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(writer_module, "_VALVE", 1000)
    trace = open_writer(tmp_path / "t")
    for _ in range(50):
        trace.add("note", {"text": "x" * 100})
    assert (tmp_path / "t").stat().st_size > 5000
    trace.close()
    assert audit(tmp_path / "t").stdout == "50\n"


LIMITED = """
import resource, signal, sys
from pathlib import Path
from gert_core.api.errors import TraceError
from gert_core.trace.sinks import FileSink
from gert_core.trace.writer import TraceWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
trace = TraceWriter(FileSink(Path(sys.argv[1])), run_id="r1")
try:
    while True:
        for _ in range(3):
            trace.add("note", {"text": "x" * 100})
        trace.sync()
except TraceError as error:
    print(error.message)
"""


def test_a_full_disk_stops_the_run_and_loses_nothing_written(tmp_path) -> None:
    path = tmp_path / "t"
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=True)
    assert done.stdout == f"the trace {path} cannot be written: File too large; the run stops here\n"
    assert 4000 < path.stat().st_size <= 5000
    assert int(audit(path).stdout) == len(lines(path))


ENDLESS = """
import sys
from pathlib import Path
from gert_core.trace.sinks import FileSink
from gert_core.trace.writer import TraceWriter
trace = TraceWriter(FileSink(Path(sys.argv[1])), run_id="r1", sync="none")
print("on", flush=True)
while True:
    for _ in range(5):
        trace.add("note", {"text": "x" * 5000})
    trace.commit()
"""


def test_a_killed_writer_leaves_a_chain_that_goes_on(tmp_path) -> None:
    (tmp_path / "r1").mkdir()
    path = tmp_path / "r1" / "trace.jsonl"
    with subprocess.Popen([sys.executable, "-c", ENDLESS, path], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"on\n"
        while path.stat().st_size < 200_000:
            time.sleep(0.001)
        child.kill()
    run = DirectoryRun(path.parent)
    trace = CheckedTrace(run)
    assert {event.type for event in trace} == {"note"}
    found = trace.end
    run.recover()
    assert found.seq == len(lines(path)) > 20
    more = open_writer(path, append=True, start_seq=found.seq, prev_hash=found.prev_hash)
    more.add("run_resumed", {})
    more.close()
    assert audit(path).stdout == f"{found.seq + 1}\n"


def test_what_is_told_comes_behind_the_events_that_are_written(tmp_path):
    seen = []
    writer = open_writer(tmp_path / "t", observers=[("one", lambda event: seen.append(event.type))])
    writer.add("first", {})
    writer.commit()
    writer.tell(lambda: seen.append("told"))
    writer.tell(lambda: 1 / 0)
    writer.add("second", {})
    writer.close()
    assert seen == ["first", "told", "second"]


def test_nobody_is_told_without_observers(tmp_path):
    writer = open_writer(tmp_path / "t")
    writer.tell(lambda: pytest.fail("nobody observes"))
    writer.close()
