"""What a tool had written before it was stopped: kept in the trace, masked and bounded."""

from __future__ import annotations

import signal

import pytest
from shell import Shell, wait_for

TOKEN = "h5Kq-Zw82-Lr01"


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.program("slow", 'echo "begun with $SLOW_TOKEN"\necho complaint >&2\ntouch going\nexec sleep 60')
    made.tool("slow", '["slow"]')
    tool = made.root / "tools/slow.tool.yaml"
    tool.write_text(tool.read_text() + "secrets: [{ env: SLOW_TOKEN }]\n")
    made.environ["SLOW_TOKEN"] = TOKEN
    made.book("- { id: a, type: tool, tool: slow }", tools="slow")
    return made


def cancelled(shell: Shell) -> None:
    running = shell.start("exec", "book.yaml")
    wait_for((shell.root / "going").exists)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=20)
    assert running.returncode == 143


def test_a_cancelled_call_leaves_what_it_wrote_in_the_trace(shell):
    cancelled(shell)
    assert TOKEN not in shell.trace().read_text()
    (event,) = shell.events("step_attempt")
    assert event["data"] == {
        "step_id": "a",
        "attempt": 1,
        "reason": "cancelled",
        "detail": {"stdout": "begun with <REDACTED:SLOW_TOKEN>\n", "stderr": "complaint\n", "command": ["slow"]},
    }
    assert "stdout: begun with <REDACTED:SLOW_TOKEN>" in shell.gert("trace", "show", str(shell.trace())).stdout
    shell.program("slow", "exit 0")
    run = shell.trace().parent.name
    assert shell.json("resume", "--run", run)["status"] == "completed"
    assert [(e["data"]["attempt"], e["data"]["reason"]) for e in shell.events("step_attempt")] == [
        (1, "cancelled"),
        (2, "resumed"),
    ]


def test_what_a_cancelled_action_with_secret_outputs_wrote_is_not_kept(shell):
    shell.tool(
        "slow",
        '["slow"]',
        contract="{ effects: [network], idempotent: true, outputs: { word: { type: string, secret: true } } }",
        more="extract: { word: { pattern: '(.+)' } }",
    )
    cancelled(shell)
    (event,) = shell.events("step_attempt")
    assert event["data"]["detail"]["stdout"] == f"({len('begun with ') + len(TOKEN) + 1} characters, not recorded)"


def test_a_call_that_takes_too_long_leaves_the_end_of_what_it_wrote(shell):
    shell.program("slow", "seq 1 20000\nexec sleep 60")
    shell.book("- { id: a, type: tool, tool: slow, timeout: 2s }", tools="slow")
    shell.gert("exec", "book.yaml", code=1)
    (event,) = shell.events("step_complete")
    kept = event["data"]["detail"]["stdout"]
    assert event["data"]["failure"]["kind"] == "timeout"
    assert kept.endswith("\n19999\n20000\n")
    assert 10_000 < len(kept) <= 17 * 1024
