"""The trace is the run: what a resumed run needs stands in its first event, and ``meta.json`` only finds the trace."""

from __future__ import annotations

import base64
import json
import os

import pytest
from jsonschema import Draft202012Validator
from shell import Shell, chain_is_whole

STEPS = """
    - { id: look, type: tool, tool: look }
    - { id: change, type: tool, tool: change }
"""
ASK = "apiVersion: policy/v0\nmeta: { name: floor, version: '1' }\nrules: [ { writes: [host], action: require-approval } ]\n"
KEY = {"GERT_TRACE_SIGNING_KEY": base64.b64encode(bytes(32)).decode(), "GERT_TRACE_SIGNING_KEY_ID": "night"}


@pytest.fixture
def shell(tmp_path) -> Shell:
    shell = Shell(tmp_path)
    shell.tool("look", "[echo, seen]", contract="{ effects: [], reads: [host], writes: [] }")
    shell.tool("change", "[sh, -c, 'echo changed >> changes']", contract="{ effects: [host], writes: [host] }")
    shell.book(STEPS, tools="look, change")
    shell.write("policy.yaml", ASK)
    return shell


def suspended(shell, *args, **environ) -> str:
    """Start a run that waits for the approval of ``change``; returns its id."""
    told = shell.json("exec", "book.yaml", "--approval", "inbox", "--policy", "policy.yaml", *args, **environ)
    assert told["status"] == "approval_pending"
    return told["run_id"]


def approve(shell) -> None:
    (entry,) = shell.json("approvals", "list")["approvals"]
    shell.gert("approve", entry["ticket_id"], "--as", "alice")


@pytest.mark.parametrize("environ", [{}, KEY], ids=["unsigned", "signed"])
def test_a_run_directory_without_meta_file_is_approved_resumed_and_verified(shell, environ):
    run = suspended(shell, **environ)
    home = shell.root / "runs" / run
    (home / "meta.json").unlink()
    assert shell.json("runs", "show", run)["status"] == "approval_pending"
    approve(shell)
    told = shell.json("resume", "--run", run, **environ)
    assert (told["status"], [step["step_key"] for step in told["steps"]]) == ("completed", ["look", "change", "done"])
    assert (shell.root / "changes").read_text() == "changed\n"
    assert chain_is_whole(home / "trace.jsonl")
    shell.gert("trace", "verify", str(home / "trace.jsonl"), **environ)
    assert not (home / "meta.json").exists()


def test_the_first_event_records_what_was_chosen(shell):
    run = suspended(shell, "--trace-sync", "none", **KEY)
    (start,) = shell.events("run_start")
    data = start["data"]
    here = str(shell.root)
    assert {name: data[name] for name in ("mode", "runbook_path", "policy_files", "cwd", "run_directory")} == {
        "mode": "real",
        "runbook_path": f"{here}/book.yaml",
        "policy_files": [f"{here}/policy.yaml"],
        "cwd": here,
        "run_directory": f"{here}/runs/{run}",
    }
    assert (data["approval_provider"], data["trace_sync"]) == ("inbox", "none")
    fingerprint = data["signer"].pop("fingerprint")
    assert len(fingerprint) == 32
    assert data["signer"] == {"algorithm": "hmac-sha256", "key_id": "night"}
    schema = Draft202012Validator(json.loads(shell.gert("schema", "trace").stdout))
    assert [error.message for event in shell.events() for error in schema.iter_errors(event)] == []


def test_a_run_signed_at_its_start_does_not_go_on_unsigned(shell):
    run = suspended(shell, **KEY)
    (shell.root / "runs" / run / "meta.json").unlink()
    approve(shell)
    assert "is signed (key night)" in shell.gert("resume", "--run", run, code=1).stderr
    assert not (shell.root / "changes").exists()


def test_the_meta_file_cannot_change_what_the_trace_records(shell):
    run = suspended(shell)
    other = shell.write("other.yaml", (shell.root / "book.yaml").read_text().replace("name: book", "name: other"))
    meta = shell.root / "runs" / run / "meta.json"
    told = json.loads(meta.read_text())
    meta.write_text(json.dumps({**told, "runbook_path": str(other), "policies": [], "mode": "dry-run"}))
    approve(shell)
    told = shell.json("resume", "--run", run)
    assert (told["runbook"], told["status"]) == ("book", "completed")


def test_a_trace_elsewhere_is_found_by_the_meta_file_alone(shell):
    run = suspended(shell, "--trace", "elsewhere.jsonl")
    home = shell.root / "runs" / run
    (home / "meta.json").unlink()
    approve(shell)
    said = shell.json("resume", "--run", run, code=1)["error"]
    assert said["message"] == f"run {run} has no trace.jsonl, and the meta.json that names a trace elsewhere is missing"
    assert said["hint"] == f"restore meta.json, or move the trace to {home / 'trace.jsonl'}"
    assert "has no trace.jsonl" in shell.json("runs", "list")["runs"][0]["problem"]
    (shell.root / "elsewhere.jsonl").rename(home / "trace.jsonl")
    assert shell.json("resume", "--run", run)["status"] == "completed"


def test_a_replay_records_no_paths(shell):
    shell.write("scenarios/book/one/scenario.yaml", "tool_responses: { look: [{}], change: [{}] }\n")
    shell.gert("exec", "book.yaml", "--mode", "replay", "--scenario", "one", "--keep")
    (start,) = shell.events("run_start")
    assert str(shell.root) not in json.dumps(start["data"])
    assert os.getcwd() not in json.dumps(start["data"])  # noqa: PTH109 - as the process sees it


def test_a_secret_in_the_path_of_the_runbook_is_masked_and_the_run_still_goes_on(shell):
    secret = shell.root / "hunter2hunter2"
    secret.mkdir()
    text = (shell.root / "book.yaml").read_text().replace("name: book", "name: book\n  secrets: [ { env: TOKEN } ]")
    (secret / "book.yaml").write_text(text)
    (shell.root / "tools").rename(secret / "tools")
    token = {"TOKEN": "hunter2hunter2"}
    told = shell.json("exec", "hunter2hunter2/book.yaml", "--approval", "inbox", "--policy", "policy.yaml", **token)
    assert "hunter2" not in shell.trace().read_text()
    approve(shell)
    assert shell.json("resume", "--run", told["run_id"], **token)["status"] == "completed"
