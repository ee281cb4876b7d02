"""Many things at once: items that fail at random, runs that start together; nothing is lost, mixed or doubled."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from lab import Lab

from gert_core.runs.directory import new_run_id
from gert_core.runs.listing import list_runs
from gert_core.stores.directory import DirectoryRun, DirectoryStore
from gert_core.trace.verify import verify

FUZZ = bool(os.environ.get("GERT_FUZZ"))
ITEMS = """
- id: each
  type: tool
  tool: lab
  action: do
  continue_on_fail: {go_on}
  for_each: {{ over: "{{{{ .plan }}}}", as: one, parallel: true, max_parallel: 40 }}
  inputs: {{ value: "{{{{ .one.n }}}}", exit: "{{{{ .one.exit }}}}", pause: "{{{{ .one.pause }}}}" }}
"""
META = "inputs: { plan: { type: list } }"


@pytest.mark.parametrize("seed", range(10 if FUZZ else 2))
@pytest.mark.parametrize("go_on", ["true", "false"])
def test_five_hundred_parallel_items_of_which_some_fail(tmp_path, seed, go_on):
    """All items finish, every result stands at its item's place, the failing keys are named in order."""
    chance = random.Random(seed)
    plan = [
        {"n": n, "exit": chance.choice([0, 0, 0, 1]), "pause": chance.choice([0.0, 0.0, 0.002, 0.01])}
        for n in range(500)
    ]
    lab = Lab(tmp_path)
    ran = lab(ITEMS.format(go_on=go_on), meta=META, inputs={"plan": plan})
    bad = [item["n"] for item in plan if item["exit"]]
    assert sorted(lab.values()) == list(range(500)), "each item ran exactly once"
    assert {key for key, status in ran.steps.items() if status == "failed" and "[" in key} == {
        f"each[{n}]" for n in bad
    }
    entry = ran.result.variables.resolve(("each",))
    assert [value["value"] for value in entry if value] == [n for n in range(500) if entry[n]]
    assert len(entry) == 500
    starts = [e.step_key for e in ran.events if e.type == "step_start" and "[" in e.step_key]
    ends = [e.step_key for e in ran.events if e.type == "step_complete" and "[" in e.step_key]
    assert len(starts) == len(ends) == len(set(starts)) == len(set(ends)) == 500
    assert [e.seq for e in ran.events] == list(range(1, len(ran.events) + 1))
    verdict = verify(ran.result.trace, key_for=lambda alg, key: None, schemes=lambda alg: None)
    assert str(verdict.status) == "unsigned"
    if go_on == "true":
        ran.assert_outcome("resolved")
    else:
        assert ran.status == "failed"
        assert [failure.key for failure in ran.result.failures] == [f"each[{n}]" for n in bad]


BOOK = """\
apiVersion: kernel/v0
meta: {name: together, inputs: {n: {type: int}}}
steps:
  - {type: assert, assert: [{type: equals, value: "{{ .n }}", expected: "{{ .n }}"}]}
  - {type: end, outcome: {category: resolved, code: "n-{{ .n }}"}}
"""
STARTER = """\
import os, sys
from gert_core.cli import main
count, first = int(sys.argv[1]), int(sys.argv[2])
stdout = sys.stdout
sys.stdout = open(os.devnull, "w")
os.makedirs(f"warm/{first}")
os.chdir(f"warm/{first}")  # a run of its own first, so that the others need not import what it has
main(["exec", "../../book.yaml", "--json", "--var", "n=0"])
os.chdir("../..")
sys.stdout = stdout
children = []
for n in range(first, first + count):
    pid = os.fork()
    if pid == 0:
        out = os.open(f"out-{n}.json", os.O_WRONLY | os.O_CREAT)
        os.dup2(out, 1)
        code = main(["exec", "book.yaml", "--json", "--var", f"n={n}"])
        sys.stdout.flush()
        os._exit(code)
    children.append(pid)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))
"""


def test_many_runs_at_once_from_separate_processes(tmp_path):
    """Runs that start in the same second in the same place have directories, traces and results of their own."""
    count = 200 if FUZZ else 60
    (tmp_path / "book.yaml").write_text(BOOK)
    halves = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, str(count // 2), str(first)],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        for first in (0, count // 2)
    ]
    for half in halves:
        _, said = half.communicate(timeout=300)
        assert half.returncode == 0, said[-2000:]
    results = [json.loads((tmp_path / f"out-{n}.json").read_text()) for n in range(count)]
    assert [result["outcome"]["code"] for result in results] == [f"n-{n}" for n in range(count)]
    assert len({result["run_id"] for result in results}) == count
    infos = list(list_runs(DirectoryStore(tmp_path / "runs")))
    assert {info.run_id: info.status for info in infos} == {r["run_id"]: "completed" for r in results}
    for result in results:
        verdict = verify(DirectoryRun(tmp_path / "runs" / result["run_id"]), key_for=_none, schemes=_none)
        assert str(verdict.status) == "unsigned"


def _none(*_):
    return None


def test_two_runs_of_the_same_second_have_different_names():
    """The name of a run ends with random characters, so the second it started in does not matter."""
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    names = {new_run_id("Same Book", now=now) for _ in range(1000)}
    assert len(names) == 1000
    assert all(re.fullmatch(r"20260102T030405Z-same-book-[0-9a-f]{8}", name) for name in names)


def test_a_run_directory_is_never_shared(tmp_path):
    """Should two runs ever get the same name, the second one is refused and the first one's trace is not touched."""
    DirectoryStore(tmp_path).create("r1", blobs={"meta.json": b"{}"})
    with pytest.raises(Exception, match="there is a run r1"):
        DirectoryStore(tmp_path).create("r1", blobs={})
    assert DirectoryStore(tmp_path).open("r1").get("meta.json") == b"{}"
