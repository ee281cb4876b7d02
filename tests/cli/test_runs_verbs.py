"""``gert runs status | tail | verify-ledger | summaries | artifacts | resume-point | lease``: output, exit codes, errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from executing import executing
from forging import SEED
from gertproc import COMMAND, Gert
from many_runs import write_run

BOOK = """\
apiVersion: kernel/v0
meta: { name: watched }
tools: [slow]
steps:
  - { id: first, type: tool, tool: slow, action: quick, artifacts: { note: { value: hello }, more: { value: [1] } } }
  - { id: held, type: tool, tool: slow, action: held }
  - { type: end, outcome: { category: resolved } }
"""
SLOW = """\
apiVersion: tool/v0
meta: { name: slow }
contract: { effects: [host], writes: [file] }
actions:
  quick: { argv: [echo, hello], contract: { effects: [host], idempotent: true } }
  held: { argv: [sh, -c, "touch began; while [ ! -e go ]; do sleep 0.02; done"] }
"""
VERBS = ["status", "tail", "verify-ledger", "summaries", "artifacts", "resume-point", "lease", "show", "logs"]


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path)


@pytest.fixture
def live(gert):
    """A run that is being executed, and its process."""
    gert.write(book=BOOK, tool_slow=SLOW)
    with executing(gert) as process:
        yield gert, process


@pytest.fixture
def done(gert, tmp_path):
    """A run that failed."""
    run = write_run(tmp_path / "runs", "20260101T000000Z-many-1", ending="failed")
    return gert, run


def test_life_six_output_forms_of_a_run_that_is_over(done):
    """List, tail, verify-ledger, status, summaries and artifacts, as text and as JSON."""
    gert, run = done
    assert gert("runs", "list", "--ids").out == f"{run.name}\n"
    said = gert("runs", "tail", "latest")
    assert said.code == 0
    rows = [line.split("\t") for line in said.out.splitlines()]
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("1", "run_start", ""),
        ("2", "step_start", "s0"),
        ("3", "step_complete", "s0"),
        ("4", "run_complete", ""),
    ]
    trace = (run / "trace.jsonl").read_text()
    assert [row[1] for row in rows] == [json.loads(line)["timestamp"] for line in trace.splitlines()]
    assert gert("runs", "tail", "latest", "--json").out == trace
    said = gert("runs", "verify-ledger", "latest")
    assert (said.code, said.out, said.err) == (0, "valid\n", "")
    document = gert("runs", "verify-ledger", "latest", "--json").document
    assert (document["run_id"], document["valid"], document["verdict"]) == (run.name, True, "unsigned")
    said = gert("runs", "status", "latest", "--json")
    moment = json.loads(trace.splitlines()[-1])["timestamp"]
    assert (said.code, said.document) == (
        0,
        {
            "run_id": run.name,
            "status": "failed",
            "lifecycle": "failed",
            "last_event_seq": 4,
            "last_event_type": "run_complete",
            "updated_at": moment,
            "blocked_on": [],
            "failure_reason": "step s0: boom",
            "cost": None,
            "lease": None,
        },
    )
    assert gert("runs", "status", "latest").out == (
        f"run_id: {run.name}\nstatus: failed\nlifecycle: failed\nlast_event_seq: 4\nlast_event_type: run_complete\n"
        f"updated_at: {moment}\nblocked_on: null\nfailure_reason: step s0: boom\ncost: null\nlease: null\n"
    )
    said = gert("runs", "summaries", "latest")
    assert (said.code, said.out, said.err) == (0, "", "the run has no summaries\n")
    assert gert("runs", "summaries", "latest", "--json").document == {"run_id": run.name, "summaries": []}
    said = gert("runs", "artifacts", "latest")
    assert (said.code, said.out, said.err) == (0, "", "the run has no artifacts\n")
    assert gert("runs", "artifacts", "latest", "--json").document["artifacts"] == {}
    assert gert("runs", "resume-point", "latest", "--json").document == {
        "last_seq": 4,
        "last_step_key": "s0",
        "needs": "retry",
        "steps": ["s0"],
        "blocked_on": [],
    }
    point = gert("runs", "resume-point", "latest").out
    assert point == "last_seq: 4\nlast_step_key: s0\nneeds: retry\nsteps: s0\nblocked_on: null\n"
    said = gert("runs", "lease", "latest")
    assert (said.code, said.out, said.err) == (1, "", f"run {run.name} is not being executed\n")
    said = gert("runs", "lease", "latest", "--json")
    assert (said.code, said.document) == (1, {"run_id": run.name, "lease": None})


def test_life_latest_artifact_and_summaries_of_a_run_that_is_executed(live):
    gert, process = live
    run = gert.run().name
    stands = gert("runs", "status", "latest", "--json").document
    assert (stands["status"], stands["lifecycle"], stands["last_event_type"]) == ("running", "active", "step_start")
    assert (stands["lease"]["process"], stands["lease"]["expires_at"]) == (process.pid, None)
    assert gert("runs", "lease", "latest", "--json").document["process"] == process.pid
    assert f"process: {process.pid}\n" in gert("runs", "lease", "latest").out
    assert gert("runs", "verify-ledger", "latest").out == "valid\n", "it has no end yet"
    assert sorted(gert("runs", "artifacts", "latest").out.splitlines()) == ["more  [1]", 'note  "hello"']
    said = gert("runs", "summaries", "latest")
    rows = [line.split("\t") for line in said.out.splitlines()]
    assert {row[0] for row in rows} == {"artifact::note", "artifact::more", "policy_decision"}
    assert int(rows[0][1]) > int(rows[1][1]), "the latest first"
    assert {"value": "hello"} in [json.loads(row[2]) for row in rows]
    document = gert("runs", "summaries", "latest", "--type", "artifact::note", "--json").document
    (told,) = document["summaries"]
    assert (told["type"], told["step_key"], told["payload"]) == ("artifact::note", "first", {"value": "hello"})
    assert len(gert("runs", "summaries", "latest", "--limit", "1").out.splitlines()) == 1
    said = gert("runs", "summaries", "latest", "--type", "x")
    assert (said.code, said.out, said.err) == (0, "", "the run has no summary of type 'x'\n")
    assert gert("runs", "resume-point", run, "--json").document["needs"] is None


def test_life_after_a_kill_the_lease_is_free_and_the_trace_has_no_end(live):
    gert, process = live
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    assert gert("runs", "lease", "latest").code == 1
    stands = gert("runs", "status", "latest", "--json").document
    assert (stands["status"], stands["lifecycle"], stands["lease"]) == ("interrupted", "active", None)
    assert stands["blocked_on"] == [{"kind": "reconcile", "key": "held"}]
    assert "blocked_on: reconcile:held\n" in gert("runs", "status", "latest").out
    said = gert("runs", "verify-ledger", "latest")
    assert (said.code, said.out) == (1, "invalid\n")
    assert said.err.startswith("  truncated: the trace ends unexpectedly after event ")
    point = gert("runs", "resume-point", "latest", "--json").document
    assert (point["needs"], point["steps"]) == ("reconcile", ["held"])


def test_tail_follows_until_the_run_ends(live, tmp_path):
    gert, process = live
    run = gert.run().name
    with subprocess.Popen(
        [*COMMAND, "runs", "tail", run, "-f", "-n", "1"], cwd=tmp_path, stdout=subprocess.PIPE, env=gert.environ
    ) as tail:
        first = tail.stdout.readline().decode().split("\t")
        assert first[2:] == ["step_start", "held\n"]
        (tmp_path / "go").touch()
        assert process.wait(60) == 0
        rest = [line.decode().rstrip("\n").split("\t") for line in tail.stdout]
        assert tail.wait(30) == 0
    assert [row[2] for row in rest][-1] == "run_complete"
    assert [int(row[0]) for row in rest] == list(range(int(first[0]) + 1, len(gert.events()) + 1))


def test_tail_of_a_run_that_nothing_executes_ends(live, tmp_path):
    gert, process = live
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    run = gert.run().name
    said = gert("runs", "tail", run, "--follow")
    assert said.code == 1
    assert said.err == f"run {run} is interrupted: nothing executes it\n  next: gert runs show {run}\n"
    assert said.out == gert("runs", "tail", run).out
    assert gert("runs", "tail", run, "--follow", "-n", "1").code == 1


def test_tail_takes_a_part(done):
    gert, run = done
    lines = (run / "trace.jsonl").read_text().splitlines(keepends=True)
    for words, wanted in (
        (["--since-seq", "2"], lines[2:]),
        (["-n", "1"], lines[3:]),
        (["-n", "9"], lines),
        (["--since-seq", "1", "--limit", "2"], lines[2:]),
        (["--since-seq", "4"], []),
        (["--since-seq", "99", "-f"], []),
        (["-f"], lines),
        (["-f", "-n", "2"], lines[2:]),
    ):
        said = gert("runs", "tail", run.name, "--json", *words)
        assert (said.code, said.out) == (0, "".join(wanted)), words


@pytest.mark.parametrize("verb", VERBS)
def test_what_names_no_run_is_refused(gert, tmp_path, verb):
    said = gert("runs", verb, "nope")
    assert said.code == 2
    assert said.err == f"error: there is no run nope in {tmp_path / 'runs'}\n  hint: gert runs list shows the runs\n"
    said = gert("runs", verb, "latest", "--json")
    assert (said.code, said.document["error"]["kind"]) == (2, "run_not_found")
    said = gert("runs", verb, "../x")
    assert (said.code, "'../x' is not a valid run id" in said.err) == (2, True)


@pytest.mark.parametrize("verb", VERBS)
def test_a_run_that_cannot_be_read_is_one_sentence(gert, tmp_path, verb):
    run = tmp_path / "runs" / "20260101T000000Z-broken-1"
    run.mkdir(parents=True)
    for make in (lambda: None, lambda: os.mkfifo(run / "trace.jsonl"), lambda: _garbage(run / "trace.jsonl")):
        make()
        said = gert("runs", verb, "latest")
        assert said.code == 1, said.all
        assert "Traceback" not in said.err
        assert "internal" not in said.all
        assert gert("runs", verb, "latest", "--json").code == 1
        json.loads(gert("runs", verb, "latest", "--json").out or "{}")


def _garbage(path):
    path.unlink()
    path.write_bytes(b"\xff\xfe{]\n")


def test_an_altered_trace_is_invalid(done):
    gert, run = done
    trace = run / "trace.jsonl"
    trace.write_text(trace.read_text().replace('"step_id":"s0"', '"step_id":"s1"', 1))
    said = gert("runs", "verify-ledger", run.name)
    assert (said.code, said.out) == (1, "invalid\n")
    assert said.err == "  altered: event 2 was altered: the hash chain breaks there\n"
    assert gert("runs", "verify-ledger", run.name, "--json").document["valid"] is False
    other = run.parent / "20260101T000000Z-other-1" / "trace.jsonl"
    write_run(run.parent, other.parent.name)
    trace.unlink()
    trace.symlink_to(other)
    said = gert("runs", "verify-ledger", run.name)
    assert (said.code, said.out) == (1, "invalid\n")
    assert "it is a symbolic link" in said.err


def test_a_signed_run_is_verified_with_its_key(gert):
    gert.write(book="apiVersion: kernel/v0\nmeta: {name: b}\nsteps: [{type: end, outcome: {category: resolved}}]\n")
    keys = {"GERT_TRACE_SIGNING_KEY": f"ed25519:{SEED}", "GERT_TRACE_SIGNING_KEY_ID": "k1"}
    assert gert("exec", "book.yaml", **keys).code == 0
    said = gert("runs", "verify-ledger", "latest")
    assert (said.code, said.out) == (1, "invalid\n")
    assert said.err.startswith("  no_key: ")
    verify = {"GERT_TRACE_VERIFY_KEY_K1": "ed25519:A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="}
    said = gert("runs", "verify-ledger", "latest", **verify)
    assert (said.code, said.out) == (0, "valid\n"), said.all


def test_nothing_in_a_trace_reaches_the_terminal_as_it_is(gert, tmp_path):
    evil = "x\x1b]0;owned\x07\u202e\r\n\tz"
    run = write_run(tmp_path / "runs", "20260101T000000Z-many-1", runbook=evil, ending=None, actor=evil)
    from forging import chain

    events = [json.loads(line) for line in (run / "trace.jsonl").read_text().splitlines()]
    events[-1]["step_key"] = evil
    summary = {
        **events[1],
        "type": "run_summary",
        "step_key": evil,
        "data": {"summary_type": evil, "payload": {"a": evil}},
    }
    failure = {"step_key": evil, "step_id": evil, "status": "failed", "kind": evil, "message": evil}
    end = {**events[0], "type": "run_complete", "data": {"status": "failed", "failure": failure, "failing": [evil]}}
    (run / "trace.jsonl").write_text(chain([*events, summary, end]))
    for words in (
        *(("status", "latest"), ("tail", "latest"), ("summaries", "latest"), ("resume-point", "latest")),
        *(("list",), ("list", "--ids"), ("tail", "latest", "--json"), ("status", "latest", "--json")),
    ):
        said = gert("runs", *words)
        assert said.code == 0, said.all
        assert not set("\x1b\x07\r\u202e") & set(said.all), words
        if words[0] == "tail" and "--json" not in words:
            assert all(line.count("\t") == 3 for line in said.out.splitlines())
        if words[0] == "summaries":
            assert said.out.count("\t") == 2
            assert said.out.count("\n") == 1
