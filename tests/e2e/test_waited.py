"""How long a run took: without the time in which people were waited for, and over all its processes."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pytest
from shell import Shell, wait_for

GATE = "- { id: gate, type: approval, message: May it go on? }"
SURE = "- { id: sure, type: manual, instructions: Pull the plug. }"


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text[:-1])


def answering(shell: Shell, answer: str, *args: str) -> tuple[str, str]:
    """Run gert and answer its question a second after it was asked, through a pipe; return what it said."""
    running = shell.start(*args, stdin=subprocess.PIPE)
    wait_for(lambda: shell.runs() and shell.trace().exists() and shell.events("question_asked"))
    time.sleep(1)
    said = running.communicate(answer, timeout=30)
    assert running.returncode == 0, said
    return said


def completions(shell: Shell) -> dict[str, dict]:
    return {event["step_key"]: event["data"] for event in shell.events("step_complete")}


def test_a_question_is_waited_for_and_not_worked_on(shell):
    shell.book(
        f"- id: around\n  type: block\n  steps:\n    {SURE}\n    - {{ id: note, type: tool, tool: note }}", tools="note"
    )
    shell.tool("note", '["true"]')
    out, err = answering(shell, "y\n", "exec", "book.yaml")
    done = completions(shell)
    for key in ("around/0/sure", "around"):  # and the steps around it
        assert 0.9 < seconds(done[key]["waited"]) < 10, key
        assert seconds(done[key]["duration"]) < 0.9, key
    assert "waited" not in done["around/0/note"]
    assert "waited" not in done["done"]
    (end,) = shell.events("run_complete")
    assert seconds(end["data"]["duration"]) < 0.9 < seconds(end["data"]["waited"])
    waited = f"(waited {seconds(end['data']['waited']):.1f}s for people)"
    assert f"  duration: {end['data']['duration']} {waited}\n" in out
    assert "s (waited 1." in err
    shown = shell.gert("runs", "show", "latest").stdout
    assert f"  duration: {end['data']['duration']} {waited}\n" in shown
    assert f"around/0/sure (manual): success {done['around/0/sure']['duration']} (waited " in shown
    document = shell.json("runs", "show", "latest")
    steps = {step["step_key"]: step for step in document["steps"]}
    times = ("duration", "waited")
    assert [steps["around/0/sure"][name] for name in times] == [done["around/0/sure"][name] for name in times]
    assert steps["done"]["waited"] is None
    (listed,) = shell.json("runs", "list")["runs"]
    assert listed["waited"] == document["waited"] == end["data"]["waited"]
    assert (
        f"completed: resolved (ok) in {end['data']['duration']} {waited}"
        in shell.gert("trace", "show", str(shell.trace())).stdout
    )


def test_an_approval_that_comes_while_the_process_waits(shell):
    shell.write("gert-project.yaml", "approvals: { provider: inbox, config: { wait: 30 } }\n")
    shell.book(GATE)
    running = shell.start("exec", "book.yaml", "--json")
    wait_for(lambda: shell.runs() and list(shell.runs()[0].glob("tickets/*")))
    time.sleep(1)
    (ticket,) = shell.json("approvals", "list")["approvals"]
    shell.gert("approve", ticket["ticket_id"], "--as", "alice")
    out, err = running.communicate(timeout=30)
    assert running.returncode == 0, err
    result = json.loads(out)
    steps = {step["step_key"]: step for step in result["steps"]}
    for found in (result, steps["gate"], completions(shell)["gate"]):
        assert seconds(found["waited"]) > 0.9
        assert seconds(found["duration"]) < 0.9
    assert steps["done"]["waited"] is None


def test_a_suspended_run_waits_without_taking_time(shell):
    shell.book(GATE)
    first = shell.json("exec", "book.yaml", "--approval", "inbox")
    assert "waited" not in first
    time.sleep(1)
    (ticket,) = shell.json("approvals", "list")["approvals"]
    shell.gert("approve", ticket["ticket_id"], "--as", "alice")
    result = shell.json("resume", first["run_id"])
    (suspended,), (end,) = shell.events("run_suspended"), shell.events("run_complete")
    both = seconds(suspended["data"]["duration"]) + seconds(end["data"]["duration"])
    assert seconds(result["duration"]) == pytest.approx(both, abs=0.002)
    assert end["data"]["active"] == result["duration"], "the last line tells it without the others"
    assert seconds(result["waited"]) > 1
    assert shell.events("run_resumed")[0]["data"]["waited"] == result["waited"]
    shown = shell.json("runs", "show", "latest")
    assert (shown["duration"], shown["waited"]) == (result["duration"], result["waited"])


def test_what_is_answered_at_once_is_not_waited_for(shell):
    shell.book(SURE)
    result = shell.json("exec", "book.yaml", stdin="y\n")
    assert "waited" not in result
    assert "waited" not in completions(shell)["sure"]


def test_a_killed_process_counts_up_to_its_last_event(shell):
    """It asked, had its answer after a second, worked for a second and was killed while it worked on."""
    shell.program("slow", "echo >> started; [ -e again ] || { touch again; exec sleep 1.5; }; sleep 0.2")
    shell.program("second", "sleep 1")
    for name in ("slow", "second"):
        shell.tool(name, f"[{name}]")
    step = "- {{ id: {0}, type: tool, tool: {0} }}"
    shell.book("\n".join((SURE, step.format("second"), step.format("slow"))), tools="slow, second")
    running = subprocess.Popen(
        shell.command("exec", "book.yaml"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=shell.root,
        env=shell.environ,
        start_new_session=True,
    )
    wait_for(lambda: shell.runs() and shell.trace().exists() and shell.events("question_asked"))
    time.sleep(1)
    running.stdin.write("y\n")
    running.stdin.flush()
    wait_for((shell.root / "started").exists)
    running.send_signal(signal.SIGKILL)
    running.wait(10)
    running.stdin.close()
    time.sleep(1)  # in which there was no process
    result = shell.json("resume", "latest")
    assert result["status"] == "completed"
    (end,) = shell.events("run_complete")
    own = seconds(end["data"]["duration"])
    assert 1.0 + own < seconds(result["duration"]) < 1.9 + own
    assert 0.9 < seconds(result["waited"]) < 1.9
    assert "waited" not in end["data"]  # the second process did not
    shown = shell.json("runs", "show", "latest")
    assert (shown["duration"], shown["waited"]) == (result["duration"], result["waited"])


def test_a_cancelled_run_goes_on_and_counts_both_processes(shell):
    shell.program("slow", "touch started; [ -e again ] || { touch again; sleep 30; }; sleep 0.5")
    shell.tool("slow", "[slow]")
    shell.book("- { id: slow, type: tool, tool: slow }", tools="slow")
    running = shell.start("exec", "book.yaml")
    wait_for((shell.root / "started").exists)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)
    result = shell.json("resume", "latest")
    times = [seconds(event["data"]["duration"]) for event in shell.events("run_complete")]
    assert len(times) == 2
    assert min(times) >= 0.4
    assert seconds(result["duration"]) == pytest.approx(sum(times), abs=0.002)
    first, last = (event["data"]["active"] for event in shell.events("run_complete"))
    assert seconds(first) == times[0]
    assert last == result["duration"]
    assert "waited" not in result


def test_steps_that_wait_at_the_same_time_wait_once(shell):
    shell.write("gert-project.yaml", "approvals: { provider: inbox, config: { wait: 30 } }\n")
    branch = "    - {{ label: {0}, steps: [{{ id: {0}, type: approval, message: May it?, scope: {0} }}] }}"
    shell.book("\n".join(("- id: both", "  type: parallel", "  branches:", branch.format("one"), branch.format("two"))))
    running = shell.start("exec", "book.yaml", "--json")
    wait_for(lambda: shell.runs() and len(list(shell.runs()[0].glob("tickets/*.json"))) == 2)
    time.sleep(1)
    for ticket in shell.json("approvals", "list")["approvals"]:
        shell.gert("approve", ticket["ticket_id"], "--as", "alice")
    out, err = running.communicate(timeout=30)
    assert running.returncode == 0, err
    done = completions(shell)
    each = [seconds(done[key]["waited"]) for key in done if key.endswith(("/one", "/two"))]
    assert len(each) == 2
    for found in (done["both"], json.loads(out)):
        assert max(each) <= seconds(found["waited"]) + 0.01
        assert seconds(found["waited"]) < sum(each) - 0.5
        assert seconds(found["duration"]) < 0.9
