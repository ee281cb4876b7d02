"""What a power loss can leave: torn last lines, zeros, lost ends, lost files. Each is gone on from, or is a sentence."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from gertproc import Gert
from lab import Lab, tool

from gert_core.api import GertError, RunError, TraceError
from gert_core.runs.cache import load_state
from gert_core.runs.listing import run_info
from gert_core.stores.directory import DirectoryRun
from gert_core.trace.verify import verify

STEPS = """
- { id: a, type: tool, tool: lab, inputs: { value: 1 } }
- id: b
  type: parallel
  branches:
    - steps: [ { id: c, type: tool, tool: lab, scope: c, inputs: { value: "{{ .a.value }}" } } ]
    - steps: [ { id: d, type: tool, tool: lab, scope: d, inputs: { value: ü } } ]
"""
SIGNED = """\
apiVersion: kernel/v0
meta: { name: signed }
tools: [mark]
steps:
  - { id: act, type: tool, tool: mark }
  - { type: end, outcome: { category: resolved } }
"""
MARK = """\
apiVersion: tool/v0
meta: { name: mark }
contract: { effects: [host], writes: [file] }
actions: { run: { argv: [sh, -c, "echo x >> marks"] } }
"""


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)


class Broken:
    """A finished run whose trace can be cut as often as wanted."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        ran = lab(STEPS)
        ran.assert_outcome("resolved")
        self.run_id, self.trace = ran.result.run_id, ran.result.trace
        self.bytes = self.trace.read_bytes()
        self.lines = self.bytes.splitlines(keepends=True)
        self.home = self.trace.parent
        self.kept = self.home.with_name("kept.whole")
        shutil.copytree(self.home, self.kept)

    def with_trace(self, data: bytes) -> Broken:
        shutil.rmtree(self.home)
        shutil.copytree(self.kept, self.home)
        self.trace.write_bytes(data)
        return self

    def resume(self):
        ran = self.lab.runner.resume(self.run_id)
        ran.assert_outcome("resolved")
        verdict = verify(self.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned"
        return ran


@pytest.fixture
def broken(lab) -> Broken:
    return Broken(lab)


def test_a_last_line_torn_at_any_byte_is_kept_aside_counted_and_gone_on_from(broken):
    whole, last = b"".join(broken.lines[:-1]), broken.lines[-1]
    cuts = (
        range(1, len(last)) if os.environ.get("GERT_FUZZ") else (1, 2, 60, len(last) // 2, len(last) - 2, len(last) - 1)
    )
    for cut in cuts:
        ran = broken.with_trace(whole + last[:cut]).resume()
        assert ran.of("run_resumed")[-1]["torn_bytes"] == cut
        assert (broken.home / "trace.torn").read_bytes() == last[:cut] + b"\n"
        assert broken.trace.read_bytes().startswith(whole)


@pytest.mark.parametrize("zeros", [1, 511, 4096])
@pytest.mark.parametrize("part", [0, 25])
def test_zeros_at_the_end_are_cut(broken, zeros, part):
    count = len(broken.lines) - 1
    data = b"".join(broken.lines[:count]) + broken.lines[count][:part] + bytes(zeros)
    broken.with_trace(data)
    info = run_info(DirectoryRun(broken.home))
    assert (info.status, info.state.seq) == ("interrupted", count)
    assert broken.resume().of("run_resumed")[-1]["torn_bytes"] == part + zeros


def test_whatever_was_not_synced_may_be_lost(broken):
    steps = None
    for count in range(1, len(broken.lines)):
        ran = broken.with_trace(b"".join(broken.lines[:count])).resume()
        steps = steps or ran.steps
        assert ran.steps == steps, count


def test_an_empty_trace_is_a_run_that_never_started(broken):
    for data in (b"", broken.lines[0][:40], bytes(100)):
        with pytest.raises(RunError, match="never started") as caught:
            broken.with_trace(data).resume()
        assert caught.value.kind == "not_resumable"


def test_a_missing_trace_is_a_sentence(broken):
    broken.trace.unlink()
    with pytest.raises(TraceError, match=r"trace\.jsonl cannot be .*No such file"):
        broken.resume()


@pytest.mark.parametrize("data", [None, b"", b"{}", b'{"mode": "dry-run"}'])
def test_a_run_goes_on_without_its_meta_file(broken, data):
    broken.with_trace(b"".join(broken.lines[:5]))
    meta = broken.home / "meta.json"
    meta.unlink() if data is None else meta.write_bytes(data)
    broken.resume()


@pytest.mark.parametrize("data", [b"{", b"[]"])
def test_a_damaged_meta_file_is_a_sentence(broken, data):
    broken.with_trace(b"".join(broken.lines[:5]))
    (broken.home / "meta.json").write_bytes(data)
    with pytest.raises(RunError, match=r"meta\.json is damaged"):
        broken.resume()


@pytest.mark.parametrize("line", [1, 5, -1])
def test_an_altered_line_is_refused(broken, line):
    lines = list(broken.lines[:12])
    lines[line] = lines[line].replace(b'"timestamp":"2', b'"timestamp":"3', 1)
    data = b"".join(lines)
    broken.with_trace(data + broken.lines[12])
    with pytest.raises(TraceError, match="altered") as caught:
        broken.resume()
    assert "trace verify" in (caught.value.hint or "")
    assert broken.trace.read_bytes() == data + broken.lines[12], "an altered trace is left as it is"


def test_a_line_without_a_meaning_is_refused(broken):
    data = b"".join(broken.lines[:5]) + b"null\n"
    with pytest.raises(TraceError, match="altered"):
        broken.with_trace(data).resume()


@pytest.mark.parametrize("cache", [b"", b"{", b"null", b"\0" * 100, b'{"format": 2}'])
def test_a_corrupted_cache_is_rebuilt_and_never_in_the_way(broken, cache):
    broken.with_trace(b"".join(broken.lines[:5]))
    state = broken.home / "state.json"
    state.write_bytes(cache)
    assert load_state(DirectoryRun(broken.home)).seq == 5
    assert json.loads(state.read_bytes())["seq"] == 5
    broken.resume()


def test_a_stale_cache_is_not_believed(broken):
    directory = DirectoryRun(broken.home)
    assert load_state(directory).status == "completed"
    old = (broken.home / "state.json").read_bytes()
    broken.with_trace(b"".join(broken.lines[:5]))
    (broken.home / "state.json").write_bytes(old)
    assert load_state(directory).status == "running"
    broken.resume()


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_an_unreadable_directory_is_a_sentence(broken):
    broken.home.chmod(0)
    try:
        with pytest.raises(GertError):
            broken.resume()
    finally:
        broken.home.chmod(0o700)


def test_a_directory_where_a_file_should_be_is_a_sentence(broken):
    broken.trace.unlink()
    broken.trace.mkdir()
    with pytest.raises(RunError, match="not a regular file"):
        broken.resume()
    assert run_info(DirectoryRun(broken.home)).status == "unreadable"


def test_zeros_in_the_middle_lose_what_stands_behind_them_and_nothing_else(lab):
    steps = "- { id: w, type: tool, tool: once, inputs: { value: 1 } }"
    ran = lab(steps, tools=tool("once", writes="store", idempotent="false"))
    trace = ran.result.trace
    lines = trace.read_bytes().splitlines(keepends=True)
    at = next(n for n, e in enumerate(ran.events) if e.type == "step_complete")
    trace.write_bytes(b"".join(lines[:at]) + bytes(len(lines[at])) + b"".join(lines[at + 1 : -1]))
    assert run_info(DirectoryRun(trace.parent)).state.unknown_outcomes[0].key == "w"
    with pytest.raises(RunError, match="cannot determine whether w took effect"):
        lab.runner.resume(ran.result.run_id)
    lab.runner.resume(ran.result.run_id, reconcile={"w": "done"}).assert_outcome("resolved")
    assert len(lab.calls) == 1


@pytest.mark.parametrize("hole", [1, 64])
def test_zeros_in_front_of_an_event_that_was_synced_were_not_left_by_a_crash(broken, hole):
    """A crash cannot leave zeros in front of what is written only together with everything before it."""
    calls = len(broken.lab.calls)
    for number, line in enumerate(broken.lines[:-1]):
        start = len(line) // 2
        damaged = line[:start] + bytes(hole) + line[start + hole :]
        _refused(broken, b"".join([*broken.lines[:number], damaged, *broken.lines[number + 1 :]]))
        _refused(broken, b"".join([*broken.lines[:number], bytes(len(line)), *broken.lines[number + 1 :]]))
    assert len(broken.lab.calls) == calls


def test_zeros_in_front_of_a_step_that_acted_were_not_left_by_a_crash(broken):
    start = next(n for n, line in enumerate(broken.lines) if b'"idempotency_key"' in line)
    _refused(broken, b"".join([*broken.lines[: start - 1], bytes(600), *broken.lines[start : start + 1]]))


def _refused(broken: Broken, data: bytes) -> None:
    broken.with_trace(data)
    with pytest.raises(TraceError, match="altered") as caught:
        broken.lab.runner.resume(broken.run_id)
    assert caught.value.kind == "trace_altered"
    assert broken.trace.read_bytes() == data, "an altered trace is left as it is"
    assert not (broken.home / "trace.torn").exists()
    info = run_info(DirectoryRun(broken.home))
    assert info.status == "unreadable"
    assert "altered" in str(info.problem)


def test_a_finished_signed_run_with_one_byte_lost_is_neither_executed_nor_signed_again(tmp_path):
    gert = Gert(tmp_path, GERT_TRACE_SIGNING_KEY="c2lnbmluZy1rZXktMDEyMzQ1Njc4OQ==")
    gert.write(book=SIGNED, tool_mark=MARK)
    assert gert("exec", "book.yaml").code == 0
    trace = gert.run() / "trace.jsonl"
    data = bytearray(trace.read_bytes())
    data[len(data) // 2] = 0
    trace.write_bytes(data)
    said = gert("resume", "--run", gert.run().name)
    assert (said.code, "was altered: there are zeros in front of event" in said.err) == (1, True), said.err
    assert trace.read_bytes() == data
    assert (tmp_path / "marks").read_text() == "x\n", "the tool ran once"
    assert "unreadable" in gert("runs", "list").out


def test_the_trace_of_another_run_is_not_gone_on_from(broken):
    other = broken.lab(STEPS)
    data = b"".join(other.result.trace.read_bytes().splitlines(keepends=True)[:5]) + b'{"type":"st'
    broken.with_trace(data)
    with pytest.raises(TraceError, match=f"is of run {other.result.run_id}"):
        broken.lab.runner.resume(broken.run_id)
    assert broken.trace.read_bytes() == data
    assert not (broken.home / "trace.torn").exists()
