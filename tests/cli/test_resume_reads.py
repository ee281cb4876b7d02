"""``gert resume`` reads each file once, and writes nothing before it is sure to go on."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from gert_core.approvals.inbox import entries, respond
from gert_core.stores.directory import DirectoryStore
from gert_core.trace import reader, recovery

BOOK = """\
apiVersion: kernel/v0
meta: { name: book }
tools: [echo]
steps:
  - { id: first, type: tool, tool: echo, action: do }
  - { id: second, type: tool, tool: echo, action: again }
  - { id: done, type: end, outcome: { category: resolved } }
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: echo }
actions:
  do: { argv: [echo, hello], contract: { effects: [], writes: [], reads: [host] } }
  again: { argv: [echo, again], contract: { effects: [network], writes: [], reads: [host] } }
"""
POLICY = """\
apiVersion: policy/v0
meta: { name: floor, version: "1" }
rules: [ { effects: [network], action: require-approval } ]
"""
FILES = {
    "gert-project.yaml": "name: counted\n",
    "book.yaml": BOOK,
    "policy.yaml": POLICY,
    "tools/echo.tool.yaml": TOOL,
}


class Opened:
    """Counts the files below a directory that this process opens."""

    def __init__(self) -> None:
        self.root: str | None = None
        self.counts: Counter[str] = Counter()
        sys.addaudithook(self._hook)  # for good: a hook cannot be taken away again

    def _hook(self, event: str, args: tuple) -> None:
        if event == "open" and self.root is not None and isinstance(args[0], str | bytes):
            path = os.path.realpath(os.fsdecode(args[0]))
            if path.startswith(self.root) and not os.path.isdir(path):  # noqa: PTH112 - a path of any kind
                writing = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
                self.counts[f"{'write' if writing else 'read'} {os.path.basename(path)}"] += 1  # noqa: PTH119

    def __enter__(self) -> Counter[str]:
        self.counts = Counter()
        self.root = str(Path.cwd().resolve())
        return self.counts

    def __exit__(self, *_: object) -> None:
        self.root = None


OPENED = Opened()


@pytest.fixture
def run(tmp_path, monkeypatch, gert) -> Path:
    """The directory of a run that waits for an approval which is given."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    code, _, said = gert("exec", "book.yaml", "--approval", "inbox", "--policy", "policy.yaml")
    assert code == 0, said
    (entry,) = entries(DirectoryStore(tmp_path / "runs"))
    respond(entry, approved=True, approver="bob", reason=None, environ={}, schemes=lambda _: None)
    return next((tmp_path / "runs").glob("[!.]*"))


def test_every_file_is_read_once(run, gert):
    with OPENED as counts:
        code, out, said = gert("resume", "--run", run.name, "--json")
    assert code == 0, out + said
    assert {name: counts[f"read {Path(name).name}"] for name in FILES} == dict.fromkeys(FILES, 1)
    # The trace is read once to its end; then it is opened once more, for the single lines that the run recalls.
    assert (counts["read trace.jsonl"], counts["write trace.jsonl"]) == (2, 1)
    # Before that meta.json says where the trace is, and then what the run was started with.
    assert (counts["read meta.json"], counts["read state.json"]) == (2, 0)


def test_the_whole_trace_is_decoded_once(run, gert, monkeypatch):
    """Recorded results are looked up by their numbers afterwards."""
    decoded = []

    def counting(line, decode=reader.decode):
        decoded.append(line)
        return decode(line)

    before = (run / "trace.jsonl").read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(reader, "decode", counting)
    monkeypatch.setattr(recovery, "decode", counting)
    code, out, said = gert("resume", "--run", run.name, "--json")
    assert code == 0, out + said
    assert decoded == before


def test_a_finished_run_is_read_once_and_not_written(run, gert):
    assert gert("resume", "--run", run.name)[0] == 0
    with OPENED as counts:
        code, out, _ = gert("resume", "--run", run.name, "--json")
    assert (code, json.loads(out)["status"]) == (0, "completed")
    assert (counts["read trace.jsonl"], counts["write trace.jsonl"], counts["read book.yaml"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("args", "change", "said"),
    [
        ((), "book.yaml", "changed since the run started"),
        ((), "policy.yaml", "changed since the run started"),
        (("--ticket", "t-other"), None, "has no open ticket 't-other'"),
        (("--reconcile", "first=done"), None, "whose outcome is not unknown"),
        (("--var", "x=1"), None, "takes only its secret inputs again"),
    ],
)
def test_a_resume_that_is_refused_leaves_the_trace_as_it_is(run, gert, args, change, said):
    trace = run / "trace.jsonl"
    trace.write_bytes(b"".join(trace.read_bytes().splitlines(keepends=True)[:-1]) + b'{"type":"run_susp')
    torn = trace.read_bytes()
    if change is not None:
        Path(change).write_text(Path(change).read_text().replace("name: ", "name: other-"))
    code, _, error = gert("resume", "--run", run.name, *args)
    assert code in (1, 2)
    assert said in error
    assert trace.read_bytes() == torn
    assert not (run / "trace.torn").exists()
