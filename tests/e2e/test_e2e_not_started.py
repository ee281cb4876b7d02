"""Steps whose program never started have done nothing: they run again without anybody having to decide that."""

from __future__ import annotations

import signal

import pytest
from shell import Shell, wait_for

WRITES = "{ effects: [network], writes: [host], idempotent: false }"
SLOW_DISK = """
import os, time
really = os.fdatasync

def fdatasync(fd):
    really(fd)
    if os.path.exists("slow") and b'"step_start"' in open(f"/proc/self/fd/{fd}", "rb").read():
        os.rename("slow", "syncing")
        time.sleep(1)

os.fdatasync = fdatasync
"""


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.tool("change", '["change"]', contract=WRITES)
    # Behind a guard: what certainly runs is looked for before the run begins.
    made.book(
        "- { id: a, type: tool, tool: change, when: '{{ .go }}' }",
        tools="change",
        meta="inputs: { go: { type: bool, default: true } }",
    )
    return made


def retried(shell: Shell) -> None:
    """Mend the program; the failed step runs again by itself."""
    shell.program("change", "echo x >> done")
    run = shell.runs()[0].name
    assert shell.json("resume", "--run", run, "--retry-failed")["status"] == "completed"
    assert (shell.root / "done").read_text() == "x\n"


def failed(shell: Shell, kind: str) -> None:
    assert shell.json("exec", "book.yaml", code=1)["failure"]["kind"] == kind
    complete, *_ = shell.events("step_complete")
    assert complete["data"]["started"] is False


def test_a_program_that_was_not_found_needs_no_decision(shell):
    failed(shell, "not_found")
    retried(shell)


def test_a_program_that_could_not_be_executed_needs_no_decision(shell):
    shell.program("change", "#!/no/such/interpreter\n")
    failed(shell, "spawn")
    retried(shell)


def test_a_server_that_was_not_found_needs_no_decision(shell):
    shell.write(
        "tools/change.tool.yaml",
        f"""\
        apiVersion: tool/v0
        meta: {{ name: change, transport: jsonrpc, binary: change }}
        contract: {WRITES}
        actions: {{ do: {{ method: do }} }}
        """,
    )
    failed(shell, "not_found")
    run = shell.runs()[0].name
    error = shell.json("resume", "--run", run, "--retry-failed", code=1)["failure"]
    assert error["kind"] == "not_found", "it was tried again"


def test_a_runner_that_was_not_found_needs_no_decision(shell):
    shell.book(
        f"- {{ id: a, type: extension, extension: change, contract: {WRITES}, when: '{{{{ .go }}}}' }}",
        meta="inputs: { go: { type: bool, default: true } }",
    )
    failed(shell, "not_found")
    run = shell.runs()[0].name
    assert shell.json("resume", "--run", run, "--retry-failed", code=1)["failure"]["kind"] == "not_found"


def test_a_missing_secret_needs_no_decision(shell):
    tool = (shell.root / "tools" / "change.tool.yaml").read_text()
    shell.write("tools/change.tool.yaml", tool + "secrets: [{ env: CHANGE_TOKEN }]\n")
    shell.program("change", "echo x >> done")
    failed(shell, "secret_missing")
    run = shell.runs()[0].name
    result = shell.json("resume", "--run", run, "--retry-failed", CHANGE_TOKEN="long-enough-secret")
    assert result["status"] == "completed"


def test_a_program_that_started_and_failed_needs_a_decision(shell):
    shell.program("change", "exit 3")
    shell.gert("exec", "book.yaml", code=1)
    assert "started" not in shell.events("step_complete")[0]["data"]
    run = shell.runs()[0].name
    assert shell.json("resume", "--run", run, "--retry-failed", code=1)["error"]["kind"] == "unknown_outcome"


def cancelled_before_the_start(shell: Shell) -> str:
    """Cancel a run between the first event of its step and the start of the program; return the run."""
    shell.program("change", "echo x >> done")
    shell.write("site/sitecustomize.py", SLOW_DISK)
    (shell.root / "slow").touch()
    running = shell.start("exec", "book.yaml", PYTHONPATH=str(shell.root / "site"))
    wait_for((shell.root / "syncing").exists)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=15)
    assert running.returncode == 143
    assert not (shell.root / "done").exists()
    return shell.runs()[0].name


def test_a_run_that_was_cancelled_before_the_program_started_needs_no_decision(shell):
    run = cancelled_before_the_start(shell)
    assert shell.json("resume", "--run", run)["status"] == "completed"
    assert (shell.root / "done").read_text() == "x\n"
    assert [e["data"]["reason"] for e in shell.events("step_attempt")] == ["not_started", "resumed"]


def test_a_resumed_run_that_is_killed_needs_a_decision_again(shell):
    """What was known about the first attempt says nothing about the second."""
    run = cancelled_before_the_start(shell)
    shell.program("change", "touch busy; sleep 60")
    running = shell.start("resume", "--run", run)
    wait_for((shell.root / "busy").exists)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=15)
    assert shell.json("resume", "--run", run, code=1)["error"]["kind"] == "unknown_outcome"
