"""Several processes resume the same run at once: exactly one goes on."""

from __future__ import annotations

import json
import signal
import threading

import pytest
from crash import Bench, Kill

TOOL = """
apiVersion: tool/v0
meta: { name: slow, binary: slow }
actions:
  do:
    argv: [slow]
    contract: { effects: [pushes], writes: [registry], idempotent: true, outputs: {} }
"""
RUNBOOK = """
apiVersion: kernel/v0
meta: { name: race, inputs: { host: { type: string } } }
tools: [slow]
steps:
  - { id: a, type: tool, tool: slow }
  - { type: end, outcome: { category: resolved } }
"""
SLOW = """#!/bin/sh
echo "$GERT_IDEMPOTENCY_KEY" >> effects/slow
n=0
while [ ! -e go ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n + 1)); done
"""


@pytest.mark.parametrize("count", [2, 10])
def test_exactly_one_goes_on(tmp_path, count):
    bench = Bench(tmp_path)
    bench.write({"runbook.yaml": RUNBOOK, "tools/slow.tool.yaml": TOOL, "bin/slow": SLOW})
    assert bench.gert("exec", "runbook.yaml", kill=Kill(4)).returncode == -signal.SIGKILL
    assert bench.effects() == {}
    said, done = [], threading.Semaphore(0)

    def resume() -> None:
        said.append(bench.gert("resume", "--run", bench.run_id, "--json"))
        done.release()

    threads = [threading.Thread(target=resume) for _ in range(count)]
    for thread in threads:
        thread.start()
    for _ in range(count - 1):  # everybody else has given up while the one still works
        assert done.acquire(timeout=60)
    (tmp_path / "go").touch()
    for thread in threads:
        thread.join(60)
    refused = [json.loads(one.stdout)["error"] for one in said if one.returncode == 1]
    assert [one.returncode for one in said].count(0) == 1
    assert [error["kind"] for error in refused] == ["run_locked"] * (count - 1)
    assert all("is being executed by process" in error["message"] for error in refused)
    assert len(bench.effects()["slow"]) == 1
    assert [event["type"] for event in bench.lines()].count("run_resumed") == 1
    bench.assert_sound()
    # When it is over, there is nothing left to fight for.
    again = bench.gert("resume", "--run", bench.run_id, "--json")
    assert (again.returncode, json.loads(again.stdout)["status"]) == (0, "completed")
    assert len(bench.effects()["slow"]) == 1


def test_a_run_under_way_is_not_resumed(tmp_path):
    bench = Bench(tmp_path)
    bench.write({"runbook.yaml": RUNBOOK, "tools/slow.tool.yaml": TOOL, "bin/slow": SLOW})
    first = []
    thread = threading.Thread(target=lambda: first.append(bench.gert("exec", "runbook.yaml", "--json")))
    thread.start()
    while not (tmp_path / "effects" / "slow").exists():
        thread.join(0.05)
    said = bench.gert("resume", "--run", bench.run_id)
    assert said.returncode == 1
    assert "is being executed by process" in said.stderr
    listed = json.loads(bench.gert("runs", "list", "--json").stdout)["runs"]
    assert [run["status"] for run in listed] == ["running"]
    (tmp_path / "go").touch()
    thread.join(60)
    assert json.loads(first[0].stdout)["status"] == "completed"
