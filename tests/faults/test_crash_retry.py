"""kill -9 at every line of a step that is attempted several times: resumed, it ends with the attempts its policy allows."""

from __future__ import annotations

import pytest
from crash import Bench, Kill, idempotency_key

BOOK = """\
apiVersion: kernel/v0
meta: { name: retried, inputs: { host: {} } }
tools: [flaky]
steps:
  - { id: get, type: tool, tool: flaky, retry: { max: 4, delay: 20ms } }
  - id: done
    type: end
    outcome: { category: resolved, code: ok, meta: { attempts: "{{ .get.attempts }}", retries: "{{ .get.retry_count }}" } }
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: flaky }
contract: { effects: [network], writes: [host], idempotent: true, inputs: { idempotency_key: { type: string } } }
actions: { do: { argv: [flaky, "{{ .idempotency_key }}"] } }
"""
FLAKY = """\
#!/bin/sh
echo "$1" >> effects/flaky
[ $(wc -l < effects/flaky) -ge 3 ] || exit 7
"""
LINES = 11
"""run_start, contract, decision, start, two attempts, complete, those of ``done``, and the end."""


@pytest.fixture
def bench(tmp_path) -> Bench:
    made = Bench(tmp_path)
    made.write({"runbook.yaml": BOOK, "tools/flaky.tool.yaml": TOOL, "bin/flaky": FLAKY})
    return made


def told(bench: Bench) -> list[tuple[int, str]]:
    attempts = (e for e in bench.lines() if e["type"] == "step_attempt" and e["step_key"] == "get")
    return [(e["data"]["attempt"], e["data"]["reason"]) for e in attempts]


@pytest.mark.parametrize("when", ["after", "before"])
@pytest.mark.parametrize("line", range(3, LINES + 1))
def test_a_kill_inside_the_loop_costs_at_most_one_attempt(bench, line, when):
    said = bench.finish(Kill(line, when))
    assert said[-1].returncode == 0, said[-1].stderr
    bench.assert_sound()
    state = bench.state()
    assert (state.status, state.steps["get"].status) == ("completed", "success")
    marks = bench.effects()["flaky"]
    assert set(marks) == {idempotency_key(bench.run_id, "get")}, "the idempotency key stays"
    numbers = [number for number, reason in told(bench) if reason != "not_started"]
    assert numbers == list(range(2, len(numbers) + 2)), "no number twice, none left out"
    assert [reason for _, reason in told(bench)].count("resumed") <= 1
    assert 3 <= len(marks) <= min(4, len(numbers) + 1), "the program succeeds at its third call"
    starts = [e for e in bench.lines() if e["type"] == "step_start" and e["step_key"] == "get"]
    ends = [e for e in bench.lines() if e["type"] == "step_complete" and e["step_key"] == "get"]
    assert (len(starts), len(ends)) == (1, 1)
    meta = state.outcome["meta"]
    assert meta["attempts"] == state.steps["get"].attempts == len(numbers) + 1
    assert meta["retries"] == [reason for _, reason in told(bench)].count("retry")


def test_after_the_last_attempt_was_interrupted_there_is_one_more_and_no_further_one(bench):
    bench.write({"bin/flaky": FLAKY.replace("-ge 3", "-ge 99")})
    said = bench.gert("exec", "runbook.yaml", "--var", "host=web", kill=Kill(9, "before"))
    assert told(bench) == [(2, "retry"), (3, "retry"), (4, "retry")], said.stderr
    called = len(bench.effects()["flaky"])
    assert bench.gert("resume", "--run", bench.run_id).returncode == 1
    assert told(bench)[3:] == [(5, "resumed")]
    assert len(bench.effects()["flaky"]) == called + 1


def test_a_writing_step_that_was_killed_is_not_attempted_again_by_its_policy(bench):
    bench.write({"tools/flaky.tool.yaml": TOOL.replace("idempotent: true", "idempotent: false")})
    bench.gert("exec", "runbook.yaml", "--var", "host=web", kill=Kill(6, "before"))
    again = bench.gert("resume", "--run", bench.run_id)
    assert again.returncode == 1
    assert "cannot determine whether get took effect" in again.stderr
    assert len(bench.effects()["flaky"]) == 1
