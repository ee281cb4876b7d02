"""``gert runs`` while a run is executed and after its process was killed: what is running, and what was interrupted."""

from __future__ import annotations

import signal

import pytest
from executing import executing
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: { name: live }
tools: [slow]
steps:
  - id: pick
    type: branch
    branches:
      - condition: default
        steps:
          - { id: first, type: tool, tool: slow, action: quick }
          - { id: write, type: tool, tool: slow, action: write }
  - { type: end, outcome: { category: resolved } }
"""
SLOW = """\
apiVersion: tool/v0
meta: { name: slow }
contract: { effects: [host], writes: [file] }
actions:
  quick: { argv: ["true"] }
  write: { argv: [sh, -c, "touch began; while [ ! -e go ]; do sleep 0.02; done; touch ended"] }
"""


@pytest.fixture
def run(tmp_path):
    """A project with a run whose writing step is being executed, and the process of the run."""
    gert = Gert(tmp_path)
    gert.write(book=BOOK, tool_slow=SLOW)
    with executing(gert, ended="ended") as process:
        yield gert, process


def _steps(shown) -> dict[str, str]:
    return {step["step_key"]: step["status"] for step in shown["steps"]}


def test_a_healthy_run_is_blocked_on_nothing(run):
    gert, process = run
    (listed,) = gert("runs", "list", "--json").document["runs"]
    assert (listed["status"], listed["blocked_on"]) == ("running", [])
    assert "unknown" not in gert("runs", "list").out
    shown = gert("runs", "show", gert.run().name, "--json").document
    assert _steps(shown) == {"pick": "running", "pick/0/first": "success", "pick/0/write": "running"}
    assert (shown["unknown_outcomes"], shown["resume_point"]) == ([], None)
    assert (shown["progress"]["running"], shown["progress"]["interrupted"]) == (["pick/0/write"], [])
    assert "resume" not in gert("runs", "show", gert.run().name).err
    (gert.root / "go").touch()
    assert process.wait(30) == 0
    assert _steps(gert("runs", "show", gert.run().name, "--json").document)["pick/0/write"] == "success"


def test_after_a_kill_nothing_is_running(run):
    gert, process = run
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    (listed,) = gert("runs", "list", "--json").document["runs"]
    assert (listed["status"], listed["blocked_on"]) == ("interrupted", [{"kind": "reconcile", "key": "pick/0/write"}])
    shown = gert("runs", "show", gert.run().name, "--json").document
    assert _steps(shown) == {"pick": "interrupted", "pick/0/first": "success", "pick/0/write": "interrupted"}
    assert shown["unknown_outcomes"] == ["pick/0/write"]
    assert (shown["progress"]["running"], shown["progress"]["interrupted"]) == ([], ["pick/0/write"])
    text = gert("runs", "show", gert.run().name)
    assert "pick/0/write (tool): interrupted" in text.out
    assert "running" not in text.out
    run = gert.run().name
    look = "first find out whether pick/0/write took effect: it was interrupted"
    assert text.err.splitlines() == [
        f"  next: gert runs show {run} --step pick/0/write  # {look}",
        f"  then: gert resume --run {run} --reconcile pick/0/write=done  # pick/0/write took effect: go on",
        "    or: …=redo  # pick/0/write did not take effect: run it again",
        "    or: …=failed  # pick/0/write did not take effect: let it fail",
    ]
