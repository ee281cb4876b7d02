"""``gert trace`` and ``gert runs`` as people and scripts call them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from gert_core.plugin.registry import Registry
from gert_core.stores.directory import DirectoryStore
from gert_core.trace.signing import signer_from_environ
from gert_core.trace.sinks import FileSink
from gert_core.trace.writer import TraceWriter

if TYPE_CHECKING:
    from pathlib import Path

KEY = b64encode(b"k" * 32).decode()
ESCAPE = "\x1b[31m"


def gert(*args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GERT_")}
    return subprocess.run(
        [sys.executable, "-m", "gert_core", *args],
        cwd=cwd,
        env={**clean, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def write(path: Path, *, run_id: str = "r1", environ: dict[str, str] | None = None, end: bool = True) -> Path:
    signer = signer_from_environ(environ, Registry.build().signature_scheme) if environ else None
    trace = TraceWriter(FileSink(path), run_id=run_id, signer=signer)
    trace.add("run_start", {"runbook": "health", "actor": "alice", "host": "h1", "inputs": {"hostname": "srv1"}})
    trace.add("step_start", {"step_id": "triage", "type": "choice"}, step_key="triage")
    summary = {"effects": ["net"], "writes": ["svc"], "writing": True, "idempotent": False}
    facts = {"type": "leaf", "contract_summary": summary, "inputs": {"n": 1}, "idempotency_key": "x"}
    trace.add("step_start", {"step_id": "restart", **facts}, step_key="triage/0/restart")
    trace.add(
        "step_complete",
        {"step_id": "restart", "status": "success", "outputs": {"code": 200}},
        step_key="triage/0/restart",
    )
    trace.add("step_start", {"step_id": "check", **facts}, step_key="triage/0/check#2")
    if end:
        failure = {"kind": "exit_code", "message": "the tool exited with 3"}
        detail = {"exit_code": 3, "stderr": "".join(f"{ESCAPE}line {n}\n" for n in range(30))}
        done = {"step_id": "check", "status": "failed", "failure": failure, "detail": detail, "duration": "0.100s"}
        trace.add("step_complete", done, step_key="triage/0/check#2")
        trace.add("step_complete", {"step_id": "triage", "status": "failed", "failure": failure}, step_key="triage")
        failed = {**failure, "step_key": "triage/0/check#2"}
        trace.close_run(
            "run_complete",
            {"status": "failed", "failure": failed, "failing": ["triage/0/check#2"], "duration": "1.000s"},
        )
    trace.close()
    return path


def signing(alg: str = "hmac-sha256") -> dict[str, str]:
    return {"GERT_TRACE_SIGNING_KEY": KEY, "GERT_TRACE_SIGNING_KEY_ID": "prod-2026", "GERT_TRACE_SIGNING_ALG": alg}


def test_unsigned(tmp_path) -> None:
    write(tmp_path / "t")
    done = gert("trace", "verify", "t", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == "✓ Chain integrity: 8 events, no breaks\n! Unsigned: the chain is intact; there is no signature\n"
    )
    document = json.loads(gert("trace", "verify", "t", "--json", cwd=tmp_path).stdout)
    assert document["valid"] is True
    assert {"valid", "verdict", "events", "first_bad_event", "signature", "key_id"} <= set(document)


def test_signed_with_a_shared_key(tmp_path) -> None:
    write(tmp_path / "t", environ=signing())
    done = gert("trace", "verify", "t", "--key-id", "prod-2026", cwd=tmp_path, GERT_TRACE_VERIFY_KEY_PROD_2026=KEY)
    assert done.returncode == 0, done.stderr
    assert '✓ Signature valid: signed by key "prod-2026" (hmac-sha256)' in done.stdout
    fallback = gert(
        "trace",
        "verify",
        "t",
        "--json",
        cwd=tmp_path,
        GERT_TRACE_SIGNING_KEY=KEY,
        GERT_TRACE_SIGNING_KEY_ID="prod-2026",
    )
    assert json.loads(fallback.stdout) | {"detail": ""} == {
        "valid": True,
        "verdict": "valid",
        "mode": None,
        "events": 8,
        "first_bad_event": None,
        "signature": "valid",
        "key_id": "prod-2026",
        "algorithm": "hmac-sha256",
        "detail": "",
    }


def test_signed_with_a_key_pair(tmp_path) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    public = b64encode(Ed25519PrivateKey.from_private_bytes(b"k" * 32).public_key().public_bytes_raw()).decode()
    write(tmp_path / "t", environ=signing("ed25519"))
    assert gert("trace", "verify", "t", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=f"ed25519:{public}").returncode == 0
    other = gert("trace", "verify", "t", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=f"ed25519:{KEY}")
    assert (other.returncode, "✗ Bad signature" in other.stdout) == (1, True)
    bare = gert("trace", "verify", "t", "--json", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=public)
    assert (bare.returncode, json.loads(bare.stdout)["verdict"]) == (1, "no_algorithm")
    assert "the key names no algorithm" in bare.stdout
    unknown = gert("trace", "verify", "t", cwd=tmp_path, GERT_TRACE_SIGNING_KEY=KEY)
    assert unknown.returncode == 1
    assert "no key given" in unknown.stdout
    short = gert("trace", "verify", "t", cwd=tmp_path, GERT_TRACE_VERIFY_KEY="ed25519:YWJj")
    assert (short.returncode, "32 raw bytes" in short.stderr) == (2, True)


def test_bad_signature_no_key_altered_and_truncated(tmp_path) -> None:
    path = write(tmp_path / "t", environ=signing())
    wrong = gert("trace", "verify", "t", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=b64encode(b"x" * 16).decode())
    assert (wrong.returncode, "✗ Bad signature" in wrong.stdout) == (1, True)
    none = gert("trace", "verify", "t", cwd=tmp_path)
    assert (none.returncode, "GERT_TRACE_VERIFY_KEY_PROD_2026" in none.stderr) == (1, True)
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"code":200', b'"code":500'))
    altered = gert("trace", "verify", "t", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=KEY)
    assert (altered.returncode, altered.stdout.startswith("✗ Altered at event 4")) == (1, True)
    path.write_bytes(b"".join(data.splitlines(keepends=True)[:-1]))
    cut = gert("trace", "verify", "t", "--json", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=KEY)
    assert (cut.returncode, json.loads(cut.stdout)["verdict"]) == (1, "truncated")


@pytest.mark.parametrize("environ", [None, signing()])
def test_a_demanded_key_must_have_signed(tmp_path, environ) -> None:
    write(tmp_path / "t", environ=environ)
    done = gert("trace", "verify", "t", "--key-id", "other", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=KEY)
    assert (done.returncode, "'other' is required" in done.stdout) == (1, True)
    done = gert("trace", "verify", "t", "--key-id", "other", "--json", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=KEY)
    assert (done.returncode, json.loads(done.stdout)["valid"]) == (1, False)
    assert json.loads(done.stdout)["verdict"] == ("bad_signature" if environ else "unsigned")


def test_missing_file_and_missing_scheme(tmp_path) -> None:
    missing = gert("trace", "verify", "nowhere", "--json", cwd=tmp_path)
    assert missing.returncode == 2
    assert "nowhere" in json.loads(missing.stdout)["error"]["message"]
    write(tmp_path / "t", environ=signing())
    blocked = gert("-p", "no:signature-hmac", "trace", "verify", "t", cwd=tmp_path, GERT_TRACE_VERIFY_KEY=KEY)
    assert (blocked.returncode, "hmac-sha256" in blocked.stderr) == (3, True)
    assert gert("trace", "show", "nowhere", cwd=tmp_path).returncode == 2


def test_show_is_a_nested_timeline_with_the_failing_step(tmp_path) -> None:
    write(tmp_path / "t")
    done = gert("trace", "show", "t", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "run_start  health (r1) by alice on h1" in lines[0]
    assert lines[0].lstrip().startswith("+0.0")
    step = next(line for line in lines if "▸ triage (choice)" in line)
    child = next(line for line in lines if "▸ triage/0/restart (leaf)" in line)
    assert child.index("▸") == step.index("▸") + 2
    assert "exit_code: the tool exited with 3" in done.stdout
    assert "… 20 lines before\n" in done.stdout
    assert "line 29" in done.stdout
    assert "line 19" not in done.stdout
    assert ESCAPE not in done.stdout
    assert "run_complete  failed in 1.000s" in done.stdout


def test_show_one_step_or_one_type(tmp_path) -> None:
    write(tmp_path / "t")
    by_id = gert("trace", "show", "t", "--step", "check", cwd=tmp_path).stdout
    assert "check#2" in by_id
    assert "restart" not in by_id
    assert gert("trace", "show", "t", "--step", "triage/0/check", cwd=tmp_path).stdout == by_id
    below = gert("trace", "show", "t", "--step", "triage", cwd=tmp_path).stdout
    assert "restart" in below
    assert "run_start" not in below
    starts = json.loads(gert("trace", "show", "t", "--type", "step_start", "--json", cwd=tmp_path).stdout)
    assert [event["step_key"] for event in starts["events"]] == ["triage", "triage/0/restart", "triage/0/check#2"]
    assert (starts["run_id"], starts["runbook"], starts["status"]) == ("r1", "health", "failed")


def test_show_says_why_it_shows_nothing(tmp_path) -> None:
    trace = write(tmp_path / "trace.jsonl")
    (tmp_path / "empty.jsonl").touch()
    for args, note in (
        (["--step", "chek"], "belongs to step 'chek'; the steps are triage, triage/0/restart, triage/0/check#2"),
        (["--step", "restart", "--type", "nope"], "is of type 'nope'; the types are step_start, step_complete"),
    ):
        shown = gert("trace", "show", str(trace), *args, cwd=tmp_path)
        assert (shown.returncode, shown.stdout) == (0, "")
        assert note in shown.stderr
        document = gert("trace", "show", str(trace), *args, "--json", cwd=tmp_path)
        assert json.loads(document.stdout)["events"] == []
        assert note in document.stderr
    assert "has no events" in gert("trace", "show", "empty.jsonl", cwd=tmp_path).stderr


def test_show_of_what_is_no_trace(tmp_path) -> None:
    (tmp_path / "t").write_text("hello\n")
    done = gert("trace", "show", "t", "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert "line 1" in json.loads(done.stdout)["error"]["message"]


def make_runs(root: Path) -> None:
    done = DirectoryStore(root / "runs").create("20260101T000000Z-health-aaaaaaaa", blobs={})
    write(done.trace.path, run_id=done.run_id)
    crashed = DirectoryStore(root / "runs").create("20260102T000000Z-health-bbbbbbbb", blobs={})
    write(crashed.trace.path, run_id=crashed.run_id, end=False)
    DirectoryStore(root / "runs").create("20260103T000000Z-health-cccccccc", blobs={})


def test_runs_list(tmp_path) -> None:
    assert gert("runs", "list", cwd=tmp_path).returncode == 0
    make_runs(tmp_path)
    done = gert("runs", "list", cwd=tmp_path)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0][:8] for row in rows] == ["RUN", "20260103", "20260102", "20260101"]
    assert rows[2][2] == "interrupted"  # the mode of a trace that does not say it is empty
    assert "unknown outcome: triage/0/check#2" in done.stdout
    document = json.loads(gert("runs", "list", "--json", cwd=tmp_path).stdout)
    assert [run["status"] for run in document["runs"]] == ["unreadable", "interrupted", "failed"]
    assert document["runs"][1]["blocked_on"] == [{"kind": "reconcile", "key": "triage/0/check#2"}]
    one = json.loads(gert("runs", "list", "--json", "-n", "1", cwd=tmp_path).stdout)
    assert len(one["runs"]) == 1


def test_runs_list_uses_the_project(tmp_path) -> None:
    (tmp_path / "gert-project.yaml").write_text("name: p\nruns_dir: kept\n")
    directory = DirectoryStore(tmp_path / "kept").create("20260101T000000Z-x-aaaaaaaa", blobs={})
    write(directory.trace.path, run_id=directory.run_id)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    document = json.loads(gert("runs", "list", "--json", cwd=tmp_path / "deep" / "er").stdout)
    assert [run["run_id"] for run in document["runs"]] == [directory.run_id]


def test_runs_show(tmp_path) -> None:
    make_runs(tmp_path)
    failed = gert("runs", "show", "20260101T000000Z-health-aaaaaaaa", cwd=tmp_path)
    assert failed.returncode == 0
    assert "status:   failed" in failed.stdout
    assert "triage/0/check#2 (leaf): failed" in failed.stdout
    assert "the tool exited with 3" in failed.stdout
    assert "--retry-failed" in failed.stderr
    crashed = gert("runs", "show", "20260102T000000Z-health-bbbbbbbb", "--json", cwd=tmp_path)
    document = json.loads(crashed.stdout)
    assert document["unknown_outcomes"] == ["triage/0/check#2"]
    assert document["resume_point"] == {"needs": "reconcile", "steps": ["triage/0/check#2"]}
    assert document["steps"][1] == {
        "step_key": "triage/0/restart",
        "step_id": "restart",
        "type": "leaf",
        "status": "success",
        "duration": None,
        "waited": None,
    }
    assert gert("runs", "show", "20260103T000000Z-health-cccccccc", cwd=tmp_path).returncode == 1
    for bad in ("../runs", "nothing"):
        done = gert("runs", "show", bad, "--json", cwd=tmp_path)
        assert (done.returncode, "error" in json.loads(done.stdout)) == (2, True)
