"""Summaries of a run: what step types tell, checkpoints, the latest artifact, and views of decisions and approvals."""

from __future__ import annotations

import json

import pytest
from shell import Shell

import gert_core
from gert_core.testing.fake_dist import FakeDist

TELL = """
from gert_core import hookimpl
from gert_core.api import Completed, StepType
from gert_core.kit.models import StepModel

class Tell(StepModel):
    what: str = ""
    payload: dict = {}
    size: int = 0
    read: str = ""

def run(step, ctx):
    if step.what:
        ctx.summarise(step.what, {"text": "x" * step.size} if step.size else step.payload)
    return Completed(detail={"read": ctx.artifact(step.read) if step.read else None})

@hookimpl
def gert_step_types():
    return [StepType(name="tell", model=Tell, run=run, summary="Tells.")]
"""


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    FakeDist(directory=tmp_path / "site").add("gert-step-tell", TELL)
    made.environ["PYTHONPATH"] = str(tmp_path / "site")
    return made


def summaries(shell: Shell, *options: str) -> dict[str, dict[str, object]]:
    return {one["type"]: one for one in shell.json("runs", "summaries", "latest", *options)["summaries"]}


def test_life_latest_artifact_and_progress_by_units(shell):
    shell.book(
        """
        - { id: a, type: tell, what: "artifact::k", payload: { value: { n: 1 } } }
        - { id: b, type: tell, what: "artifact::k", payload: { value: { n: 2 }, schema: s } }
        - { id: c, type: tell, what: task_progress, payload: { units: [{ id: x, state: done }, { id: y, state: in_progress }, { id: z, state: pending }] } }
        - { id: d, type: tell, read: k }
        - { id: gate, type: approval, message: May it go on? }
        """
    )
    run = shell.json("exec", "book.yaml", "--approval", "inbox")["run_id"]
    root = shell.root / "runs"
    assert gert_core.artifacts(run, root=root) == {"k": {"step_key": "b", "value": {"n": 2}, "schema": "s"}}
    now = gert_core.progress(run, root=root)
    assert (now.percent, now.current_stage, now.completed_stages) == (33, "y", ("x",))
    said = shell.gert("runs", "progress", run).stdout
    assert said == "running 33%  y  (completed: x)\n"
    (read,) = [event for event in shell.events("step_complete") if event["step_key"] == "d"]
    assert read["data"]["detail"] == {"read": {"n": 2}}
    types = [event["type"] for event in shell.events() if event.get("step_key") == "a"]
    assert types[-2:] == ["run_summary", "step_complete"]
    found = summaries(shell)
    assert found["policy_decision"]["payload"]["outcome"] == "require-approval"
    assert found["policy::approval::gate"]["payload"]["status"] == "pending"
    (ticket,) = shell.json("approvals", "list")["approvals"]
    shell.gert("approve", ticket["ticket_id"], "--as", "carol")
    shell.json("resume", run)
    assert summaries(shell)["policy::approval::gate"]["payload"]["status"] == "approved"
    lines = shell.gert("runs", "progress", run, "--follow", "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [one.to_json() for one in gert_core.stream_progress(run, root=root)]


def test_an_artifact_is_read_from_the_pass_that_the_step_is_in_else_the_latest(shell):
    shell.book(
        """
        - { id: a, type: tell, artifacts: { k: { value: first } } }
        - id: r
          type: repeat
          repeat:
            max: 2
            steps:
              - { id: before, type: tell, read: k }
              - { id: b, type: tell, artifacts: { k: { value: "{{ .repeat.index }}" } } }
              - { id: after, type: tell, read: k }
        - { id: c, type: tell, read: k }
        - { id: d, type: end, outcome: { category: resolved } }
        """
    )
    shell.json("exec", "book.yaml")
    read = {event["step_key"]: event["data"].get("detail", {}).get("read") for event in shell.events("step_complete")}
    assert {key: value for key, value in read.items() if value is not None} == {
        "r/0/before": "first",
        "r/0/after": 0,
        "r/1/before": 0,
        "r/1/after": 1,
        "c": 1,
    }


def test_a_checkpoint_is_a_hash_of_the_variables_after_the_step(shell):
    shell.tool("say", '["echo", "{{ .word }}"]', contract="{ effects: [x], idempotent: true, inputs: { word: {} }, outputs: { out: { type: string } } }", more="extract: { out: { from: stdout } }")  # fmt: skip
    steps = "- { id: a, type: tool, tool: say, checkpoint: here, inputs: { word: '%s' } }"
    hashes = []
    for word in ("one", "two", "one"):
        shell.book(steps % word, tools="say")
        shell.json("exec", "book.yaml")
        (event,) = shell.events("run_summary")
        assert (event["step_key"], event["data"]["summary_type"]) == ("a", "checkpoint::here")
        assert event["data"]["payload"]["step_key"] == "a"
        hashes.append(event["data"]["payload"]["state_hash"])
    assert hashes[0].startswith("sha256:")
    assert hashes[0] == hashes[2] != hashes[1]
    shell.book("- { id: a, type: tool, tool: say, checkpoint: here, for_each: { as: n, over: [x, y] }, inputs: { word: '{{ .n }}' } }", tools="say")  # fmt: skip
    shell.json("exec", "book.yaml")
    assert [event["step_key"] for event in shell.events("run_summary")] == ["a"]
    shell.json("exec", "book.yaml", "--mode", "dry-run", "--keep")
    assert shell.events("run_summary") == []


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ('what: "checkpoint::x"', "event_reserved"),
        ("what: policy_decision", "event_reserved"),
        ("what: task_progress, payload: { units: [{ id: x, state: odd }] }", "plugin_failed"),
        ('what: "artifact::x", payload: { n: 1 }', "plugin_failed"),
        ("what: note, size: 300000", "output_too_large"),
    ],
)
def test_what_is_not_a_summary_is_an_error_of_the_step(shell, step, kind):
    shell.book(f"- {{ id: a, type: tell, {step} }}")
    done = shell.json("exec", "book.yaml", code=1)
    assert done["failure"]["kind"] == kind, done["failure"]
    assert shell.events("run_summary") == []
