"""The kit runs runbooks: with settings, with a clock of its own, and with the findings of a wrong document."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from datetime import timedelta
from types import ModuleType

import pytest
from pydantic import Field

from gert_core import hookimpl
from gert_core.api import PURE, Answer, Completed, DocumentError, NoAnswer, Question, StepType
from gert_core.kit.models import StepModel
from gert_core.testing import Deadline, FakeClock, GertRunner, ScriptedConsole, Stop, assert_valid, finish
from gert_core.testing.clock import START


class Poll(StepModel):
    every: float = Field(default=60, description="Seconds between two looks.")
    times: int = Field(default=3, description="How often.")


def poll(step, ctx):
    began = ctx.now()
    for _ in range(step.times):
        ctx.sleep(step.every)
    return Completed(outputs={"took": (ctx.now() - began).total_seconds(), "greeting": ctx.config.get("greeting", "")})


class Ask(StepModel):
    pass


def question(step, ctx):
    try:
        answer: Answer = ctx.ask(Question(name="who", prompt="Who is there?"))
    except NoAnswer:
        return Completed(outputs={"who": ""})
    return Completed(outputs={"who": answer.value})


def plugin():
    module = ModuleType("gert_step_poll")

    def gert_step_types():
        yield StepType(
            name="poll", model=Poll, run=poll, contract=PURE, outputs=lambda s: {"took": "float", "greeting": "string"}
        )
        yield StepType(name="question", model=Ask, run=question, contract=PURE, outputs=lambda s: {"who": "string"})

    module.gert_step_types = hookimpl(gert_step_types)
    return module


BOOK = """
    apiVersion: kernel/v0
    meta: {name: kit}
    steps:
      - {id: look, type: poll%s}
      - {type: finish}
"""


@pytest.fixture
def runner(gert_registry, tmp_path):
    return GertRunner(directory=tmp_path, registry=gert_registry(plugin(), finish))


def outputs(ran, key="look"):
    return ran.of("step_complete", key)[0]["outputs"]


def test_a_fake_clock_lets_three_minutes_pass_at_once(runner):
    runner.clock = FakeClock()
    began = time.monotonic()
    ran = runner(BOOK % "")
    assert outputs(ran)["took"] == 180
    assert time.monotonic() - began < 5
    assert runner.clock.waits == [60, 60, 60]
    assert runner.clock.now() == START + timedelta(minutes=3)


def test_a_step_times_out_by_the_fake_clock(runner):
    runner.clock = FakeClock()
    ran = runner(BOOK % ", timeout: 100s")
    ran.assert_failed("timeout", status="error")
    assert runner.clock.waits == [60, 40]


def test_deadlines_by_a_fake_clock():
    clock = FakeClock()
    deadline = clock.deadline(10)
    assert (deadline.wait(4), deadline.remaining(), deadline.stopped) == (False, 6, False)
    clock.advance(5)
    assert (deadline.wait(4), deadline.stopped, deadline.cancelled) == (True, True, False)
    assert clock.waits == [4, 1]
    assert clock.deadline().remaining() is None


def test_a_stop_ends_a_wait_by_a_fake_clock_before_time_passes():
    clock = FakeClock()
    stop = Stop(clock)
    deadline = Deadline(stop, 10)
    stop.throw("test")
    assert deadline.wait(5)
    assert (deadline.cancelled, clock.monotonic()) == (True, 0)


@pytest.mark.parametrize("name", ["step-poll", "gert-step-poll", "gert_step_poll"])
def test_the_settings_of_a_plugin(runner, name):
    runner.config = {name: {"greeting": "hello"}}
    assert outputs(runner(BOOK % ", times: 0"))["greeting"] == "hello"
    ran = runner(
        BOOK % ", times: 0", files={"gert-project.yaml": f"plugins: {{config: {{{name}: {{greeting: moin}}}}}}"}
    )
    assert outputs(ran)["greeting"] == "moin"


QUESTION = """
    apiVersion: kernel/v0
    meta: {name: kit}
    steps:
      - {id: look, type: question}
      - {id: again, type: question}
      - {type: finish}
"""


def test_answers_by_question_are_given_as_often_as_it_is_asked(runner):
    ran = runner(QUESTION, answers={"Where": "here", "Who is": "Ada"})
    assert [outputs(ran, key)["who"] for key in ("look", "again")] == ["Ada", "Ada"]


def test_a_patient_console_waits_for_the_deadline():
    console, stop = ScriptedConsole(patient=True), Stop()
    threading.Timer(0.2, stop.throw, ["test"]).start()
    began = time.monotonic()
    assert console.ask("Who?", deadline=Deadline(stop)) is None
    assert 0.1 < time.monotonic() - began < 5


WRONG = """
    apiVersion: kernel/v0
    meta: {name: kit}
    steps:
      - {id: look, type: poll, evry: 3}
      - {type: finish}
"""


def test_the_findings_about_a_wrong_runbook_are_notes_of_the_error(runner):
    with pytest.raises(DocumentError) as caught:
        runner(WRONG)
    (note,) = caught.value.__notes__
    assert "runbook.yaml:5:28: error: `evry` is not a field of a step of type `poll`" in note
    assert "[unknown-field]" in note
    assert "hint: did you mean `every`?" in note


def test_findings_without_a_run(runner):
    assert [found.rule for found in runner.findings(WRONG)] == ["unknown-field"]
    assert runner.findings(BOOK % "") == []


def test_assert_valid_says_what_is_wrong(tmp_path):
    policy = tmp_path / "floor.yaml"
    policy.write_text("apiVersion: policy/v0\nmeta: {name: floor}\nrules: [{default: alow}]\n")
    with pytest.raises(AssertionError, match=r"floor\.yaml:3:\d+: error: .*alow"):
        assert_valid(policy)
    policy.write_text("apiVersion: policy/v0\nmeta: {name: floor}\nrules: [{default: allow}]\n")
    assert_valid(policy)


def test_pytest_prints_the_findings(tmp_path):
    """What an author reads in the terminal when the runbook of a test is wrong."""
    (tmp_path / "test_wrong.py").write_text(
        "def test_it(gert_run):\n    gert_run('apiVersion: kernel/v0\\nmeta: {name: x}\\nsteps: [{type: nothing}]\\n')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "gert_core.testing", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "there is no step type 'nothing'" in done.stdout
