"""What the page about determinism and replay says of the modes: whom they ask, and how time passes in them."""

from __future__ import annotations

import pytest
from shell import Shell

from gert_core.testing.fake_dist import FakeDist

PATIENT = """
from datetime import timedelta

from gert_core import hookimpl
from gert_core.api import PURE, Completed, StepType
from gert_core.kit.models import StepModel

class Patient(StepModel):
    pass

def run(step, ctx):
    began = ctx.now()
    while ctx.now() < began + timedelta(hours=1):
        ctx.sleep(60)
    return Completed(outputs={"minutes": round((ctx.now() - began).total_seconds() / 60)})

@hookimpl
def gert_step_types():
    return [StepType(name="patient", model=Patient, run=run, contract=PURE, outputs=lambda step: {"minutes": "int"})]
"""


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.parametrize("mode", [["dry-run"], ["replay", "--scenario", "here"]])
def test_waiting_takes_no_time_in_a_dry_run_and_in_a_replay(shell, mode):
    FakeDist(directory=shell.root / "site").add("gert-step-patient", PATIENT)
    shell.write("here/scenario.yaml", "inputs: {}\n")
    shell.book(
        """
        - { id: a, type: patient }
        - { id: done, type: end, outcome: { category: resolved, meta: { minutes: "{{ .a.minutes }}" } } }
        """
    )
    said = shell.gert("exec", "book.yaml", "--mode", *mode, PYTHONPATH=str(shell.root / "site"))
    assert "  minutes: 60\n" in said.stdout


PEOPLE = """
- { id: look, type: manual, instructions: Look at it., contract: { effects: [], writes: [] } }
- { id: do, type: manual, instructions: Do it. }
"""


def test_a_probe_asks_for_steps_that_are_run_and_for_no_others(shell):
    shell.book(PEOPLE)
    said = shell.gert("exec", "book.yaml", "--mode", "probe", stdin="\n")
    assert "Look at it.\n" in said.stderr
    assert "Do it." not in said.stderr
    nobody = shell.gert("exec", "book.yaml", "--mode", "probe", "--no-input", code=1)
    assert "Look at it." not in nobody.stderr


def test_a_probe_requests_the_approval_of_what_it_runs(shell):
    shell.tool("look", '["true"]')
    shell.tool("put", '["true"]', contract="{ effects: [network], writes: [db] }")
    rules = "governance: { rules: [ { effects: [network], action: require-approval } ] }"
    shell.book("- { id: a, type: tool, tool: look }\n- { id: b, type: tool, tool: put }", tools="look, put", meta=rules)
    said = shell.gert("exec", "book.yaml", "--mode", "probe", stdin="yes ann\n")
    assert "Approval needed: step a of book\n" in said.stderr
    assert "step b" not in said.stderr
    assert [event["step_key"] for event in shell.events("approval_resolved")] == ["a"]


def test_a_dry_run_asks_nobody(shell):
    shell.book(PEOPLE)
    said = shell.gert("exec", "book.yaml", "--mode", "dry-run", stdin="\n\n")
    assert "Look at it." not in said.stderr
