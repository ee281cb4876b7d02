"""A resumed run goes on in the directory it was started in, wherever ``gert resume`` is called, or not at all."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from gertproc import COMMAND, Gert, Said

import gert_core
from gert_core.api import RunError

if TYPE_CHECKING:
    from pathlib import Path

BOOK = """\
apiVersion: kernel/v0
meta:
  name: placed
  governance: { rules: [ { effects: [host], action: require-approval } ] }
tools: [where]
steps:
  - { id: before, type: tool, tool: where, action: look }
  - { id: after, type: tool, tool: where, action: act }
  - { type: end, outcome: { category: resolved, code: ok, meta: { before: "{{ .before.dir }}", after: "{{ .after.dir }}" } } }
"""
WHERE = """\
apiVersion: tool/v0
meta: { name: where }
actions:
  look:
    argv: [pwd]
    contract: { effects: [], writes: [], reads: [directory], outputs: { dir: { type: string } } }
    extract: { dir: { from: stdout } }
  act:
    argv: [sh, -c, "pwd; touch acted"]
    contract: { effects: [host], writes: [directory], outputs: { dir: { type: string } } }
    extract: { dir: { from: stdout } }
"""


class Placed(Gert):
    """A project with two directories below it; a run started in one of them waits, with its approval given."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.write(book=BOOK, tool_where=WHERE, **{"gert-project": "name: placed\n"})
        self.started, self.other = root / "started", root / "other"
        for directory in (self.started, self.other):
            directory.mkdir()
        said = self.at(self.started, "exec", "../book.yaml", "--approval", "inbox")
        assert said.code == 0, said.err
        (ticket,) = (self.run() / "tickets").iterdir()
        said = self.at(root, "approve", ticket.name.partition(".")[0], "--as", "bob")
        assert said.code == 0, said.err

    def at(self, directory: Path, *argv: str) -> Said:
        done = subprocess.run(
            [*COMMAND, *argv], cwd=directory, capture_output=True, env=self.environ, timeout=60, check=False
        )
        return Said(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


@pytest.fixture
def placed(tmp_path) -> Placed:
    return Placed(tmp_path)


def test_a_run_goes_on_where_it_was_started(placed):
    said = placed.at(placed.other, "resume", "--run", placed.run().name, "--json")
    assert said.code == 0, said.err
    meta = json.loads(said.out)["outcome"]["meta"]
    assert meta == {"before": str(placed.started), "after": str(placed.started)}
    assert (placed.started / "acted").exists()
    assert not (placed.other / "acted").exists()
    assert f"in {placed.started}, where the run was started" in said.err


def test_a_run_whose_directory_is_gone_is_refused(placed):
    trace = (placed.run() / "trace.jsonl").read_bytes()
    placed.started.rename(placed.root / "moved")
    said = placed.at(placed.other, "resume", "--run", placed.run().name)
    assert said.code == 1
    assert f"was started in {placed.started}" in said.err
    assert "No such file or directory" in said.err
    assert (placed.run() / "trace.jsonl").read_bytes() == trace
    assert not (placed.other / "acted").exists()


def test_a_finished_run_shows_its_result_without_its_directory(placed):
    assert placed.at(placed.started, "resume", "--run", placed.run().name).code == 0
    placed.started.rename(placed.root / "moved")
    said = placed.at(placed.other, "resume", "--run", placed.run().name)
    assert (said.code, "nothing was executed" in said.out) == (0, True)


def test_a_host_in_another_directory_is_refused(placed, monkeypatch):
    monkeypatch.chdir(placed.other)
    with pytest.raises(RunError, match=f"was started in {placed.started}") as caught:
        gert_core.resume(placed.run().name, root=placed.root / "runs")
    assert caught.value.kind == "not_resumable"
    monkeypatch.chdir(placed.started)
    result = gert_core.resume(placed.run().name, root=placed.root / "runs")
    assert result.outcome.code == "ok"
