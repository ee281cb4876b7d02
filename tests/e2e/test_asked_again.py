"""A question that was not answered is asked again: a step that was stopped while it asked has no unknown outcome."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest
from shell import Shell, wait_for

from gert_core.testing.fake_dist import FakeDist

LOOK = """
- id: look
  type: manual
  instructions: Pull the plug.
  contract: { effects: [human], writes: [rack] }
  required_evidence: [{ kind: text, name: first }, { kind: text, name: second }]
"""
ASKS = """
import time
from pathlib import Path

from gert_core import hookimpl
from gert_core.api import Completed, Contract, Question, StepType
from gert_core.kit.models import StepModel

class Ask(StepModel):
    pass

def run(step, ctx):
    %s
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="ask", model=Ask, run=run, contract=Contract(effects=("x",), writes=("x",)), summary="Asks.")]
"""


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


def start(shell: Shell, *args: str) -> subprocess.Popen[str]:
    """Start gert with a pipe that stays open, so that questions wait for their answers."""
    return shell.start(*args, stdin=subprocess.PIPE)


def run_id(shell: Shell) -> str:
    return shell.trace().parent.name


def asked(shell: Shell, name: str) -> bool:
    found = list(shell.root.glob("runs/*/trace.jsonl"))
    return bool(found) and any(
        event["type"] == "question_asked" and event["data"]["question"]["name"] == name for event in shell.events()
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_step_that_was_stopped_while_it_asked_is_asked_again(shell, how):
    shell.book(LOOK)
    running = start(shell, "exec", "book.yaml", "--as", "olga")
    running.stdin.write("plugged out\n")
    running.stdin.flush()
    wait_for(lambda: asked(shell, "second"))
    running.send_signal(how)
    running.wait(timeout=20)  # with its input still open: the end of it would be an end of the questions
    running.communicate()
    (run,) = [path.name for path in (shell.root / "runs").iterdir() if path.is_dir() and path.name.startswith("2")]
    shown = json.loads(shell.gert("runs", "show", run, "--json").stdout)
    assert shown["unknown_outcomes"] == []
    done = shell.gert("resume", "--run", run, "--json", stdin="plugged out\nit is dark\n")
    assert json.loads(done.stdout)["outcome"]["code"] == "ok"
    names = [event["data"]["question"]["name"] for event in shell.events("question_asked")]
    assert names == ["first", "second", "first", "second"]
    answers = [(event["data"]["name"], event["data"]["by"]) for event in shell.events("question_answered")]
    assert answers[0] == ("first", "olga")
    assert [name for name, _ in answers] == ["first", "first", "second"]
    assert shell.gert("trace", "verify", str(shell.trace())).returncode == 0


@pytest.mark.parametrize(("flags", "stdin"), [((), "only one\n"), (("--no-input",), "")])
def test_a_question_without_an_answer_is_asked_again_by_retry_failed(shell, flags, stdin):
    shell.book(LOOK)
    shell.gert("exec", "book.yaml", *flags, code=1, stdin=stdin)
    (complete,) = [e for e in shell.events("step_complete") if e["data"]["step_id"] == "look"]
    assert complete["data"]["failure"]["kind"] == "evidence_unavailable"
    done = shell.gert("resume", "--run", run_id(shell), "--retry-failed", stdin="one\ntwo\n")
    assert "resolved" in done.stdout


@pytest.mark.parametrize(
    ("body", "unknown"),
    [
        ("ctx.ask(Question(name='sure', prompt='sure? '))", []),
        ("ctx.ask(Question(name='sure', prompt='sure? ')); Path('acted').touch(); time.sleep(60)", ["a"]),
        ("ctx.call_tool('box', None, {}); ctx.ask(Question(name='sure', prompt='sure? '))", ["a"]),
    ],
    ids=["asks", "acts after the answer", "acts before the question"],
)
def test_a_step_that_acted_has_an_unknown_outcome_as_before(shell, body, unknown):
    FakeDist(directory=shell.root / "site").add("gert-step-ask", ASKS % body)
    shell.environ["PYTHONPATH"] = str(shell.root / "site")
    shell.tool("box", '["true"]', contract="{ effects: [x], writes: [x] }")
    shell.book("- { id: a, type: ask }", tools="box")
    running = start(shell, "exec", "book.yaml")
    wait_for(lambda: asked(shell, "sure"))
    if "sleep" in body:
        running.stdin.write("yes\n")
        running.stdin.flush()
        wait_for((shell.root / "acted").exists)
    running.kill()
    running.communicate(timeout=20)
    run = run_id(shell)
    assert json.loads(shell.gert("runs", "show", run, "--json").stdout)["unknown_outcomes"] == unknown
    shell.gert("resume", "--run", run, code=1 if unknown else 0, stdin="yes\n")
