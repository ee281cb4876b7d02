"""What a power loss can leave: torn last lines, zeros, lost ends, lost files. Each is gone on from, or is a sentence."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from lab import Lab, tool

from gert_core.api import GertError, RunError, TraceError
from gert_core.runs.directory import RunDirectory
from gert_core.runs.listing import run_info
from gert_core.trace.verify import verify

STEPS = """
- { id: a, type: tool, tool: lab, inputs: { value: 1 } }
- id: b
  type: parallel
  branches:
    - steps: [ { id: c, type: tool, tool: lab, scope: c, inputs: { value: "{{ .a.value }}" } } ]
    - steps: [ { id: d, type: tool, tool: lab, scope: d, inputs: { value: ü } } ]
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
    info = run_info(RunDirectory(broken.home))
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
    assert RunDirectory(broken.home).state().seq == 5
    assert json.loads(state.read_bytes())["seq"] == 5
    broken.resume()


def test_a_stale_cache_is_not_believed(broken):
    directory = RunDirectory(broken.home)
    assert directory.state().status == "completed"
    old = (broken.home / "state.json").read_bytes()
    broken.with_trace(b"".join(broken.lines[:5]))
    (broken.home / "state.json").write_bytes(old)
    assert directory.state().status == "running"
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
    assert run_info(RunDirectory(broken.home)).status == "unreadable"


def test_zeros_in_the_middle_lose_what_stands_behind_them_and_nothing_else(lab):
    steps = "- { id: w, type: tool, tool: once, inputs: { value: 1 } }"
    ran = lab(steps, tools=tool("once", writes="store", idempotent="false"))
    trace = ran.result.trace
    lines = trace.read_bytes().splitlines(keepends=True)
    at = next(n for n, e in enumerate(ran.events) if e.type == "step_complete")
    trace.write_bytes(b"".join(lines[:at]) + bytes(len(lines[at])) + b"".join(lines[at + 1 :]))
    assert run_info(RunDirectory(trace.parent)).state.unknown_outcomes[0].key == "w"
    with pytest.raises(RunError, match="cannot determine whether w took effect"):
        lab.runner.resume(ran.result.run_id)
    lab.runner.resume(ran.result.run_id, reconcile={"w": "done"}).assert_outcome("resolved")
    assert len(lab.calls) == 1
