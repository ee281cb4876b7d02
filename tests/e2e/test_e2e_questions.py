"""Questions to people whose input never ends or never fits: they are asked a bounded number of times and can be cancelled."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from shell import Shell, wait_for

from gert_core.testing.fake_dist import FakeDist

CHECKLIST = """
- id: look
  type: manual
  instructions: Look at the rack.
  required_evidence: [{ kind: checklist, name: seen, items: [lamp, fan] }]
"""
NAG = """
from pathlib import Path

from gert_core import hookimpl
from gert_core.api import Question, StepType
from gert_core.kit.models import StepModel

class Nag(StepModel):
    pass

def run(step, ctx):
    while ctx.ask(Question(name="name", prompt="name? ")).value != "never":
        Path("asked").touch()

@hookimpl
def gert_step_types():
    return [StepType(name="nag", model=Nag, run=run)]
"""
POLICY = "governance: { rules: [{ default: require-approval }] }"


SOURCES: list[subprocess.Popen] = []


@pytest.fixture
def shell(tmp_path):
    yield Shell(tmp_path)
    while SOURCES:
        SOURCES.pop().wait(10)


def endless(shell: Shell, line: str, *args: str) -> subprocess.Popen:
    """Start gert behind ``yes LINE``, which ends when gert does."""
    source = subprocess.Popen(["yes", line], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    running = subprocess.Popen(
        shell.command(*args),
        stdin=source.stdout,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=shell.root,
        env=shell.environ,
    )
    source.stdout.close()
    SOURCES.append(source)
    return running


def nag(shell: Shell, more: str = "") -> None:
    """A runbook with a step of a third party's type that asks for ever."""
    FakeDist(directory=shell.root / "site").add("gert-step-nag", NAG)
    shell.environ["PYTHONPATH"] = str(shell.root / "site")
    shell.book(f"- {{ id: a, type: nag, {more} }}")


def finished(running: subprocess.Popen, seconds: float = 20.0) -> tuple[str, str]:
    try:
        return running.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        running.kill()
        _, err = running.communicate()
        pytest.fail(f"gert did not end; it asked {err.count('done (numbers')} times")


def test_a_checklist_is_asked_for_at_most_a_hundred_times(shell):
    shell.book(CHECKLIST)
    running = endless(shell, "perhaps", "exec", "book.yaml", "--json")
    out, err = finished(running)
    assert running.returncode == 1
    failure = json.loads(out)["failure"]
    assert failure["kind"] == "evidence_unavailable"
    assert "100 answers" in failure["message"]
    assert err.count("done (numbers") == 100
    assert shell.events()[-1]["type"] == "run_complete"


def test_a_confirmation_is_asked_for_at_most_a_hundred_times(shell):
    shell.book("- { id: m, type: manual, instructions: look }")
    running = endless(shell, "perhaps", "exec", "book.yaml", "--json")
    out, err = finished(running)
    assert running.returncode == 1
    assert json.loads(out)["failure"]["kind"] == "evidence_unavailable"
    assert err.count("[Enter] when done") == 100


def test_an_approval_is_asked_for_at_most_a_hundred_times(shell):
    shell.tool("look", '["true"]')
    shell.book("- { id: a, type: tool, tool: look }", tools="look", meta=POLICY)
    running = endless(shell, "perhaps", "exec", "book.yaml", "--json")
    out, err = finished(running)
    assert running.returncode == 1
    assert json.loads(out)["status"] == "failed"
    assert err.count("Approve a?") == 100
    assert shell.events("approval_resolved")[-1]["data"]["approved"] is False


def test_an_input_is_asked_for_at_most_a_hundred_times(shell):
    shell.book(
        "- { id: m, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }",
        meta="inputs: { count: { type: int, required: true, from: prompt } }",
    )
    running = endless(shell, "many", "exec", "book.yaml", "--json")
    out, err = finished(running)
    assert running.returncode == 2
    assert "count" in json.loads(out)["error"]["message"]
    assert err.count("count (int)") == 100
    assert shell.runs() == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_cancelled_run_asks_nothing_more_although_answers_are_there(shell, number, code):
    nag(shell)
    running = endless(shell, "y", "exec", "book.yaml", "--json")
    wait_for((shell.root / "asked").exists, 20)
    running.send_signal(number)
    out, _ = finished(running)
    assert running.returncode == code
    assert json.loads(out)["status"] == "cancelled"
    assert shell.events()[-1]["data"]["reason"] == signal.Signals(number).name


def test_a_question_after_the_deadline_is_not_asked_although_answers_are_there(shell):
    nag(shell, "timeout: 500ms")
    running = endless(shell, "y", "exec", "book.yaml", "--json")
    out, _ = finished(running)
    assert running.returncode == 1
    assert json.loads(out)["failure"]["kind"] == "timeout"


def test_a_question_is_asked_with_more_than_1023_descriptors_open(shell):
    shell.book("- { id: m, type: manual, instructions: look }")
    enough = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000)); "
    many = (
        "[os.set_inheritable(os.open(os.devnull, 0), True) for _ in range(1100)]; os.execv(sys.argv[1], sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", enough + many, *shell.command("exec", "book.yaml", "--json")],
        input="\n",
        capture_output=True,
        text=True,
        cwd=shell.root,
        env=shell.environ,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["outcome"]["code"] == "ok"
