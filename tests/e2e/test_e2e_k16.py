"""The runbook of K§16, unchanged, against real processes, in every outcome it has."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from shell import Shell, chain_is_whole

DATA = Path(__file__).parents[1] / "data" / "k16"


@pytest.fixture
def k16(tmp_path) -> Shell:
    """The runbook with a ``curl`` that answers from a file of status codes and a ``systemctl`` that counts."""
    shell = Shell(tmp_path)
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    shell.program(
        "curl", 'echo "$@" >> curl.log\nhead -n1 codes; if [ $(wc -l < codes) -gt 1 ]; then sed -i 1d codes; fi'
    )
    shell.program("systemctl", 'echo "$@" >> systemctl.log')
    return shell


def run(k16: Shell, *codes: str, code: int = 0, stdin: str = ""):
    k16.write("codes", "\n".join(codes) + "\n")
    return k16.json("exec", "runbook.yaml", "--var", "hostname=srv1", code=code, stdin=stdin)


def restarts(k16: Shell) -> int:
    log = k16.root / "systemctl.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_healthy_needs_no_action(k16):
    result = run(k16, "200")
    assert result["outcome"] == {"category": "no_action", "code": "service_healthy", "meta": {"status_code": 200}}
    assert restarts(k16) == 0
    assert (k16.root / "curl.log").read_text() == "-s -o /dev/null -w %{http_code} https://srv1/healthz\n"
    assert chain_is_whole(k16.trace())


def test_503_then_200_restarts_twice_with_attempts_1(k16):
    result = run(k16, "503", "200")
    assert result["outcome"] == {"category": "resolved", "code": "service_restarted", "meta": {"attempts": 1}}
    assert restarts(k16) == 2
    keys = [step["step_key"] for step in result["steps"]]
    assert keys == [
        "check_dns",
        "evaluate_health",
        "triage/1/restart",
        "triage/1/verify",
        "triage/1/restart#2",
        "triage/1/verify#2",
        "triage/1/_end_2",
        "triage",
    ]
    assert {s["step_key"]: s["status"] for s in result["steps"]}["triage/1/verify#2"] == "skipped"


def test_a_service_that_stays_down_is_restarted_three_times_and_flow_falls_through(k16):
    result = run(k16, "503")
    assert result["outcome"]["meta"] == {"attempts": 2}
    assert restarts(k16) == 3


def test_an_unknown_status_is_escalated_with_the_notes_of_a_person(k16):
    result = run(k16, "418", stdin="saw a teapot\n")
    assert result["outcome"] == {"category": "escalated", "code": "unknown_failure", "meta": {"status_code": 418}}
    notes = [e for e in k16.events("step_complete") if e["step_key"] == "triage/2/check_failed"]
    assert notes[0]["data"]["outputs"] == {"investigation_notes": "saw a teapot"}
    assert notes[0]["principal"] == {"kind": "human", "id": "olga"}


def test_an_unknown_status_without_anybody_is_an_error(k16):
    result = run(k16, "418", code=1)
    assert (result["status"], result["failure"]["kind"]) == ("error", "evidence_unavailable")


def test_a_check_that_fails_stops_the_run(k16):
    k16.program("curl", "echo 'could not resolve' >&2; exit 6")
    result = run(k16, "200", code=1)
    assert (result["status"], result["failure"]["kind"]) == ("failed", "exit_code")
    assert restarts(k16) == 0


def test_output_that_does_not_match_is_an_extract_error(k16):
    k16.program("curl", "echo oops")
    assert run(k16, "200", code=1)["failure"]["kind"] == "extract"


def test_the_human_result_and_the_progress_stand_on_their_streams(k16):
    k16.write("codes", "503\n200\n")
    done = k16.gert("exec", "runbook.yaml", "--var", "hostname=srv1")
    lines = done.stdout.splitlines()
    assert lines[0] == "✓ Outcome: resolved (service_restarted) [real]"
    assert lines[1] == "  attempts: 1"
    assert lines[2].startswith("  duration: ")
    assert lines[3] == f"  run: {k16.runs()[-1].name}"
    assert lines[4] == f"  trace: {k16.trace()}"
    assert lines[5:] == ["  steps: 5 done, 1 skipped, 1 failed and continued"]
    warned, *progress = done.stderr.splitlines()
    assert warned.startswith(
        "warning: step check_dns: output 'body' is declared in contract.outputs but was not produced"
    )
    assert progress[0].startswith("✓ check_dns  tool  0.")
    assert any(line.startswith("! evaluate_health  assert") for line in progress)
    assert "▸ triage  branch" in progress
    assert any(line.startswith("  ✓ restart#2  tool  ") for line in progress)
    assert any(line.startswith("  ○ verify#2  tool  skipped (when)") for line in progress)
    assert "\x1b[" not in done.stdout + done.stderr
