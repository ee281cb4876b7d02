"""``gert resume`` and ``gert runs`` as processes: results of finished runs, lists, advice, JSON, errors as sentences."""

from __future__ import annotations

import json
import shlex
import signal

import pytest
from crash import Bench, Kill
from gertproc import RESULT_FIELDS

TOOL = """
apiVersion: tool/v0
meta: { name: shell, binary: sh }
actions:
  read:
    argv: [sh, -c, "echo $GERT_IDEMPOTENCY_KEY >> effects/read; test ! -e sick && echo hello"]
    contract: { effects: [network], writes: [], outputs: { said: { type: string } } }
    extract: { said: { from: stdout } }
  write:
    argv: [sh, -c, "echo $GERT_IDEMPOTENCY_KEY >> effects/write; test ! -e sick && echo written"]
    contract: { effects: [pushes], writes: [registry], outputs: { wrote: { type: string } } }
    extract: { wrote: { from: stdout } }
"""
RUNBOOK = """
apiVersion: kernel/v0
meta: { name: small, governance: { rules: [ { writes: [nothing], action: deny } ] } }
tools: [shell]
steps:
  - { id: read, type: tool, tool: shell, action: read }
  - { id: write, type: tool, tool: shell, action: write }
  - { id: done, type: end, outcome: { category: resolved, code: fine, meta: { said: "{{ .said }}", n: 3 } } }
"""


def make(root) -> Bench:
    made = Bench(root)
    made.write({"runbook.yaml": RUNBOOK, "tools/shell.tool.yaml": TOOL})
    return made


@pytest.fixture
def bench(tmp_path) -> Bench:
    return make(tmp_path)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory) -> Bench:
    """A run that was killed when its second step, which writes, had been started."""
    made = make(tmp_path_factory.mktemp("interrupted"))
    assert made.gert("exec", "runbook.yaml", kill=Kill(8)).returncode == -signal.SIGKILL
    return made


def placeless(document: dict) -> dict:
    """A result without its duration, and without where its steps stand, which a trace does not tell."""
    steps = [
        {name: value for name, value in step.items() if name not in ("file", "line")} for step in document["steps"]
    ]
    return {**document, "duration": "", "steps": steps}


def test_resuming_a_completed_run_prints_its_result_and_executes_nothing(bench):
    first = bench.gert("exec", "runbook.yaml", "--json")
    assert first.returncode == 0, first.stderr
    trace = bench.trace.read_bytes()
    again = bench.gert("resume", "--run", bench.run_id, "--json")
    assert again.returncode == 0
    one, two = json.loads(first.stdout), json.loads(again.stdout)
    assert list(one) == list(two) == RESULT_FIELDS
    assert placeless(one) == placeless(two)
    assert one["outputs"] == {"said": "hello", "wrote": "written"}
    said = bench.gert("resume", "--run", bench.run_id, "--reconcile", "write=redo", "--ticket", "t-0").stdout
    assert said.startswith("✓ Outcome: resolved (fine) [real]\n  said: hello\n  n: 3\n  duration: ")
    assert "nothing was executed" in said
    assert f"  trace: {bench.trace}" in said
    # It is a result, not a run: neither the runbook nor its tools are needed any more.
    (bench.root / "runbook.yaml").unlink()
    (bench.root / "tools/shell.tool.yaml").unlink()
    assert bench.gert("resume", "--run", bench.run_id).returncode == 0
    assert bench.trace.read_bytes() == trace
    assert {name: len(keys) for name, keys in bench.effects().items()} == {"read": 1, "write": 1}


def test_resuming_a_failed_run_prints_its_failure_and_exits_as_it_did(bench):
    (bench.root / "sick").touch()
    first = bench.gert("exec", "runbook.yaml", "--json")
    again = bench.gert("resume", "--run", bench.run_id, "--json")
    assert (first.returncode, again.returncode) == (1, 1)
    one, two = json.loads(first.stdout), json.loads(again.stdout)
    assert placeless(one) == placeless(two)
    said = bench.gert("resume", "--run", bench.run_id)
    assert said.returncode == 1
    assert "\n✗ Run failed [real]\n  step read: " in said.stdout
    assert f"gert resume --run {bench.run_id} --retry-failed" in said.stdout
    assert len(bench.effects()["read"]) == 1


def test_a_failed_step_is_retried_as_advised(bench):
    (bench.root / "sick").touch()
    bench.gert("exec", "runbook.yaml")
    (bench.root / "sick").unlink()
    advice = bench.gert("runs", "show", bench.run_id).stderr
    words = shlex.split(advice.partition("next: gert ")[2])
    assert words == ["resume", "--run", bench.run_id, "--retry-failed"]
    assert bench.gert(*words).returncode == 0
    assert len(bench.effects()["read"]) == 2
    assert len(set(bench.effects()["read"])) == 1


def test_a_failed_write_is_advised_to_be_reconciled(bench):
    bench.write({"tools/shell.tool.yaml": TOOL.replace("test ! -e sick && echo hello", "echo hello")})
    (bench.root / "sick").touch()
    assert bench.gert("exec", "runbook.yaml").returncode == 1
    (bench.root / "sick").unlink()
    advice = bench.gert("runs", "show", bench.run_id).stderr
    assert "--retry-failed --reconcile write=redo  # run write again" in advice
    said = bench.gert("resume", "--run", bench.run_id, "--retry-failed", "--json")
    assert (said.returncode, json.loads(said.stdout)["error"]["kind"]) == (1, "unknown_outcome")
    said = bench.gert("resume", "--run", bench.run_id, "--retry-failed", "--reconcile", "write=done", "--outputs", '{"wrote": "by hand"}', "--json")  # fmt: skip
    assert said.returncode == 0, said.stdout
    assert json.loads(said.stdout)["outputs"]["wrote"] == "by hand"
    assert len(bench.effects()["write"]) == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--run", "nope"], 2, "there is no run nope"),
        (["--run", "../x"], 2, "is not a valid run id"),
        (["--run", "ID", "--on-drift", "maybe"], 2, "--on-drift takes refuse or allow"),
        (["--run", "ID", "--reconcile", "write"], 2, "STEP_KEY=done|redo|failed, not a word without `=`, which is not"),
        (["--run", "ID", "--reconcile", "write=maybe"], 2, "takes done, redo, failed"),
        (["--run", "ID", "--reconcile", "write=done", "--outputs", "{"], 2, "--outputs is not valid JSON"),
        (["--run", "ID", "--reconcile", "write=done", "--outputs", "[]"], 2, "--outputs takes a JSON object"),
        (["--run", "ID", "--reconcile", "write=redo", "--outputs", "{}"], 2, "reconciled as done"),
        (["--run", "ID", "--ticket", "t-1"], 2, "has no open ticket 't-1'"),
        (["--run", "ID", "--var", "x=1"], 2, "takes only its secret inputs again"),
        (["--run", "ID", "--approval", "pigeon"], 2, "pigeon"),
        (["--run", "ID"], 1, "cannot determine whether write took effect"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(interrupted, words, code, said):
    bench, before = interrupted, interrupted.trace.read_bytes()
    if "x=1" in words or "pigeon" in words:
        words = [*words, "--reconcile", "write=redo"]
    done = bench.gert("resume", *[bench.run_id if word == "ID" else word for word in words])
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == code
    assert bench.trace.read_bytes() == before
    assert "write" not in bench.effects()


def test_the_list_says_where_every_run_stands(bench):
    assert bench.gert("runs", "list").stderr.startswith("no real or probe runs found in ")
    assert json.loads(bench.gert("runs", "list", "--json").stdout) == {"runs": []}
    runs = bench.root / "runs"

    def latest(known=frozenset()):
        return next(path.name for path in runs.glob("[!.]*") if path.name not in known)

    bench.gert("exec", "runbook.yaml")
    done = latest()
    bench.gert("exec", "runbook.yaml", kill=Kill(8))
    unknown = latest({done})
    bench.gert("exec", "runbook.yaml", kill=Kill(5))
    cut = latest({done, unknown})
    (bench.root / "sick").touch()
    bench.gert("exec", "runbook.yaml")
    failed = latest({done, unknown, cut})
    text = RUNBOOK.replace("{ writes: [nothing], action: deny }", "{ effects: [network], action: require-approval }")
    bench.write({"gated.yaml": text.replace("name: small", "name: gated")})
    bench.gert("exec", "gated.yaml", "--approval", "inbox")
    gated = latest({done, unknown, cut, failed})
    (runs / "broken-run").mkdir()
    listed = {run["run_id"]: run for run in json.loads(bench.gert("runs", "list", "--json").stdout)["runs"]}
    found = {key: (run.get("runbook"), run["status"], (run.get("outcome") or {}).get("code"), run["blocked_on"]) for key, run in listed.items()}  # fmt: skip
    assert found == {
        done: ("small", "completed", "fine", []),
        unknown: ("small", "interrupted", None, [{"kind": "reconcile", "key": "write"}]),
        cut: ("small", "interrupted", None, []),
        failed: ("small", "failed", None, []),
        gated: ("gated", "approval_pending", None, [{"kind": "approval", "key": "read"}]),
        "broken-run": (None, "unreadable", None, []),
    }
    assert all(run["age_seconds"] >= 0 for run in listed.values() if run["run_id"] != "broken-run")
    table = bench.gert("runs", "list").stdout.splitlines()
    assert table[0].split() == ["RUN", "RUNBOOK", "MODE", "STATUS", "OUTCOME", "AGE", "BLOCKED", "ON"]
    rows = {line.split()[0]: line for line in table[1:]}
    assert set(rows) == set(listed)
    assert "resolved (fine)" in rows[done]
    assert "approval: read" in rows[gated]
    assert len(json.loads(bench.gert("runs", "list", "-n", "2", "--json").stdout)["runs"]) == 2


def test_one_run_is_shown_with_its_steps_and_the_way_on(bench):
    bench.gert("exec", "runbook.yaml", kill=Kill(8))
    shown = json.loads(bench.gert("runs", "show", bench.run_id, "--json").stdout)
    assert (shown["status"], shown["unknown_outcomes"]) == ("interrupted", ["write"])
    assert shown["resume_point"] == {"needs": "reconcile", "steps": ["write"]}
    assert [(s["step_key"], s["type"], s["status"]) for s in shown["steps"]] == [
        ("read", "tool", "success"),
        ("write", "tool", "interrupted"),
    ]
    unfinished = {"running": [], "interrupted": ["write"]}
    assert shown["progress"] == {"steps": 2, "finished": 1, "failed": 0, "skipped": 0, **unfinished}
    said = bench.gert("runs", "show", bench.run_id)
    assert "read (tool): success" in said.stdout
    resume = f"gert resume --run {bench.run_id} --reconcile write"
    assert f"  then: {resume}=done  # write took effect: go on\n" in said.stderr
    assert "    or: …=redo  # write did not take effect: run it again\n    or: …=failed  # " in said.stderr
    assert [step["command"][-1] for step in shown["next"]] == ["write", "write=done", "write=redo", "write=failed"]
    missing = bench.gert("runs", "show", "nope")
    assert (missing.returncode, "there is no run nope" in missing.stderr) == (2, True)
    bench.trace.write_bytes(b"what\n")
    damaged = bench.gert("runs", "show", bench.run_id)
    assert damaged.returncode == 1
    assert "line 1 of" in damaged.stdout
    assert "Traceback" not in damaged.stderr


def test_a_resumed_run_may_be_suspended_with_the_exit_code_asked_for(bench):
    text = RUNBOOK.replace("{ writes: [nothing], action: deny }", "{ effects: [network], action: require-approval }")
    bench.write({"runbook.yaml": text})
    assert bench.gert("exec", "runbook.yaml", "--approval", "inbox", "--pending-exit-code", "75").returncode == 75
    said = bench.gert("resume", "--run", bench.run_id, "--pending-exit-code", "75")
    assert said.returncode == 75
    assert f"\n  then: gert resume --run {bench.run_id}" in said.stdout
    ticket = bench.state().pending[0]["ticket_id"]
    bench.approve_all()
    done = bench.gert("resume", "--run", bench.run_id, "--ticket", ticket, "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "completed")
    assert [e["data"].get("ticket_id") for e in bench.lines() if e["type"] == "run_resumed"] == [None, ticket]
    # Whoever answers late and resumes once more hears the same.
    assert bench.gert("resume", "--run", bench.run_id, "--ticket", ticket).returncode == 0
